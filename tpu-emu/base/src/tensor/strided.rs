//! Strided client memory to dense row-major bytes and back.
use crate::error::{Error, Result};
use crate::units::{to_u64, to_usize};

/// An array in client memory: any strides, negative and zero ones included.
#[derive(Debug, Clone, Copy)]
pub struct Strided<'a> {
    /// Extents, major first.
    pub dims: &'a [u64],
    /// Bytes from one element to the next, per axis.
    pub strides: &'a [i64],
    /// Bytes of one element.
    pub element: usize,
}

/// The bytes an array touches, relative to its first element: from `low` to below `high`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    /// Not above 0.
    pub low: i64,
    /// One past the last byte.
    pub high: i64,
}

/// Row-major strides of a dense array, in bytes.
///
/// # Errors
/// `BadArgument` where a stride is past 2^63.
pub fn dense_strides(dims: &[u64], element: usize) -> Result<Vec<i64>> {
    let order: Vec<usize> = (0..dims.len()).rev().collect();
    ordered_strides(dims, element, &order)
}

/// Strides of a dense array whose axes lie in `minor_to_major` order, in bytes.
///
/// # Errors
/// `BadArgument` where `minor_to_major` is no permutation or a stride is past 2^63.
pub fn ordered_strides(dims: &[u64], element: usize, minor_to_major: &[usize]) -> Result<Vec<i64>> {
    let mut strides = vec![None; dims.len()];
    let mut next = to_u64(element);
    for &axis in minor_to_major {
        let stride = strides.get_mut(axis).filter(|stride| stride.is_none());
        let stride = stride.ok_or_else(|| no_permutation(dims.len(), minor_to_major))?;
        let step = i64::try_from(next).map_err(|_| too_large(dims))?;
        *stride = Some(step);
        next = next.checked_mul(dims[axis].max(1)).ok_or_else(|| too_large(dims))?;
    }
    strides
        .into_iter()
        .collect::<Option<Vec<i64>>>()
        .ok_or_else(|| no_permutation(dims.len(), minor_to_major))
}

fn no_permutation(rank: usize, order: &[usize]) -> Error {
    Error::bad(format!("{order:?} is no order of the {rank} axes"))
}

fn too_large(dims: &[u64]) -> Error {
    Error::bad(format!("an array of shape {dims:?} is past 2^63 bytes"))
}

impl Strided<'_> {
    /// The bytes that the array touches; nothing where an axis is empty.
    ///
    /// # Errors
    /// `BadArgument` where a stride leads past 2^63.
    pub fn extent(&self) -> Result<Extent> {
        if self.dims.contains(&0) {
            return Ok(Extent { low: 0, high: 0 });
        }
        let outside = || {
            let Self { dims, strides, .. } = self;
            Error::bad(format!("strides {strides:?} of shape {dims:?} leave the address space"))
        };
        let element = i64::try_from(self.element).map_err(|_| outside())?;
        let mut extent = Extent { low: 0, high: element };
        for (&dim, &stride) in self.dims.iter().zip(self.strides) {
            let last = i64::try_from(dim - 1).ok().and_then(|last| last.checked_mul(stride));
            let last = last.ok_or_else(outside)?;
            let end = if last < 0 { &mut extent.low } else { &mut extent.high };
            *end = end.checked_add(last).ok_or_else(outside)?;
        }
        Ok(extent)
    }

    /// Calls `run` with every contiguous run of elements in row-major order: its start relative
    /// to the first element, and its length, both in bytes.
    ///
    /// # Errors
    /// Those of `run`.
    pub fn runs(&self, mut run: impl FnMut(i64, usize) -> Result<()>) -> Result<()> {
        if self.dims.contains(&0) {
            return Ok(());
        }
        let (outer, length) = self.contiguous_tail();
        let mut index = vec![0_u64; outer];
        let mut start = 0_i64;
        loop {
            run(start, length)?;
            let mut axis = outer;
            loop {
                if axis == 0 {
                    return Ok(());
                }
                axis -= 1;
                index[axis] += 1;
                start += self.strides[axis];
                if index[axis] < self.dims[axis] {
                    break;
                }
                // `extent` was in range, so the way back is too.
                start -= self.strides[axis] * self.dims[axis].cast_signed();
                index[axis] = 0;
            }
        }
    }

    /// How many outer axes are left when the inner ones form one dense run, and its bytes.
    fn contiguous_tail(&self) -> (usize, usize) {
        let mut length = self.element;
        let mut outer = self.dims.len();
        while outer > 0 {
            let (dim, stride) = (self.dims[outer - 1], self.strides[outer - 1]);
            if dim != 1 && usize::try_from(stride).ok() != Some(length) {
                break;
            }
            length *= to_usize(dim);
            outer -= 1;
        }
        (outer, length)
    }

    /// Appends the elements, row-major and dense, to `dense`.
    ///
    /// `memory` begins `-extent.low` bytes before the first element.
    ///
    /// # Errors
    /// `BadArgument` where `memory` is shorter than the array's extent.
    pub fn gather(&self, memory: &[u8], low: i64, dense: &mut Vec<u8>) -> Result<()> {
        self.runs(|start, length| {
            dense.extend_from_slice(part(memory.len(), low, start, length, |at| &memory[at])?);
            Ok(())
        })
    }

    /// Writes dense row-major elements to their places in `memory`; the inverse of `gather`.
    ///
    /// # Errors
    /// `BadArgument` where `memory` is shorter than the array's extent.
    pub fn scatter(&self, dense: &[u8], low: i64, memory: &mut [u8]) -> Result<()> {
        let mut done = 0;
        let size = memory.len();
        self.runs(|start, length| {
            let from = &dense[done..done + length];
            part(size, low, start, length, |at| memory[at].copy_from_slice(from))?;
            done += length;
            Ok(())
        })
    }
}

