//! `chlo.ragged_dot`: products in groups along an axis, as jaxlib up to 0.8 asks for them.
use crate::contraction::Pairs;
use crate::precision::{Unit, arithmetic};
use crate::{Cost, Cx, Entry, Kernel, Lowered, Site};
use tpu_base::error::{Error, Result};
use tpu_base::tensor::{DType, Shape};
use tpu_kernels::matmul::dot_general::{Axes, Contraction};
use tpu_kernels::matmul::precision::scratch_bytes;
use tpu_kernels::matmul::widen::widen;
use tpu_stablehlo::ir::{Attribute, Attributes};

/// Group `g` is the indices `ends[g-1]..ends[g]` of the ragged axis of `lhs`, with running sums of
/// the group sizes as ends. By what that axis is, each group is multiplied with its own part of
/// `rhs` (a free axis), or gives a result of its own (an axis that is summed over), or nothing
/// changes (a batch axis). Indices outside every group count as zeros.
///
/// Shapes: as `dot_general`; sizes `[g]`, or `[p…, g]` for the axes `p` before the ragged one. A
/// result by group has the groups first.
/// Errors: `BadArgument` for axes and extents that do not fit.
/// Source: StableHLO, "chlo.ragged_dot"; JAX, `ragged_dot_general`.
pub(super) const OP: Entry = Entry::target("chlo.ragged_dot", infer, lower);

/// Where the ragged axis is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Free,
    Sum,
    Batch,
}

/// What the attributes and shapes say.
#[derive(Debug)]
struct RaggedDotPlan {
    mode: Mode,
    /// Axes of the product, groups first in operands that are spread over them.
    pairs: Pairs,
    /// The operands' shapes, spread.
    shapes: [Shape; 2],
    /// How each operand is spread.
    spreads: [Option<RowSpread>; 2],
}

/// Copies an operand once a group, with zeros outside of it.
#[derive(Debug)]
struct RowSpread {
    dims: Vec<usize>,
    width: usize,
    groups: usize,
    axis: usize,
    /// Distance in the group sizes for a step along each axis.
    steps: Vec<usize>,
}

impl RowSpread {
    fn new(shape: &Shape, axis: usize, prefix: &[usize], sizes: &Shape, groups: usize) -> Self {
        let mut steps = vec![0; shape.rank()];
        if sizes.rank() > 1 {
            for (&axis, stride) in prefix.iter().zip(sizes.strides()) {
                steps[axis] = stride;
            }
        }
        let (dims, width) = (shape.dims.to_vec(), shape.dtype.host_bytes());
        Self { dims, width, groups, axis, steps }
    }

    fn bytes(&self) -> usize {
        let elements = self.dims.iter().product::<usize>();
        elements.saturating_mul(self.width).saturating_mul(self.groups)
    }

    /// `ends` has one running sum a group, for every index of the axes before.
    fn run(&self, from: &[u8], ends: &[i64], to: &mut [u8]) {
        to.fill(0);
        if from.is_empty() {
            return;
        }
        for (group, copy) in to.chunks_exact_mut(from.len()).enumerate() {
            let mut index = vec![0_usize; self.dims.len()];
            let mut at = 0;
            for (to, from) in copy.chunks_exact_mut(self.width).zip(from.chunks_exact(self.width)) {
                let place = i64::try_from(index[self.axis]).unwrap_or(i64::MAX);
                let start = if group == 0 { 0 } else { ends[at + group - 1] };
                if start <= place && place < ends[at + group] {
                    to.copy_from_slice(from);
                }
                for axis in (0..index.len()).rev() {
                    index[axis] += 1;
                    at += self.steps[axis];
                    if index[axis] < self.dims[axis] {
                        break;
                    }
                    at -= self.dims[axis] * self.steps[axis];
                    index[axis] = 0;
                }
            }
        }
    }
}

fn attributes<'a>(site: &Site<'a>) -> Result<&'a Attributes> {
    match site.attributes.get("mhlo.attributes") {
        Some(Attribute::Dictionary(attributes)) => Ok(attributes),
        _ => Err(Error::bad(format!("{} has no mhlo.attributes", site.name))),
    }
}

