//! Convolutions over a padded input, in bands where that and the filter would be large: some images
//! at a time, or some elements of a long filter at a time.
//!
//! A gradient with respect to a filter is a convolution by a filter as large as the images are,
//! whose windows are few: its bands add to the sums of the ones before.
use super::geometry::Geometry;
use super::implicit_gemm::ImplicitGemm;
use crate::conv::tuning::BAND_BYTES;
use crate::matmul::pack::{Load, Panel};
use crate::matmul::precision::{Arithmetic, scratch_bytes, split_scratch};
use std::ops::Range;
use tpu_base::error::Result;
use tpu_base::tensor::DType;

/// A compiled convolution over a padded input.
#[derive(Debug)]
pub(crate) struct BandedGemm {
    /// How each kind of band is computed.
    plans: Vec<ImplicitGemm>,
    bands: Vec<Band>,
    /// The sums of all windows, to which each band adds; 0 where a band has windows of its own.
    sums: usize,
    /// Bytes of a sum, and of an element of input, kernel and result.
    width: usize,
    widths: [usize; 3],
}

/// One band.
#[derive(Debug)]
struct Band {
    /// Which of the plans it has.
    plan: usize,
    /// The elements of input, kernel and result that it begins with.
    first: [usize; 3],
}

/// Images, or elements of the filter along an axis, that are a band.
enum Cut {
    Images(usize),
    Filter { axis: usize, length: usize },
}

impl BandedGemm {
    /// Plans one; `None` where [`ImplicitGemm`] takes none of it.
    pub(crate) fn new(
        arithmetic: &Arithmetic,
        geometry: &Geometry,
        loads: [Load; 2],
        dtypes: [DType; 3],
    ) -> Option<Self> {
        Self::within(BAND_BYTES, arithmetic, geometry, loads, dtypes)
    }

    /// Plans one whose bands have so many bytes of scratch memory at most, or are short.
    fn within(
        limit: usize,
        arithmetic: &Arithmetic,
        geometry: &Geometry,
        loads: [Load; 2],
        dtypes: [DType; 3],
    ) -> Option<Self> {
        let whole = ImplicitGemm::new(arithmetic, geometry, loads, dtypes)?;
        let plan = |geometry: &Geometry| ImplicitGemm::new(arithmetic, geometry, loads, dtypes);
        let cut = cut(geometry, &whole, [arithmetic.kind.bytes(), limit]);
        let mut banded = Self {
            plans: Vec::new(),
            bands: Vec::new(),
            sums: 0,
            width: arithmetic.kind.bytes(),
            widths: dtypes.map(DType::host_bytes),
        };
        let in_bands = match cut {
            Some(Cut::Images(count)) => banded.by_images(geometry, count, plan),
            Some(Cut::Filter { axis, length }) => {
                banded.sums = whole.sums();
                banded.by_filter(geometry, (axis, length), plan)
            }
            None => None,
        };
        if in_bands.is_none() {
            banded.plans = vec![whole];
            banded.bands = vec![Band { plan: 0, first: [0; 3] }];
            banded.sums = 0;
        }
        Some(banded)
    }

    fn by_images(
        &mut self,
        geometry: &Geometry,
        count: usize,
        plan: impl Fn(&Geometry) -> Option<ImplicitGemm>,
    ) -> Option<()> {
        let (images, [from, to]) = geometry.batch;
        for some in pieces(images, count) {
            if self.bands.is_empty() || some.len() < count {
                let mut part = geometry.clone();
                part.batch.0 = some.len();
                self.plans.push(plan(&part)?);
            }
            let first = [some.start * from, 0, some.start * to];
            self.bands.push(Band { plan: self.plans.len() - 1, first });
        }
        Some(())
    }

    fn by_filter(
        &mut self,
        geometry: &Geometry,
        (axis, length): (usize, usize),
        plan: impl Fn(&Geometry) -> Option<ImplicitGemm>,
    ) -> Option<()> {
        let (all, stride) = geometry.windows[axis].kernel;
        for some in pieces(all, length) {
            let mut part = geometry.clone();
            let window = &mut part.windows[axis];
            window.kernel.0 = some.len();
            let before = i64::try_from(some.start.checked_mul(window.dilation)?).ok()?;
            window.low = window.low.checked_sub(before)?;
            let first = if window.reversed { all - some.end } else { some.start };
            self.plans.push(plan(&part)?);
            self.bands.push(Band { plan: self.plans.len() - 1, first: [0, first * stride, 0] });
        }
        Some(())
    }

    /// Bytes of scratch memory of a run.
    pub(crate) fn scratch(&self) -> usize {
        let plans = self.plans.iter().map(ImplicitGemm::scratch).max().unwrap_or(0);
        plans.saturating_add(if self.sums > 0 { scratch_bytes(self.sums, self.width) } else { 0 })
    }

    /// Computes the result.
    ///
    /// # Errors
    /// `Unimplemented` for types that hold no numbers.
    pub(crate) fn run<T: Panel>(
        &self,
        mut scratch: &mut [u8],
        [input, kernel]: [&[u8]; 2],
        result: &mut [u8],
    ) -> Result<()> {
        let mut sums =
            if self.sums > 0 { Some(split_scratch::<T>(&mut scratch, self.sums)?) } else { None };
        for (number, band) in self.bands.iter().enumerate() {
            let [from, other, to] = [0, 1, 2].map(|side| band.first[side] * self.widths[side]);
            let operands = [(input, from), (kernel, other)]
                .map(|(bytes, first)| bytes.get(first..).unwrap_or_default());
            let plan = &self.plans[band.plan];
            match &mut sums {
                Some(sums) => plan.add_up::<T>(scratch, operands, (sums, number > 0))?,
                None => plan.run::<T>(scratch, operands, &mut result[to..])?,
            }
        }
        match (sums, self.plans.first()) {
            (Some(sums), Some(plan)) => plan.write_sums(sums, result),
            _ => Ok(()),
        }
    }
}