fn part<R>(
    size: usize,
    low: i64,
    start: i64,
    length: usize,
    take: impl FnOnce(std::ops::Range<usize>) -> R,
) -> Result<R> {
    let begin = start.checked_sub(low).and_then(|at| usize::try_from(at).ok());
    let range = begin.and_then(|begin| Some(begin..begin.checked_add(length)?));
    match range.filter(|range| range.end <= size) {
        Some(range) => Ok(take(range)),
        None => Err(Error::bad(format!("element at byte {start} of {size} bytes from {low}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gathered(dims: &[u64], strides: &[i64], memory: &[u8]) -> Vec<u8> {
        let array = Strided { dims, strides, element: 1 };
        let mut dense = Vec::new();
        array.gather(memory, array.extent().unwrap().low, &mut dense).unwrap();
        dense
    }

    #[test]
    fn negative_zero_and_loose_strides_are_followed() {
        assert_eq!(gathered(&[4], &[-1], b"abcd"), b"dcba");
        assert_eq!(gathered(&[3], &[0], b"a"), b"aaa");
        assert_eq!(gathered(&[2, 2], &[1, 2], b"abcd"), b"acbd");
        assert_eq!(gathered(&[2, 2], &[4, 1], b"ab..cd"), b"abcd");
        assert_eq!(gathered(&[], &[], b"x"), b"x");
        assert_eq!(gathered(&[2, 0], &[1, 1], b""), b"");
    }

    #[test]
    fn dense_arrays_are_one_run() {
        let strides = dense_strides(&[2, 3, 4], 4).unwrap();
        let array = Strided { dims: &[2, 3, 4], strides: &strides, element: 4 };
        let mut runs = Vec::new();
        let note = |start, length| {
            runs.push((start, length));
            Ok(())
        };
        array.runs(note).unwrap();
        assert_eq!(runs, [(0, 96)]);
    }

    #[test]
    fn scatter_undoes_gather() {
        let (dims, strides) = ([3, 2], [2, -6]);
        let array = Strided { dims: &dims, strides: &strides, element: 2 };
        let Extent { low, high } = array.extent().unwrap();
        assert_eq!((low, high), (-6, 6));
        let mut memory = [0; 12];
        array.scatter(b"aabbccddeeff", low, &mut memory).unwrap();
        let mut dense = Vec::new();
        array.gather(&memory, low, &mut dense).unwrap();
        assert_eq!(dense, b"aabbccddeeff");
    }

    #[test]
    fn strides_past_the_address_space_are_refused() {
        let array = Strided { dims: &[1 << 40, 2], strides: &[1 << 40, 1], element: 1 };
        assert!(array.extent().is_err());
        assert!(ordered_strides(&[u64::MAX, u64::MAX], 8, &[1, 0]).is_err());
        assert!(ordered_strides(&[2, 2], 8, &[1, 1]).is_err());
        assert!(ordered_strides(&[2, 2], 8, &[0]).is_err());
    }

    #[test]
    fn memory_that_is_too_short_is_an_error_and_not_a_read() {
        let array = Strided { dims: &[4], strides: &[2], element: 1 };
        assert!(array.gather(b"abc", 0, &mut Vec::new()).is_err());
    }
}
