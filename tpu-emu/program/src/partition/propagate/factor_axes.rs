//! The axes of devices that the factors of one operation have in each of its arrays.
use super::super::axes::{Axes, Layout};
use super::kinds::{LinkKind, SpreadFrom};
use tpu_ops::factors::{Factor, Factors};
use tpu_stablehlo::ir::Value;

/// An operation's arrays, and which axes of them belong together.
#[derive(Debug)]
pub(super) struct Alike {
    pub(super) kind: LinkKind,
    /// Whether nothing else reads its operands.
    pub(super) alone: bool,
    /// Operands, and from `from` on results.
    pub(super) arrays: Vec<Value>,
    pub(super) from: usize,
    pub(super) factors: Vec<Factor>,
    /// The factors of each axis of each array, major first.
    pub(super) maps: Vec<Vec<Vec<usize>>>,
}

impl Alike {
    pub(super) fn new(
        kind: LinkKind,
        (operands, results): (&[Value], &[Value]),
        factors: Factors,
    ) -> Self {
        let maps = [factors.operands, factors.results].concat();
        let arrays = [operands, results].concat();
        Self { kind, alone: false, arrays, from: operands.len(), factors: factors.factors, maps }
    }

    pub(super) fn operands(&self) -> &[Value] {
        &self.arrays[..self.from]
    }
}

/// What is known of an array.
pub(super) struct GivenArray<'a> {
    pub(super) layout: &'a Layout,
    /// Axes that are split as they are, one bit each.
    pub(super) closed: u64,
    /// Axes of devices that split nothing.
    pub(super) manual: &'a [u8],
    /// Whether each reader has one of its own, so that others say nothing of it.
    pub(super) open: bool,
}

impl GivenArray<'_> {
    pub(super) fn is_whole(&self) -> bool {
        self.open || self.layout.is_whole()
    }
}

/// A factor's part of an axis of an array.
#[derive(Debug)]
struct FactorShare {
    factor: usize,
    axes: Vec<u8>,
    /// Axes behind these that do not divide the factor: nothing comes behind them.
    beyond: Vec<u8>,
    closed: bool,
    /// Whether it is the last one of its axis.
    last: bool,
}

/// An array by its factors.
#[derive(Debug)]
pub(super) struct FactoredArray {
    shares: Vec<FactorShare>,
    /// Axes of devices that split what no factor says anything of, or nothing at all.
    elsewhere: Vec<u8>,
    /// Whether a factor has more axes than at first.
    pub(super) grew: bool,
}

impl FactoredArray {
    pub(super) fn of(
        axes: &Axes,
        given: GivenArray<'_>,
        map: &[Vec<usize>],
        factors: &[Factor],
    ) -> Self {
        let mut this = Self { shares: Vec::new(), elsewhere: given.manual.to_vec(), grew: false };
        for (axis, list) in map.iter().enumerate() {
            let known = given.layout.0.get(axis).filter(|_| !given.open);
            let mut rest = known.map_or(&[][..], |split| &split[..]);
            let closed = given.closed >> axis.min(63) & 1 != 0;
            if list.is_empty() {
                this.elsewhere.extend(rest);
            }
            for (at, &factor) in list.iter().enumerate() {
                let last = at + 1 == list.len();
                let mut share =
                    FactorShare { factor, axes: Vec::new(), beyond: Vec::new(), closed, last };
                if last {
                    share.axes.extend(std::mem::take(&mut rest));
                } else {
                    let mut size = usize::try_from(factors[factor].size).unwrap_or_default();
                    while let Some((&axis, more)) = rest.split_first()
                        && size.is_multiple_of(axes.size(axis))
                        && size > 0
                    {
                        size /= axes.size(axis);
                        share.axes.push(axis);
                        rest = more;
                    }
                    if size > 1 {
                        share.beyond.extend(std::mem::take(&mut rest));
                    }
                }
                let stops = !share.beyond.is_empty();
                this.shares.push(share);
                if stops {
                    // The factors behind it have nothing, and get nothing.
                    this.shares.extend(list[at + 1..].iter().map(|&factor| FactorShare {
                        factor,
                        axes: Vec::new(),
                        beyond: Vec::new(),
                        closed: true,
                        last: false,
                    }));
                    break;
                }
            }
        }
        this
    }