/// The six lists of axes: batch, summed, ragged, groups.
fn lists(site: &Site<'_>) -> Result<[Vec<usize>; 6]> {
    let wrong =
        || Error::bad(format!("{}: ragged_dot_dimension_numbers are no six lists", site.name));
    let numbers = attributes(site)?.get("ragged_dot_dimension_numbers");
    let Some(Attribute::Array(items)) = numbers else { return Err(wrong()) };
    let list = |item: &Attribute| -> Option<Vec<usize>> {
        item.integers()?.into_iter().map(|axis| usize::try_from(axis).ok()).collect()
    };
    let lists: Option<Vec<_>> = items.iter().map(list).collect();
    lists.and_then(|lists| lists.try_into().ok()).ok_or_else(wrong)
}

fn plan(site: &Site<'_>) -> Result<RaggedDotPlan> {
    let [lhs, rhs, sizes] = site.exactly::<3>()?;
    let bad = |what: String| Error::bad(format!("{}: {what}", site.name));
    let [left_batch, right_batch, left_sum, right_sum, ragged, group] = lists(site)?;
    for (left, right) in [(&left_batch, &right_batch), (&left_sum, &right_sum)] {
        let paired = left.len() == right.len()
            && left.iter().zip(right).all(|(&left, &right)| {
                let extent = lhs.dims.get(left);
                extent.is_some() && extent == rhs.dims.get(right)
            });
        if !paired {
            return Err(bad(format!("axes {left:?} of {lhs} against {right:?} of {rhs}")));
        }
    }
    let &[ragged] = &ragged[..] else {
        return Err(bad(format!("{} ragged axes, not 1", ragged.len())));
    };
    let distinct = |axes: [&[usize]; 3]| {
        let mut axes = axes.concat();
        axes.sort_unstable();
        axes.windows(2).all(|two| two[0] != two[1])
    };
    let Some(&groups) = sizes.dims.last() else {
        return Err(bad(format!("group sizes {sizes} are no list")));
    };
    let in_range = ragged < lhs.rank() && group.iter().all(|&axis| axis < rhs.rank());
    if !in_range
        || !distinct([&left_batch, &left_sum, &[]])
        || !distinct([&right_batch, &right_sum, &group])
    {
        return Err(bad(format!("axes that do not fit {lhs} and {rhs}")));
    }
    let mode = if left_batch.contains(&ragged) {
        Mode::Batch
    } else if left_sum.contains(&ragged) {
        Mode::Sum
    } else {
        Mode::Free
    };
    let before = |axes: &[usize], last: usize| -> Vec<usize> {
        axes.iter().copied().take_while(|&axis| axis != last).collect()
    };
    let free: Vec<usize> = (0..lhs.rank())
        .filter(|axis| !left_batch.contains(axis) && !left_sum.contains(axis))
        .collect();
    let prefix = match mode {
        Mode::Free => [&left_batch[..], &before(&free, ragged)].concat(),
        Mode::Sum => [&left_batch[..], &before(&left_sum, ragged)].concat(),
        Mode::Batch => before(&left_batch, ragged),
    };
    let extents: Vec<usize> = prefix.iter().map(|&axis| lhs.dims[axis]).collect();
    if sizes.rank() > 1 && sizes.dims[..sizes.rank() - 1] != extents {
        return Err(bad(format!("group sizes {sizes} for axes {extents:?}")));
    }
    for shape in [lhs, rhs] {
        let bytes = shape.bytes().checked_mul(groups);
        if bytes.is_none_or(|bytes| isize::try_from(bytes).is_err()) {
            return Err(bad(format!("{groups} groups of {shape} are past the address space")));
        }
    }
    let later = |axes: &[usize]| axes.iter().map(|axis| axis + 1).collect::<Vec<_>>();
    let spread = |shape: &Shape| Shape::new(shape.dtype, [&[groups], &shape.dims[..]].concat());
    let first = |axes: &[usize]| [&[0], &later(axes)[..]].concat();
    Ok(match mode {
        Mode::Batch => RaggedDotPlan {
            mode,
            pairs: Pairs { batch: [left_batch, right_batch], sum: [left_sum, right_sum] },
            shapes: [lhs.clone(), rhs.clone()],
            spreads: [None, None],
        },
        Mode::Free => {
            let &[group] = &group[..] else {
                return Err(bad(format!("{} group axes, not 1", group.len())));
            };
            if rhs.dims[group] != groups {
                return Err(bad(format!("{groups} groups for axis {group} of {rhs}")));
            }
            RaggedDotPlan {
                mode,
                pairs: Pairs {
                    batch: [later(&left_batch), right_batch],
                    sum: [
                        [&later(&left_sum)[..], &[0]].concat(),
                        [&right_sum[..], &[group]].concat(),
                    ],
                },
                shapes: [spread(lhs), rhs.clone()],
                spreads: [Some(RowSpread::new(lhs, ragged, &prefix, sizes, groups)), None],
            }
        }
        Mode::Sum => {
            let at = left_sum.iter().position(|&axis| axis == ragged).unwrap_or_default();
            let right = right_sum[at];
            let right_prefix = [&right_batch[..], &right_sum[..at]].concat();
            RaggedDotPlan {
                mode,
                pairs: Pairs {
                    batch: [first(&left_batch), first(&right_batch)],
                    sum: [later(&left_sum), later(&right_sum)],
                },
                shapes: [spread(lhs), spread(rhs)],
                spreads: [
                    Some(RowSpread::new(lhs, ragged, &prefix, sizes, groups)),
                    Some(RowSpread::new(rhs, right, &right_prefix, sizes, groups)),
                ],
            }
        }
    })
}

