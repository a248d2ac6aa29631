//! Lists of texts as C takes them: pointers beside sizes.
// UNSAFETY: the pointers lead into bytes that the same object owns.
#![expect(unsafe_code, reason = "C arrays of pointers, shared between threads")]
use crate::boundary::give_slice;
use std::ffi::c_char;
use std::fmt;
use std::sync::Arc;

/// Texts or messages that live as long as this object.
pub(crate) struct Texts {
    pointers: Vec<*const c_char>,
    sizes: Vec<usize>,
    /// Keeps the bytes at their addresses.
    _owned: Vec<Arc<[u8]>>,
}

// SAFETY: never changed after `new`; the pointers lead into `_owned`.
unsafe impl Send for Texts {}
// SAFETY: as above.
unsafe impl Sync for Texts {}

impl fmt::Debug for Texts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Texts").field(&self.sizes).finish()
    }
}

impl Texts {
    pub(crate) fn new(owned: Vec<Arc<[u8]>>) -> Self {
        Self {
            pointers: owned.iter().map(|text| text.as_ptr().cast()).collect(),
            sizes: owned.iter().map(|text| text.len()).collect(),
            _owned: owned,
        }
    }

    /// The two arrays and their length, for the three fields of an argument struct.
    pub(crate) fn give(
        &self,
        pointers: &mut *const *const c_char,
        sizes: &mut *const usize,
        count: &mut usize,
    ) {
        give_slice(&self.pointers, pointers, count);
        give_slice(&self.sizes, sizes, count);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_pointer_leads_to_the_text_of_the_size_beside_it() {
        let owned: Vec<Arc<[u8]>> = vec![(*b"device").into(), (*b"").into()];
        let texts = Texts::new(owned.clone());
        let (mut pointers, mut sizes, mut count) = (std::ptr::null(), std::ptr::null(), 0);
        texts.give(&mut pointers, &mut sizes, &mut count);
        assert_eq!(count, owned.len());
        for (place, text) in owned.iter().enumerate() {
            // SAFETY: arrays of `count` values that `texts` keeps.
            let (pointer, size) = unsafe { (*pointers.add(place), *sizes.add(place)) };
            assert_eq!((pointer.cast(), size), (text.as_ptr(), text.len()));
        }
    }
}