    fn share(&self, factor: usize) -> Option<&FactorShare> {
        self.shares.iter().find(|share| share.factor == factor)
    }

    /// The axes of a factor.
    pub(super) fn of_factor(&self, factor: usize) -> Option<&[u8]> {
        Some(&self.share(factor)?.axes)
    }

    /// Whether a factor has all of these axes here.
    pub(super) fn has(&self, factor: usize, list: &[u8]) -> bool {
        self.of_factor(factor).is_some_and(|had| had.starts_with(list))
    }

    /// How many elements its factors have.
    pub(super) fn elements(&self, factors: &[Factor]) -> i64 {
        self.shares.iter().fold(1, |all, share| all.saturating_mul(factors[share.factor].size))
    }

    /// Whether no other factor of it has this axis.
    pub(super) fn free_beside(&self, factor: usize, axis: u8) -> bool {
        let others = self.shares.iter().filter(|share| share.factor != factor);
        let used = |share: &FactorShare| share.axes.contains(&axis) || share.beyond.contains(&axis);
        !self.elsewhere.contains(&axis) && !others.into_iter().any(used)
    }

    /// Whether a factor may have this axis behind so many places that it has.
    pub(super) fn may_have(
        &self,
        axes: &Axes,
        (factor, size): (usize, i64),
        (axis, before): (u8, usize),
    ) -> bool {
        let Some(share) = self.share(factor) else { return true };
        if share.axes.contains(&axis) {
            return true;
        }
        let size = usize::try_from(size).unwrap_or_default();
        let divides =
            || size.is_multiple_of(before) && (size / before).is_multiple_of(axes.size(axis));
        !share.closed && share.beyond.is_empty() && (share.last || divides())
    }

    /// Gives a factor these axes, if they go on where its own end.
    pub(super) fn grow(&mut self, factor: usize, list: &[u8]) {
        let share = self.shares.iter_mut().find(|share| share.factor == factor);
        if let Some(share) = share.filter(|share| share.axes.len() < list.len())
            && list.starts_with(&share.axes)
        {
            share.axes = list.to_vec();
            self.grew = true;
        }
    }

    /// The axes of an axis with these factors.
    pub(super) fn joined(&self, axes: &Axes, list: &[usize], factors: &[Factor]) -> Vec<u8> {
        let mut all = Vec::new();
        for &factor in list {
            let Some(share) = self.share(factor) else { break };
            all.extend(&share.axes);
            all.extend(&share.beyond);
            let count = i64::try_from(axes.count(&share.axes)).unwrap_or(i64::MAX);
            if !share.beyond.is_empty() || count < factors[factor].size {
                break;
            }
        }
        all
    }
}

/// The axes of a factor that the arrays which it is spread from have, as far as no array has others.
/// The operands are the first `from`.
pub(super) fn longest(
    arrays: &[FactoredArray],
    from: usize,
    factor: usize,
    direction: SpreadFrom,
) -> Vec<u8> {
    let (operands, results) = arrays.split_at(from);
    let (first, then) = match direction {
        SpreadFrom::Nowhere => return Vec::new(),
        SpreadFrom::Forward | SpreadFrom::Both => (operands, results),
        SpreadFrom::Backward => (results, operands),
    };
    let (mut list, mut grows) = (Vec::new(), true);
    for (at, array) in first.iter().chain(then).enumerate() {
        grows &= at < first.len() || direction == SpreadFrom::Both;
        let Some(axes) = array.of_factor(factor) else { continue };
        let alike = list.iter().zip(axes).take_while(|(a, b)| a == b).count();
        if alike < list.len().min(axes.len()) {
            list.truncate(alike);
            grows = false;
        } else if grows && axes.len() > list.len() {
            list = axes.to_vec();
        }
    }
    list
}
