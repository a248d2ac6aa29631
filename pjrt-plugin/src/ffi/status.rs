//! `XlaCustomCallStatus`: where functions of the untyped interface say what went wrong.
// UNSAFETY: memory that C++ code of others reads and writes in its own layout.
#![expect(unsafe_code, reason = "memory of C++")]
use std::ffi::{c_char, c_void};
use std::fmt;
use std::ptr;
use std::slice;
use tpu_emu::{Code, Error, Result};

/// Bytes that a string keeps in itself, without its NUL.
const SHORT: usize = 15;

/// An optional string as libstdc++ lays it out. XLA's two functions are small, and libraries may
/// bring copies of them that write here without asking us.
#[repr(C)]
pub(super) struct Status {
    text: *mut u8,
    size: usize,
    /// The text if it is short, the capacity of its memory otherwise.
    own: [u8; SHORT + 1],
    /// A byte: whether there is a string.
    there: usize,
}

impl fmt::Debug for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Status").field("there", &self.is_there()).finish_non_exhaustive()
    }
}

impl Status {
    /// Success.
    pub(super) fn new() -> Self {
        Self { text: ptr::null_mut(), size: 0, own: [0; SHORT + 1], there: 0 }
    }

    fn is_there(&self) -> bool {
        self.there.to_ne_bytes()[0] != 0
    }

    /// What it says; it says nothing afterwards.
    ///
    /// # Errors
    /// `Internal` with the message, as XLA has it; `Unimplemented` for a status that was written
    /// in libc++'s layout.
    pub(super) fn take(&mut self) -> Result<()> {
        if !self.is_there() {
            // There the flag is behind 24 bytes, which are part of a short text here.
            if self.own[8] == 1 {
                let what = "a status in another layout than libstdc++'s std::optional<std::string>";
                return Err(Error::Unimplemented(what.to_owned()));
            }
            return Ok(());
        }
        let message = if self.size == 0 || self.text.is_null() {
            String::new()
        } else {
            // SAFETY: a string is there, of this size.
            let bytes = unsafe { slice::from_raw_parts(self.text, self.size) };
            String::from_utf8_lossy(bytes).into_owned()
        };
        self.clear();
        Err(Error::Verbatim { code: Code::Internal, message: message.into() })
    }

    fn clear(&mut self) {
        if self.is_there() && !ptr::eq(self.text, self.own.as_ptr()) {
            // SAFETY: memory of a string that is there and not short, from `malloc`, which is
            // behind C++'s `new` too; it is forgotten below.
            unsafe { libc::free(self.text.cast::<c_void>()) };
        }
        (self.text, self.size, self.own, self.there) = (ptr::null_mut(), 0, [0; SHORT + 1], 0);
    }

    fn set(&mut self, message: &[u8]) {
        self.clear();
        let capacity = message.len().max(SHORT);
        self.text = if message.len() <= SHORT {
            self.own.as_mut_ptr()
        } else {
            self.own[..size_of::<usize>()].copy_from_slice(&capacity.to_ne_bytes());
            // SAFETY: any size may be asked for.
            unsafe { libc::malloc(capacity + 1) }.cast()
        };
        if self.text.is_null() {
            // A failure without words is a failure still.
            self.text = self.own.as_mut_ptr();
            self.there = usize::from_ne_bytes(FLAG);
            return;
        }
        self.size = message.len();
        // SAFETY: there is place for the text and a NUL.
        unsafe {
            ptr::copy_nonoverlapping(message.as_ptr(), self.text, message.len());
            self.text.add(message.len()).write(0);
        }
        self.there = usize::from_ne_bytes(FLAG);
    }
}

/// A word whose first byte is 1.
const FLAG: [u8; size_of::<usize>()] = [1, 0, 0, 0, 0, 0, 0, 0];

impl Drop for Status {
    fn drop(&mut self) {
        self.clear();
    }
}

/// Says that all is well.
///
/// # Safety
/// `status` is null or the status that a custom call was given, while it goes on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn XlaCustomCallStatusSetSuccess(status: *mut c_void) {
    // SAFETY: the promise of this function's caller.
    if let Some(status) = unsafe { status.cast::<Status>().as_mut() } {
        status.clear();
    }
}

/// Says what went wrong: `size` bytes of text, or fewer if a NUL comes before.
///
/// # Safety
/// `status` as for [`XlaCustomCallStatusSetSuccess`]; `message` is null or of `size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn XlaCustomCallStatusSetFailure(
    status: *mut c_void,
    message: *const c_char,
    size: usize,
) {
    // SAFETY: the promise of this function's caller.
    let Some(status) = (unsafe { status.cast::<Status>().as_mut() }) else { return };
    let text = if message.is_null() || isize::try_from(size).is_err() {
        &[]
    } else {
        // SAFETY: the promise of this function's caller.
        unsafe { slice::from_raw_parts(message.cast::<u8>(), size) }
    };
    let end = text.iter().position(|&byte| byte == 0).unwrap_or(text.len());
    status.set(&text[..end]);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(status: &mut Status, message: &str) {
        let pointer: *mut Status = status;
        // SAFETY: a status, and text of its size.
        unsafe {
            XlaCustomCallStatusSetFailure(pointer.cast(), message.as_ptr().cast(), message.len());
        }
    }

    #[test]
    fn the_layout_is_that_of_an_optional_string() {
        assert_eq!(size_of::<Status>(), 40);
        assert_eq!(std::mem::offset_of!(Status, own), 16);
        assert_eq!(std::mem::offset_of!(Status, there), 32);
    }

    #[test]
    fn short_and_long_messages_come_out_whole() {
        for message in ["", "fifteen letters", "sixteen letters.", &"long ".repeat(100)] {
            let mut status = Status::new();
            assert_eq!(status.take(), Ok(()));
            set(&mut status, "something else that is long enough");
            set(&mut status, message);
            let error = status.take().unwrap_err();
            assert_eq!((error.code(), &*error.to_string()), (Code::Internal, message));
            assert_eq!(status.take(), Ok(()));
        }
    }

    #[test]
    fn a_message_ends_at_a_nul_and_success_forgets_it() {
        let mut status = Status::new();
        set(&mut status, "before\0behind");
        assert_eq!(status.take().unwrap_err().to_string(), "before");
        set(&mut status, "a text that has memory of its own");
        let pointer: *mut Status = &raw mut status;
        // SAFETY: a status.
        unsafe { XlaCustomCallStatusSetSuccess(pointer.cast()) };
        assert_eq!(status.take(), Ok(()));
        // SAFETY: null is nothing.
        unsafe { XlaCustomCallStatusSetSuccess(ptr::null_mut()) };
    }

    #[test]
    fn another_librarys_layout_is_noticed() {
        let mut status = Status::new();
        status.own[8] = 1;
        assert_eq!(status.take().unwrap_err().code(), Code::Unimplemented);
    }
}
