// UNSAFETY: the linker puts these functions in the place of glibc's of the same names: each has the
// signature and the promises of the one that it stands for.
//! What a library or a program has for itself because glibc 2.28 has it in another form or not at all.
//!
//! `lib.rs` beside this has the list of all functions whose versions matter, and why.
#![expect(unsafe_code, reason = "stands for functions of C")]

use libc::{c_char, c_int, c_long, stat64};
use std::arch::global_asm;

global_asm!(include_str!(concat!(env!("OUT_DIR"), "/glibc.s")));

#[cfg(target_arch = "x86_64")]
macro_rules! jump {
    () => {
        "jmp {function}"
    };
}

#[cfg(target_arch = "aarch64")]
macro_rules! jump {
    () => {
        "b {function}"
    };
}

/// Gives functions the names that the linker looks for. An exported name would be the library's.
macro_rules! stand_for {
    ($($name:literal $function:path;)*) => {
        $(global_asm!(
            concat!(".pushsection .text.__wrap_", $name, ", \"ax\", %progbits"),
            concat!(".globl __wrap_", $name),
            concat!(".hidden __wrap_", $name),
            concat!(".type __wrap_", $name, ", %function"),
            concat!("__wrap_", $name, ":"),
            jump!(),
            ".popsection",
            function = sym $function,
        );)*
    };
}

// Both architectures have one struct for `fstat` and `fstat64`.
stand_for! {
    "fstat" fstat;
    "fstat64" fstat;
    "fstatat64" fstatat;
    "gettid" gettid;
    "log" log;
    "log2" log2;
    "lstat64" lstat;
    "stat64" stat;
}

unsafe extern "C" {
    safe fn __oldest_log(x: f64) -> f64;
    safe fn __oldest_log2(x: f64) -> f64;
}

extern "C" fn log(x: f64) -> f64 {
    if x < 0.0 { invalid(x) } else { __oldest_log(x) }
}

extern "C" fn log2(x: f64) -> f64 {
    if x < 0.0 { invalid(x) } else { __oldest_log2(x) }
}

/// The NaN that the processor makes, as the later versions give. The oldest have another sign.
#[expect(clippy::eq_op, reason = "no operand of these operations is known to give a number")]
fn invalid(x: f64) -> f64 {
    let zero = x - x;
    zero / zero
}

extern "C" fn gettid() -> libc::pid_t {
    // SAFETY: it asks for a number, which fits.
    number(unsafe { libc::syscall(libc::SYS_gettid) })
}

unsafe extern "C" fn stat(path: *const c_char, found: *mut stat64) -> c_int {
    // SAFETY: the promise of the caller.
    unsafe { fstatat(libc::AT_FDCWD, path, found, 0) }
}

unsafe extern "C" fn lstat(path: *const c_char, found: *mut stat64) -> c_int {
    // SAFETY: the promise of the caller.
    unsafe { fstatat(libc::AT_FDCWD, path, found, libc::AT_SYMLINK_NOFOLLOW) }
}

unsafe extern "C" fn fstat(file: c_int, found: *mut stat64) -> c_int {
    // SAFETY: the promise of the caller; both architectures have the kernel's struct.
    number(unsafe { libc::syscall(libc::SYS_fstat, file, found) })
}

unsafe extern "C" fn fstatat(
    folder: c_int,
    path: *const c_char,
    found: *mut stat64,
    flags: c_int,
) -> c_int {
    // SAFETY: the promise of the caller; both architectures have the kernel's struct.
    number(unsafe { libc::syscall(libc::SYS_newfstatat, folder, path, found, flags) })
}

/// What a call of the system gives, where it is an `int` of C.
fn number(given: c_long) -> c_int {
    c_int::try_from(given).unwrap_or(-1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::CString;
    use std::os::fd::AsRawFd;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::MetadataExt;

    #[test]
    fn logarithms_have_the_bits_of_the_system_s() {
        let negative = [-0.5, -1.0, -f64::MIN_POSITIVE, -5e-324, f64::MIN, f64::NEG_INFINITY];
        let others = [0.0, -0.0, 1.0, 0.75, 5e-324, 1e300, f64::INFINITY, f64::NAN, -f64::NAN];
        for x in negative.into_iter().chain(others).map(std::hint::black_box) {
            assert_eq!(log(x).to_bits(), x.ln().to_bits(), "log {x:?}");
            assert_eq!(log2(x).to_bits(), x.log2().to_bits(), "log2 {x:?}");
        }
    }

    #[test]
    fn files_are_described_as_by_the_system() {
        let path = std::env::current_exe().unwrap();
        let file = std::fs::File::open(&path).unwrap();
        let name = CString::new(path.as_os_str().as_bytes()).unwrap();
        // SAFETY: zeros are a struct of numbers; the name ends with a zero.
        let (mut of_path, mut of_link, mut of_file) = unsafe {
            let zeros: [stat64; 3] = std::mem::zeroed();
            zeros.into()
        };
        // SAFETY: the name ends with a zero, and the structs are this function's.
        let done = unsafe {
            [
                stat(name.as_ptr(), &raw mut of_path),
                lstat(name.as_ptr(), &raw mut of_link),
                fstat(file.as_raw_fd(), &raw mut of_file),
            ]
        };
        assert_eq!(done, [0; 3]);
        let wanted = file.metadata().unwrap();
        for found in [of_path, of_link, of_file] {
            assert_eq!((found.st_ino, found.st_dev), (wanted.ino(), wanted.dev()));
            assert_eq!(u64::try_from(found.st_size).unwrap(), wanted.len());
            assert_eq!(found.st_mode, wanted.mode());
        }
        // SAFETY: as above.
        let missing = unsafe { stat(c"/nothing/here".as_ptr(), &raw mut of_path) };
        let error = std::io::Error::last_os_error().raw_os_error();
        assert_eq!((missing, error), (-1, Some(libc::ENOENT)));
    }

    #[test]
    fn a_thread_has_the_number_of_the_system() {
        let folder = std::fs::read_link("/proc/thread-self").unwrap();
        let last = folder.file_name().unwrap().to_str().unwrap();
        assert_eq!(gettid().to_string(), last);
    }
}
