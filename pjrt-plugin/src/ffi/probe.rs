//! Memory that may not be there, read without touching it.
// UNSAFETY: makes a function pointer of an address that a caller stated.
#![expect(unsafe_code, reason = "a C function by its address")]
use super::Deleter;
use crate::sys::XLA_FFI_TypeInfo;
use std::mem::offset_of;
use tpu_host::word_at;

/// The deleter of the `XLA_FFI_TypeInfo` that the pointer at address `place` leads to.
///
/// Callers of version 0.1 have no such pointer there: what they have instead is followed only as
/// far as there is memory. They never need the deleter either, since their states bring one each.
pub(super) fn deleter_at(place: usize) -> Option<Deleter> {
    let info = word_at(place)?;
    let size = word_at(info.checked_add(offset_of!(XLA_FFI_TypeInfo, struct_size))?)?;
    if !(size_of::<XLA_FFI_TypeInfo>()..=4096).contains(&size) {
        return None;
    }
    let deleter = word_at(info.checked_add(offset_of!(XLA_FFI_TypeInfo, deleter))?)?;
    let deleter = std::ptr::with_exposed_provenance::<()>(deleter);
    // SAFETY: a null pointer is `None`; any other is called only for values of its type, which
    // callers that stated no deleter never leave to it.
    unsafe { std::mem::transmute::<*const (), Option<Deleter>>(deleter) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::c_void;

    unsafe extern "C" fn nothing(_: *mut c_void) {}

    #[test]
    fn only_what_is_there_is_read() {
        let info = XLA_FFI_TypeInfo {
            struct_size: size_of::<XLA_FFI_TypeInfo>(),
            extension_start: std::ptr::null_mut(),
            deleter: Some(nothing),
        };
        let pointer = (&raw const info).expose_provenance();
        let found = deleter_at((&raw const pointer).addr()).unwrap();
        assert_eq!(found as usize, nothing as *const () as usize);
        let words = [0_usize, 8, usize::MAX, 1 << 62];
        for word in &words {
            assert!(deleter_at((&raw const *word).addr()).is_none(), "{word:#x}");
        }
        assert!(deleter_at(8).is_none());
    }
}
