//! What operations that only move elements do to the axes that have more than one element.
use super::body::CallOperation;
use crate::executable::stored_array::Array;
use std::ops::Range;
use tpu_ops::{LayoutRule, Operator, Relayout, Simplification};

/// Groups of a reshape whose orders are all tried.
const GROUPS: usize = 5;

/// Axes of more than one element on both sides of a reshape that have the same elements.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct AxisGroup {
    pub(super) from: Range<usize>,
    pub(super) to: Range<usize>,
}

/// What an operation does to axes of more than one element.
#[derive(Debug)]
pub(super) enum AxisMove {
    /// Each axis of the result is that axis of the operand.
    Turned(Vec<usize>),
    /// The extents of both sides, and their groups.
    Reshaped([Vec<u64>; 2], Vec<AxisGroup>),
    /// The extents of the result, each axis of which is that axis of the operand, or a new one.
    Repeated(Vec<u64>, Vec<Option<usize>>),
    /// Whether each axis of the operand is gone.
    Summed(Vec<bool>),
}

/// The axes that an operation names.
pub(super) fn axes(of: &CallOperation<'_>, name: &str) -> Option<Vec<usize>> {
    let numbers = of.operation.attributes.integers(name)?;
    numbers.iter().map(|&axis| usize::try_from(axis).ok()).collect()
}

/// What an operation does to axes of more than one element; nothing of a kind that is not followed,
/// and `Some(None)` where these stay as they are.
#[expect(clippy::option_option, reason = "an operation that moves nothing is followed")]
pub(super) fn step(of: &CallOperation<'_>, from: &Array, to: &Array) -> Option<Option<AxisMove>> {
    let Operator::Row(row) = of.operator else { return None };
    let (given, made) = (wide(&from.dims), wide(&to.dims));
    let place = |axis: usize| given.iter().position(|&of| of == axis);
    let step = if row.layout == LayoutRule::Permuted {
        let axes = axes(of, "permutation")?;
        AxisMove::Turned(made.iter().map(|&axis| place(*axes.get(axis)?)).collect::<Option<_>>()?)
    } else if row.relayout == Relayout::Reshaped {
        reshape(compact(from).dims, compact(to).dims)?
    } else if row.simplification == Simplification::Moved {
        let axes = axes(of, "broadcast_dimensions")?;
        let source = |&axis: &usize| axes.iter().position(|&of| of == axis).and_then(place);
        AxisMove::Repeated(compact(to).dims, made.iter().map(source).collect())
    } else if row.relayout == Relayout::Reduced && of.operation.operands.len() == 2 {
        let axes = axes(of, "dimensions")?;
        AxisMove::Summed(given.iter().map(|axis| axes.contains(axis)).collect())
    } else {
        return None;
    };
    Some((!step.stays()).then_some(step))
}

impl AxisMove {
    /// Whether it leaves all axes as they are.
    pub(super) fn stays(&self) -> bool {
        match self {
            Self::Turned(axes) => axes.iter().copied().eq(0..axes.len()),
            Self::Reshaped([from, to], _) => from == to,
            Self::Repeated(_, axes) => axes.iter().all(Option::is_some),
            Self::Summed(axes) => !axes.contains(&true),
        }
    }
}

/// A reshape of few groups, or one that changes nothing.
fn reshape(from: Vec<u64>, to: Vec<u64>) -> Option<AxisMove> {
    let groups = groups(&from, &to).filter(|groups| groups.len() <= GROUPS || from == to)?;
    Some(AxisMove::Reshaped([from, to], groups))
}

/// Steps of which no two that follow one another are of one kind, where that kind has one for both.
pub(super) fn simplified(steps: Vec<AxisMove>) -> Option<Vec<AxisMove>> {
    let mut simple: Vec<AxisMove> = Vec::new();
    for step in steps {
        let both = match (simple.last(), &step) {
            (Some(AxisMove::Turned(first)), AxisMove::Turned(then)) => {
                AxisMove::Turned(then.iter().map(|&axis| first[axis]).collect())
            }
            (Some(AxisMove::Reshaped([from, _], _)), AxisMove::Reshaped([_, to], _)) => {
                reshape(from.clone(), to.clone())?
            }
            (Some(AxisMove::Repeated(_, axes)), AxisMove::Summed(gone))
                if axes.iter().map(Option::is_none).eq(gone.iter().copied()) =>
            {
                AxisMove::Turned(axes.iter().copied().flatten().collect())
            }
            (_, AxisMove::Summed(_)) => return None,
            _ => {
                simple.push(step);
                continue;
            }
        };
        simple.pop();
        if !both.stays() {
            simple.push(both);
        }
    }
    Some(simple)
}

/// The groups of axes, all of more than one element, whose elements a reshape keeps together.
fn groups(from: &[u64], to: &[u64]) -> Option<Vec<AxisGroup>> {
    let (mut a, mut b) = (0, 0);
    let mut groups = Vec::new();
    while a < from.len() && b < to.len() {
        let start = (a, b);
        let (mut left, mut right) = (u128::from(from[a]), u128::from(to[b]));
        while left != right {
            if left < right {
                a += 1;
                left = left.saturating_mul((*from.get(a)?).into());
            } else {
                b += 1;
                right = right.saturating_mul((*to.get(b)?).into());
            }
        }
        (a, b) = (a + 1, b + 1);
        groups.push(AxisGroup { from: start.0..a, to: start.1..b });
    }
    (a == from.len() && b == to.len()).then_some(groups)
}

/// The axes of more than one element.
fn wide(dims: &[u64]) -> Vec<usize> {
    (0..dims.len()).filter(|&axis| dims[axis] > 1).collect()
}

/// An array without its axes of one element.
pub(super) fn compact(of: &Array) -> Array {
    let dims = of.dims.iter().copied().filter(|&dim| dim > 1).collect();
    Array { dtype: of.dtype, dims }
}

/// An order of axes without those of one element.
pub(super) fn without_units(dims: &[u64], order: &[usize]) -> Vec<usize> {
    let wide = wide(dims);
    order.iter().filter_map(|of| wide.iter().position(|axis| axis == of)).collect()
}

/// The axes of groups in an order, the fastest group first.
pub(super) fn group_order(
    groups: &[AxisGroup],
    order: &[usize],
    side: impl Fn(&AxisGroup) -> &Range<usize>,
) -> Vec<usize> {
    order.iter().flat_map(|&group| side(&groups[group]).clone().rev()).collect()
}

/// All orders of so many things.
pub(super) fn permutations(count: usize) -> Vec<Vec<usize>> {
    let mut all = vec![Vec::new()];
    for next in 0..count {
        let with = |order: Vec<usize>| {
            (0..=order.len()).map(move |at| {
                let mut order = order.clone();
                order.insert(at, next);
                order
            })
        };
        all = all.into_iter().flat_map(with).collect();
    }
    all
}
