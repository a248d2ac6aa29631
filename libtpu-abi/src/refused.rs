//! Functions that the emulator has not: each answers with its own name and never with success.
// UNSAFETY: the macro that exports them reads where their status is.
use tpu_emu::Error;
use tpu_emu::entry::FunctionName;

/// Why a function is refused, with its name.
pub(crate) fn refusal(function: FunctionName, reason: &str) -> Error {
    Error::Unimplemented(format!("{function}: {reason}"))
}

/// Exports functions that are refused for one reason, a line each:
///
/// * `by status` are those that have a status behind the arguments,
/// * `by params` those that have it in a struct (`params::STATUSES`); some give a value, too,
/// * `by value` those without one, with the value that means failure.
macro_rules! refused {
    ($reason:literal; by status: $($name:ident($($argument:ident: $of:ty),*);)*) => {
        $(
            #[doc = concat!("Refused: ", $reason, ".")]
            #[unsafe(no_mangle)]
            pub extern "C" fn $name($($argument: $of,)* status: *mut $crate::sys::TF_Status) {
                let _ = ($($argument,)*);
                let name = &stringify!($name);
                $crate::boundary::report(name, status, || {
                    Err($crate::refused::refusal(name, $reason))
                });
            }
        )*
    };
    ($reason:literal; by params: $($name:ident;)*) => {
        $crate::refused::refused! {
            $reason; by params, giving: $($name -> () = ();)*
        }
    };
    ($reason:literal; by params, giving:
     $($name:ident -> $to:ty = $value:expr;)*) => {
        $(
            #[doc = concat!("Refused: ", $reason, ".")]
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $name(params: *const std::ffi::c_void) -> $to {
                let name = &stringify!($name);
                // SAFETY: the contract of the interface.
                let params = unsafe { $crate::memory::At::new(params, "params") };
                let status = params.and_then(|params| $crate::params::status(name, params));
                $crate::boundary::report_or(
                    name,
                    status.unwrap_or(std::ptr::null_mut()),
                    $value,
                    || Err($crate::refused::refusal(name, $reason)),
                )
            }
        )*
    };
    ($reason:literal; by value:
     $($name:ident($($argument:ident: $of:ty),*) -> $to:ty = $value:expr;)*) => {
        $(
            #[doc = concat!("Refused: ", $reason, ".")]
            #[unsafe(no_mangle)]
            pub extern "C" fn $name($($argument: $of),*) -> $to {
                let _ = ($($argument,)*);
                $crate::boundary::answer(&stringify!($name), $value, || {
                    Err(tpu_emu::Error::Unimplemented($reason.to_owned()))
                })
            }
        )*
    };
}

pub(crate) use refused;
