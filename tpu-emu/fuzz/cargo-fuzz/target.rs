//! One reader under libFuzzer: the one that the program is named after.
#![no_main]
use libfuzzer_sys::Corpus;
use std::sync::LazyLock;
use tpu_fuzz::readers::{READERS, Reader};

static READER: LazyLock<Reader> = LazyLock::new(|| {
    let found = READERS.iter().find(|(name, _)| *name == env!("CARGO_BIN_NAME"));
    found.expect("a reader of this name").1
});

// What was refused teaches nothing: a reader stops at its first error, so that what is found stands
// before one. Kept, such inputs are soon nearly all that is changed further.
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| -> Corpus {
    if (*READER)(bytes) { Corpus::Keep } else { Corpus::Reject }
});
