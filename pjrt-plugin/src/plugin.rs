//! The symbol that clients look for.
// UNSAFETY: exports a C symbol and a table of C functions.
#![expect(unsafe_code, reason = "an exported symbol")]
use crate::sys::PJRT_Api;
use crate::{api, ext};
use std::sync::LazyLock;

struct ApiTable(PJRT_Api);

// SAFETY: function pointers, numbers and a pointer to a static list, never changed.
unsafe impl Sync for ApiTable {}
// SAFETY: as above.
unsafe impl Send for ApiTable {}

static TABLE: LazyLock<ApiTable> = LazyLock::new(|| {
    let mut table = api::table();
    table.extension_start = ext::chain();
    ApiTable(table)
});

/// The PJRT function table.
///
/// Safe to call at any time, from any thread; the table lives as long as the library.
#[unsafe(no_mangle)]
pub extern "C" fn GetPjrtApi() -> *const PJRT_Api {
    &raw const TABLE.0
}
