//! Memory that C reads at a fixed address for as long as its owner lives.
// UNSAFETY: raw memory between its allocation and its end.
#![expect(unsafe_code, reason = "memory that C reads")]
use std::fmt;

/// Values at a fixed address, null for none. Moving the owner moves nothing.
pub(super) struct Kept<T> {
    values: *mut [T],
}

// SAFETY: it owns its values; who reads them through pointers says how.
unsafe impl<T: Send> Send for Kept<T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for Kept<T> {}

impl<T> Kept<T> {
    /// Takes the values over.
    pub(super) fn new(values: impl IntoIterator<Item = T>) -> Self {
        Self { values: Box::into_raw(values.into_iter().collect()) }
    }

    /// The address of the first value; of what lies behind none, never null.
    pub(super) fn pointer(&self) -> *mut T {
        self.values.cast()
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.values.len()
    }
}

impl<T> Drop for Kept<T> {
    fn drop(&mut self) {
        // SAFETY: from `Box::into_raw` in `new`, once.
        drop(unsafe { Box::from_raw(self.values) });
    }
}

impl<T> fmt::Debug for Kept<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} values", self.len())
    }
}
