//! The library as a whole.
// UNSAFETY: one function must accept a struct whose `struct_size` is wrong.
#![expect(unsafe_code, reason = "a function that C calls")]
use crate::attributes::Attributes;
use crate::boundary::{Caller, end_of, give_slice, serve};
use crate::sys::{PJRT_Error, PJRT_Plugin_Attributes_Args, PJRT_Plugin_Initialize_Args};
use std::sync::LazyLock;
use tpu_emu::Result;
use tpu_emu::topology::OptionValue;

/// The StableHLO version up to which programs may be sent.
pub(crate) const STABLEHLO_CURRENT: [i64; 3] = [1, 17, 0];
/// The oldest version whose programs may be sent.
const STABLEHLO_MINIMUM: [i64; 3] = [0, 9, 0];
/// What real plugins of today say.
const XLA_VERSION: i64 = 2;

static ATTRIBUTES: LazyLock<Attributes> = LazyLock::new(|| {
    Attributes::new([
        ("xla_version", OptionValue::Int(XLA_VERSION)),
        ("stablehlo_current_version", OptionValue::Ints(STABLEHLO_CURRENT.to_vec())),
        ("stablehlo_minimum_version", OptionValue::Ints(STABLEHLO_MINIMUM.to_vec())),
    ])
});

/// Makes the machine, so that a wrong environment variable is reported here, and lets custom
/// calls be registered.
pub(super) fn initialize(_: &Caller, _: &mut PJRT_Plugin_Initialize_Args) -> Result<()> {
    crate::start()?;
    crate::exit::wait_for_callbacks();
    Ok(())
}

/// Names and values of the library's properties.
///
/// Callers built with headers before 0.76 pass a `struct_size` of 24 for a struct of 32 bytes:
/// those headers named the wrong last field. The whole struct is there all the same.
pub(in crate::api) unsafe extern "C" fn attributes(
    args: *mut PJRT_Plugin_Attributes_Args,
) -> *mut PJRT_Error {
    let function = &"PJRT_Plugin_Attributes";
    let needed = end_of!(PJRT_Plugin_Attributes_Args, attributes);
    let mut given = 0;
    // SAFETY: the caller keeps the header's contract for `args`.
    let served = unsafe {
        serve(function, args, needed, |_, args| {
            given = args.struct_size;
            let all = ATTRIBUTES.as_slice();
            give_slice(all, &mut args.attributes, &mut args.num_attributes);
            Ok(())
        })
    };
    if served.is_null() && given == needed {
        // SAFETY: `serve` accepted `args`; the field behind `struct_size` is there, see above.
        unsafe { (*args).num_attributes = ATTRIBUTES.as_slice().len() };
    }
    served
}
