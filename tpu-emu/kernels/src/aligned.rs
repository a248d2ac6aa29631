//! Memory for elements of any type.
use tpu_base::error::{Error, Result, end_work};
use tpu_base::units::{Bytes, to_u64};

/// Where the bytes begin.
const ALIGN: usize = 64;

/// Bytes aligned to 64, as kernels want them.
///
/// The allocator gives words, because zeros of a larger alignment than its own are written one
/// by one, whether or not they are ever touched.
#[derive(Debug, Default)]
pub struct Aligned {
    words: Vec<u64>,
    /// Bytes before the first one that is aligned.
    start: usize,
    length: usize,
}

#[derive(Debug, Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C, align(64))]
struct AlignedUnit([u8; ALIGN]);

impl Clone for Aligned {
    fn clone(&self) -> Self {
        Self::of(self.bytes())
    }
}

impl Aligned {
    /// So many zeros. Where the system has no room, the thread's work on the device ends with that
    /// error.
    pub fn zeros(length: usize) -> Self {
        Self::try_zeros(length).unwrap_or_else(|error| end_work(error))
    }

    /// So many zeros, which cost memory only where they are touched.
    ///
    /// # Errors
    /// `HostMemory` where the system has no room.
    pub fn try_zeros(length: usize) -> Result<Self> {
        let refused = |()| Error::HostMemory {
            asked: Bytes(to_u64(length)),
            what: "temporaries",
            why: "the allocation failed".to_owned(),
        };
        if length == 0 {
            return Ok(Self::default());
        }
        let words =
            length.checked_add(ALIGN).ok_or(()).map_err(refused)?.div_ceil(size_of::<u64>());
        let words: Vec<u64> = bytemuck::allocation::try_zeroed_vec(words).map_err(refused)?;
        let start = words.as_ptr().addr().wrapping_neg() % ALIGN;
        Ok(Self { words, start, length })
    }

    /// A copy of `bytes`.
    pub fn of(bytes: &[u8]) -> Self {
        let mut aligned = Self::zeros(bytes.len());
        aligned.bytes_mut().copy_from_slice(bytes);
        aligned
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        if self.length == 0 {
            return bytemuck::cast_slice::<AlignedUnit, u8>(&[]);
        }
        &bytemuck::cast_slice(&self.words)[self.start..self.start + self.length]
    }

    /// The bytes, to write to.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        if self.length == 0 {
            return bytemuck::cast_slice_mut::<AlignedUnit, u8>(&mut []);
        }
        &mut bytemuck::cast_slice_mut(&mut self.words)[self.start..self.start + self.length]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_zeros_at_a_line_of_the_cache_whatever_their_number() {
        for length in [0, 1, 63, 64, 65, 4096, 1 << 20] {
            let mut aligned = Aligned::zeros(length);
            assert_eq!(aligned.bytes().as_ptr().addr() % ALIGN, 0, "{length}");
            assert_eq!(aligned.bytes_mut().as_ptr().addr() % ALIGN, 0, "{length}");
            assert!(aligned.bytes().len() == length && aligned.bytes().iter().all(|&b| b == 0));
            aligned.bytes_mut().fill(7);
            let copy = aligned.clone();
            assert_eq!((copy.bytes(), copy.bytes().as_ptr().addr() % ALIGN), (aligned.bytes(), 0));
        }
        assert_eq!(Aligned::default().bytes().as_ptr().addr() % ALIGN, 0);
    }

    #[test]
    #[cfg(not(miri))] // Miri ends the test where the host would refuse.
    fn what_the_host_cannot_give_is_an_error_or_ends_the_work_with_it() {
        for length in [usize::MAX, 1 << 60] {
            let error = Aligned::try_zeros(length).unwrap_err();
            assert!(error.to_string().contains("of temporaries"), "{error}");
            let ended = tpu_base::entry::enter::<()>(&"a kernel", || {
                Aligned::zeros(length);
                Ok(())
            });
            assert_eq!(ended, Err(error));
        }
    }
}