/// Ranges of `length` that are `all` together; the last one may be shorter.
fn pieces(all: usize, length: usize) -> impl Iterator<Item = Range<usize>> {
    (0..all).step_by(length.max(1)).map(move |first| first..all.min(first + length))
}

/// How a convolution is cut; `width` is that of a sum.
fn cut(geometry: &Geometry, whole: &ImplicitGemm, [width, limit]: [usize; 2]) -> Option<Cut> {
    let [padded, kernel] = whole.numbers().map(|count| count.saturating_mul(width));
    let sums = whole.sums().saturating_mul(width);
    if kernel > limit && (1..kernel / 4).contains(&sums) {
        let plain = geometry.windows.iter().all(|window| window.base_dilation <= 1);
        let long = (0..geometry.windows.len())
            .rev()
            .max_by_key(|&axis| geometry.windows[axis].kernel.0)
            .filter(|_| plain && whole.is_one_group());
        if let Some(axis) = long {
            let window = &geometry.windows[axis];
            let (all, dilation) = (window.kernel.0, window.dilation.max(1));
            // Places of the padded input that two bands read.
            let both = (window.output.0 - 1) * window.step;
            let place = padded / (all * dilation + both).max(1);
            let each = (place * dilation + kernel / all).max(1);
            let length = limit.saturating_sub(place * both) / each;
            // Half of what a band reads is its own at least.
            let length = length.max(both.div_ceil(dilation) * 2).max(1);
            let length = all.div_ceil(all.div_ceil(length));
            return (length < all).then_some(Cut::Filter { axis, length });
        }
    }
    let images = geometry.batch.0;
    let count = limit / (padded / images.max(1)).max(1);
    let count = images.div_ceil(images.div_ceil(count.max(1)).max(1));
    (padded > limit && count < images).then_some(Cut::Images(count))
}

#[cfg(test)]
mod tests {
    use super::super::test_cases::{Case, exact, geometry, numbers, wanted};
    use super::*;
    use crate::aligned::Aligned;
    use crate::simd;
    use bytemuck::{cast_slice, cast_slice_mut};

    /// Checks a convolution in bands against its definition; gives how many there are, and whether
    /// they add to the same sums.
    fn check(case: Case<'_>, limit: usize) -> (usize, bool) {
        let geometry = geometry(case);
        let [input, kernel] = geometry.elements.map(numbers);
        let windows: usize = geometry.windows.iter().map(|axis| axis.output.0).product();
        let mut expected = vec![0; case.images * windows * case.columns * case.groups];
        wanted(&geometry, &input, &kernel, &mut expected);
        let loads = [Load::Plain; 2];
        let banded =
            BandedGemm::within(limit, &exact(), &geometry, loads, [DType::U32; 3]).unwrap();
        simd::at_every_level(|_| {
            let mut scratch = Aligned::zeros(banded.scratch());
            let mut result = vec![9_u32; expected.len()];
            let operands = [cast_slice(&input), cast_slice(&kernel)];
            banded.run::<u32>(scratch.bytes_mut(), operands, cast_slice_mut(&mut result)).unwrap();
            assert_eq!(result, expected, "{case:?} in {limit} bytes");
        });
        (banded.bands.len(), banded.sums > 0)
    }

    #[test]
    fn bands_of_images_are_what_the_definition_says() {
        let plane = [([7, 3], 1, 1, [1, 1]), ([9, 2], 2, 0, [1, 2])];
        let gaps = [([4, 3], 1, 1, [2, 1]), ([5, 3], 2, 2, [3, 2])];
        for axes in [&plane[..], &gaps, &[]] {
            for last in [true, false] {
                for (features, columns, groups) in [(1, 20, 1), (3, 40, 1), (5, 7, 3), (1, 1, 20)] {
                    let case = Case { images: 5, features, columns, groups, last, axes };
                    for limit in [0, 2000, 1 << 20] {
                        let (bands, adds) = check(case, limit);
                        assert!(!adds);
                        assert!(limit > 0 || bands == 5, "{case:?}: {bands}");
                        assert!(limit < 1 << 20 || bands == 1, "{case:?}: {bands}");
                    }
                }
            }
        }
    }

    #[test]
    fn bands_of_a_filter_are_what_the_definition_says() {
        // Padding on both sides, a filter with gaps, one that runs backwards, steps.
        let long = [([20, 19], 1, 1, [1, 1]), ([6, 6], 1, 1, [1, 1])];
        let gaps = [([33, 15], 1, 0, [1, 2]), ([9, 4], 1, 1, [1, 2])];
        let backwards = [([5, 5], 1, 1, [1, 1]), ([30, 28], 2, 1, [1, 1])];
        let line = [([70, 64], 3, 1, [1, 1])];
        for axes in [&long[..], &gaps, &backwards, &line] {
            for last in [true, false] {
                for (features, columns, groups) in
                    [(3, 40, 1), (1, 7, 1), (8, 16, 1), (2, 1, 20), (6, 1, 33)]
                {
                    let case = Case { images: 1, features, columns, groups, last, axes };
                    for limit in [0, 1500, 1 << 20] {
                        let (bands, adds) = check(case, limit);
                        assert_eq!(adds, bands > 1, "{case:?}");
                        assert!(limit > 0 || bands > 1, "{case:?}");
                    }
                }
            }
        }
    }
}
