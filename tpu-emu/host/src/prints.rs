//! What kernels print.
use tpu_emu::Prints;

/// Lines on standard error.
pub(crate) fn to_standard_error() -> Prints {
    Prints(std::sync::Arc::new(|text| crate::say(&format!("{text}\n"))))
}
