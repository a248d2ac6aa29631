//! Calls of functions of others, which may throw: what they throw ends here, as an error.
//!
//! Rust cannot catch a foreign exception: one that reached a frame of ours would end the process.
//! So each such call goes through a frame without Rust, whose handler takes everything.
// UNSAFETY: calls functions by their addresses.
#![expect(unsafe_code, reason = "functions of others")]
#[cfg(target_arch = "x86_64")]
mod guard;
#[cfg(target_arch = "x86_64")]
mod runtime;
#[cfg_attr(
    not(target_arch = "x86_64"),
    expect(dead_code, reason = "nothing is caught there, so nothing is read")
)]
mod thrown;

pub use thrown::Thrown;

/// Arguments of a call: integers and pointers, whose provenance is exposed.
pub type Arguments = [usize; 5];

/// Calls a function that takes integers and pointers and gives one or nothing; gives what it
/// returned. Arguments that it does not take do not matter.
///
/// On other processors than x86-64 an exception ends the process, as it does without this.
///
/// # Errors
/// What it threw.
///
/// # Safety
/// `function` is a function of C's calling convention with at most five parameters, none of them
/// a float or a struct; it may be called with these arguments.
pub unsafe fn call(function: *const (), arguments: Arguments) -> Result<usize, Thrown> {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the promise of this function's caller.
    return unsafe { guard::call(function, &arguments) };
    #[cfg(not(target_arch = "x86_64"))]
    {
        type Function = unsafe extern "C" fn(usize, usize, usize, usize, usize) -> usize;
        let [a, b, c, d, e] = arguments;
        // SAFETY: the promise of this function's caller; C ignores what it does not take.
        unsafe { Ok(std::mem::transmute::<*const (), Function>(function)(a, b, c, d, e)) }
    }
}

/// Calls a function of the client's whose failure no call can report: it is a line on standard
/// error.
///
/// # Safety
/// As for [`call`].
pub unsafe fn call_or_tell(what: &str, function: *const (), arguments: Arguments) {
    // SAFETY: the promise of this function's caller.
    if let Err(thrown) = unsafe { call(function, arguments) } {
        crate::tell(&format!("{what} {thrown}"));
    }
}