fn infer(site: &Site<'_>) -> Result<Vec<Shape>> {
    let RaggedDotPlan { pairs, shapes: [lhs, rhs], .. } = plan(site)?;
    Ok(vec![Shape::new(site.declared(0)?.dtype, pairs.result([&lhs, &rhs]))])
}

fn lower(site: &Site<'_>) -> Result<Lowered> {
    let RaggedDotPlan { mode, pairs, shapes: [lhs, rhs], spreads } = plan(site)?;
    let sizes = &site.exactly::<3>()?[2];
    let result = site.declared(0)?.dtype;
    let types = [lhs.dtype, rhs.dtype];
    let arithmetic = arithmetic(site, attributes(site)?, types, result, Unit::Matrix)?;
    let free = [pairs.free(0, &lhs), pairs.free(1, &rhs)];
    let axes = Axes {
        batch: [&pairs.batch[0], &pairs.batch[1]],
        sum: [&pairs.sum[0], &pairs.sum[1]],
        free: [&free[0], &free[1]],
    };
    let product = Contraction::new(arithmetic, [&lhs, &rhs], result, axes);
    let groups = sizes.dims.last().copied().unwrap_or(0);
    let ends = if mode == Mode::Batch { 0 } else { sizes.elements() };
    Ok(Lowered::Kernel(Box::new(RaggedDot { product, spreads, groups, ends, dtype: sizes.dtype })))
}

#[derive(Debug)]
struct RaggedDot {
    product: Contraction,
    spreads: [Option<RowSpread>; 2],
    groups: usize,
    /// Running sums, and the type of the sizes.
    ends: usize,
    dtype: DType,
}

impl Kernel for RaggedDot {
    fn run(&self, cx: &mut Cx<'_>, operands: &[&[u8]], results: &mut [&mut [u8]]) -> Result<()> {
        let (&[lhs, rhs, sizes], [result]) = (operands, results) else {
            return Err(Error::bad("a ragged product takes three operands and gives one result"));
        };
        let mut ends = vec![0_u64; self.ends];
        if !widen(self.dtype, sizes, &mut ends) {
            return Err(Error::Unimplemented(format!("group sizes of {}", self.dtype.name())));
        }
        let mut ends: Vec<i64> = ends.into_iter().map(u64::cast_signed).collect();
        for row in ends.chunks_mut(self.groups.max(1)) {
            for at in 1..row.len() {
                row[at] = row[at].saturating_add(row[at - 1]);
            }
        }
        let mut scratch = &mut *cx.scratch;
        let mut sides = [lhs, rhs];
        for (side, spread) in sides.iter_mut().zip(&self.spreads) {
            let Some(spread) = spread else { continue };
            let (taken, rest) =
                std::mem::take(&mut scratch).split_at_mut(scratch_bytes(spread.bytes(), 1));
            scratch = rest;
            let to = &mut taken[..spread.bytes()];
            spread.run(side, &ends, to);
            *side = to;
        }
        self.product.run(scratch, sides, result)
    }

