//! Sums of a convolution whose groups lie beside each other: vectors run over the groups.
use crate::matmul::micro_kernel::Lane;
use crate::simd;
use pulp::{Simd, WithSimd};

/// Windows whose sums run beside each other.
const TOGETHER: usize = 4;
/// Vectors of each of them.
const WIDE: usize = 2;

/// `out[w, c] = Σ_{t, f} data[starts[w] + taps[t] + f·C + c]·kernel[t, f, c]` for `C` groups.
#[derive(Debug)]
pub(crate) struct Strip<'a, T> {
    /// The elements.
    pub data: &'a [T],
    /// Where each window begins.
    pub starts: &'a [usize],
    /// Elements from there to those under each element of the kernel.
    pub taps: &'a [usize],
    /// Features of a group.
    pub features: usize,
    /// The kernel, dense.
    pub kernel: &'a [T],
    /// Groups.
    pub groups: usize,
    /// The result, dense.
    pub out: &'a mut [T],
    /// Whether the sums are added to what the result has.
    pub add: bool,
}

impl<T: Lane> Strip<'_, T> {
    /// Computes it.
    pub(crate) fn run(self) {
        simd::with(self);
    }
}

impl<T: Lane> WithSimd for Strip<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { starts, groups, out, add, .. } = self;
        let (whole, rest) = starts.as_chunks::<TOGETHER>();
        let (blocks, last) = out.split_at_mut(whole.len() * TOGETHER * groups);
        let reads = (self.data, self.taps, self.features, self.kernel);
        for (starts, out) in whole.iter().zip(blocks.chunks_exact_mut(TOGETHER * groups)) {
            windows::<T, S, TOGETHER>(simd, reads, starts, groups, (out, add));
        }
        for (start, out) in rest.iter().zip(last.chunks_exact_mut(groups)) {
            windows::<T, S, 1>(simd, reads, &[*start], groups, (out, add));
        }
    }
}

/// What windows read: the elements, the taps, the features, the kernel.
type Reads<'a, T> = (&'a [T], &'a [usize], usize, &'a [T]);

/// The sums of `M` windows.
#[inline(always)]
fn windows<T: Lane, S: Simd, const M: usize>(
    simd: S,
    (data, taps, features, kernel): Reads<'_, T>,
    starts: &[usize; M],
    groups: usize,
    (out, add): (&mut [T], bool),
) {
    let zero = T::splat(simd, T::ZERO);
    let width = WIDE * S::F32_LANES;
    let mut first = 0;
    while first + width <= groups {
        let mut sums = [[zero; WIDE]; M];
        if add {
            for i in 0..M {
                let before = T::vectors::<S>(&out[i * groups + first..][..width]);
                sums[i].copy_from_slice(&before[..WIDE]);
            }
        }
        for (&tap, kernel) in taps.iter().zip(kernel.chunks_exact(features * groups)) {
            for (f, kernel) in (0..).zip(kernel.chunks_exact(groups)) {
                let kernel = &T::vectors::<S>(&kernel[first..][..width])[..WIDE];
                for i in 0..M {
                    let data = &data[starts[i] + tap + f * groups + first..][..width];
                    let data = &T::vectors::<S>(data)[..WIDE];
                    for j in 0..WIDE {
                        sums[i][j] = T::multiply_add(simd, data[j], kernel[j], sums[i][j]);
                    }
                }
            }
        }
        for i in 0..M {
            let out = T::vectors_mut::<S>(&mut out[i * groups + first..][..width]);
            out.copy_from_slice(&sums[i]);
        }
        first += width;
    }
    while first < groups {
        let some = S::F32_LANES.min(groups - first);
        let (mut room, mut factors) = ([T::ZERO; LANES], [T::ZERO; LANES]);
        let mut sums = [zero; M];
        if add {
            for i in 0..M {
                room[..some].copy_from_slice(&out[i * groups + first..][..some]);
                sums[i] = T::vectors::<S>(&room)[0];
            }
        }
        for (&tap, kernel) in taps.iter().zip(kernel.chunks_exact(features * groups)) {
            for (f, kernel) in (0..).zip(kernel.chunks_exact(groups)) {
                factors[..some].copy_from_slice(&kernel[first..][..some]);
                let factor = T::vectors::<S>(&factors)[0];
                for i in 0..M {
                    let data = &data[starts[i] + tap + f * groups + first..][..some];
                    let number = if some == S::F32_LANES {
                        T::vectors::<S>(data)[0]
                    } else {
                        room[..some].copy_from_slice(data);
                        T::vectors::<S>(&room)[0]
                    };
                    sums[i] = T::multiply_add(simd, number, factor, sums[i]);
                }
            }
        }
        for i in 0..M {
            T::vectors_mut::<S>(&mut room)[0] = sums[i];
            out[i * groups + first..][..some].copy_from_slice(&room[..some]);
        }
        first += some;
    }
}

/// Numbers of a vector, at most.
const LANES: usize = 32;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_number_of_groups_has_its_sums() {
        let number = |i: usize| u32::try_from(i * 37 % 1009).unwrap();
        let data: Vec<u32> = (0..2000).map(number).collect();
        simd::at_every_level(|_| {
            for (groups, features, windows) in [(1, 1, 1), (7, 2, 5), (16, 1, 3), (75, 2, 9)] {
                let starts: Vec<usize> = (0..windows).map(|w| w * 13).collect();
                let taps = [0, 3 * groups, 4 * groups];
                let kernel: Vec<u32> = (0..3 * features * groups).map(|i| number(i + 9)).collect();
                let mut out = vec![5; windows * groups];
                let (data, starts, taps) = (&data[..], &starts[..], &taps[..]);
                let kernel = &kernel[..];
                let run = |out: &mut [u32], add| {
                    Strip { data, starts, taps, features, kernel, groups, out, add }.run();
                };
                run(&mut out, false);
                let mut twice = out.clone();
                run(&mut twice, true);
                for (at, &value) in out.iter().enumerate() {
                    let (window, c) = (at / groups, at % groups);
                    let term = |i: usize| {
                        let (tap, f) = (i / features, i % features);
                        let place = starts[window] + taps[tap] + f * groups + c;
                        data[place] * kernel[i * groups + c]
                    };
                    let sum: u32 = (0..3 * features).map(term).sum();
                    assert_eq!((value, twice[at]), (sum, 2 * sum), "{groups} {features} at {at}");
                }
            }
        });
    }
}
