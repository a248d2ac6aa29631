//! The file that this code was loaded from.
// UNSAFETY: asks the loader about an address of this library.
#![expect(unsafe_code, reason = "the loader's C function")]
use std::ffi::{CStr, OsStr};
use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// The library, or the program, that has this code.
pub fn own_file() -> Option<PathBuf> {
    let code: *const () = own_file as *const ();
    let mut found = MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: the result is a place of its type, and all zeros are a value of it.
    let (known, found) = unsafe {
        let known = libc::dladdr(code.cast(), found.as_mut_ptr());
        (known, found.assume_init())
    };
    if known == 0 || found.dli_fname.is_null() {
        return None;
    }
    // SAFETY: the loader's text lives as long as this library.
    let name = unsafe { CStr::from_ptr(found.dli_fname) };
    std::path::absolute(Path::new(OsStr::from_bytes(name.to_bytes()))).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_s_code_is_in_the_program() {
        let own = own_file().and_then(|file| file.canonicalize().ok());
        assert_eq!(own, std::env::current_exe().unwrap().canonicalize().ok());
    }
}