    fn scratch(&self) -> usize {
        let spread = self.spreads.iter().flatten().map(|spread| scratch_bytes(spread.bytes(), 1));
        spread.fold(self.product.scratch(), usize::saturating_add)
    }

    fn cost(&self) -> Cost {
        Cost { flops: self.product.flops(), transcendentals: 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Numerics;
    use crate::testing::{Case, TestValue, integers};

    fn ragged(lists: [Attribute; 6], operands: &[TestValue; 3], dims: &[usize]) -> Vec<f32> {
        let numbers = Attribute::Array(lists.into());
        let inner = Attributes(vec![("ragged_dot_dimension_numbers".into(), numbers)]);
        let outer = Attribute::Dictionary(inner);
        let attributes = Attributes(vec![("mhlo.attributes".into(), outer)]);
        let declared = [Shape::new(DType::F32, dims)];
        let results = Case::new(OP.mnemonic)
            .attributes(&attributes.0)
            .given(operands)
            .declares_all(&declared)
            .numerics(Numerics::Tpu)
            .results(&OP);
        results.unwrap()[0].elements()
    }

    fn floats<const N: usize>(dims: &[usize], values: [i8; N]) -> TestValue {
        TestValue::of(DType::F32, dims, &values.map(f32::from))
    }

    #[test]
    fn rows_meet_the_matrix_of_their_group() {
        let lists = [[].into(), [].into(), vec![1], vec![1], vec![0], vec![0]];
        let lists = lists.map(|list: Vec<i64>| Attribute::Integers(list));
        let lhs = floats(&[4, 2], [1, 2, 3, 4, 5, 6, 7, 8]);
        let rhs = floats(&[2, 2, 1], [1, 1, 10, 1]);
        let sizes = TestValue::of(DType::S32, &[2], &[1_i32, 2]);
        // The last row is in no group.
        assert_eq!(ragged(lists, &[lhs, rhs, sizes], &[4, 1]), [3.0, 34.0, 56.0, 0.0]);
    }

    #[test]
    fn sums_are_kept_apart_by_group() {
        let lists = [
            integers(&[]),
            integers(&[]),
            integers(&[1]),
            integers(&[0]),
            integers(&[1]),
            integers(&[]),
        ];
        let lhs = floats(&[1, 4], [1, 2, 3, 4]);
        let rhs = floats(&[4, 2], [1, 10, 1, 10, 1, 10, 1, 10]);
        let sizes = TestValue::of(DType::S32, &[2], &[3_i32, 1]);
        assert_eq!(ragged(lists, &[lhs, rhs, sizes], &[2, 1, 2]), [6.0, 60.0, 4.0, 40.0]);
    }

    #[test]
    fn sizes_may_differ_along_batch_axes() {
        let lists = [
            integers(&[0]),
            integers(&[1]),
            integers(&[2]),
            integers(&[2]),
            integers(&[1]),
            integers(&[0]),
        ];
        let lhs = floats(&[2, 2, 1], [1, 2, 3, 4]);
        let rhs = floats(&[2, 2, 1, 1], [1, 1, 10, 100]);
        let sizes = TestValue::of(DType::S64, &[2, 2], &[1_i64, 1, 2, 0]);
        assert_eq!(ragged(lists, &[lhs, rhs, sizes], &[2, 2, 1]), [1.0, 20.0, 3.0, 4.0]);
    }

    #[test]
    fn groups_of_batches_change_nothing() {
        let lists = [
            integers(&[0]),
            integers(&[0]),
            integers(&[1]),
            integers(&[1]),
            integers(&[0]),
            integers(&[]),
        ];
        let lhs = floats(&[2, 2], [1, 2, 3, 4]);
        let rhs = floats(&[2, 2], [1, 1, 2, 2]);
        let sizes = TestValue::of(DType::S32, &[1], &[2_i32]);
        assert_eq!(ragged(lists, &[lhs, rhs, sizes], &[2]), [3.0, 14.0]);
    }
}
