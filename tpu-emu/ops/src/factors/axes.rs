//! Factors of operations each of whose axes is one, or is not split.
use super::FactorKind::{Kept, Moved, Summed};
use super::{FactorKind, FactorSite, Factors, Local, Past};
use tpu_stablehlo::ir::Attribute;

/// All arrays have the same axes; scalars serve every element.
pub(crate) fn elementwise(site: &FactorSite<'_>) -> Option<Factors> {
    let all = || site.operands.iter().chain(&site.results);
    let dims = *all().find(|dims| !dims.is_empty()).or_else(|| all().next())?;
    if all().any(|other| !other.is_empty() && *other != dims) {
        return None;
    }
    let mut factors = Factors::new(site);
    for (axis, &size) in dims.iter().enumerate() {
        let factor = factors.add(size, Kept);
        let arrays = factors.operands.iter_mut().chain(&mut factors.results);
        arrays.filter_map(|array| array.get_mut(axis)).for_each(|axis| axis.push(factor));
    }
    Some(factors)
}

/// Result `k` is operand `k`, or one of its extents.
pub(crate) fn forwarded(site: &FactorSite<'_>) -> Option<Factors> {
    let mut factors = Factors::new(site);
    for (at, (from, to)) in site.operands.iter().zip(&site.results).enumerate() {
        if from.len() != to.len() {
            return None;
        }
        for (axis, (&size, other)) in from.iter().zip(*to).enumerate() {
            if size == *other {
                factors.shared((size, Kept), (at, axis), (at, axis))?;
            }
        }
    }
    (site.operands.len() == site.results.len()).then_some(factors)
}

/// Axis `i` of the result is the operand's axis `permutation[i]`.
pub(crate) fn permuted(site: &FactorSite<'_>) -> Option<Factors> {
    let mut factors = Factors::new(site);
    for (to, from) in site.list("permutation").into_iter().enumerate() {
        let size = *site.operands.first()?.get(from)?;
        factors.shared((size, Kept), (0, from), (0, to))?;
    }
    Some(factors)
}

/// The operand's axes are some of the result's; along the others elements repeat.
pub(crate) fn broadcast(site: &FactorSite<'_>) -> Option<Factors> {
    let ([from], [to]) = (&site.operands[..], &site.results[..]) else { return None };
    let named = site.list("broadcast_dimensions");
    let mut factors = Factors::new(site);
    for (axis, &size) in to.iter().enumerate() {
        let factor = factors.add(size, Kept);
        factors.results[0][axis].push(factor);
        let source = named.iter().position(|&known| known == axis);
        if let Some(source) = source.filter(|&at| from.get(at) == Some(&size)) {
            factors.operands[0][source].push(factor);
        }
    }
    Some(factors)
}

/// The operands without the axes `dimensions`; each result has its operand and its first value.
pub(crate) fn reduced(site: &FactorSite<'_>) -> Option<Factors> {
    let count = site.results.len();
    let gone = site.list("dimensions");
    let dims = *site.operands.first()?;
    let mut factors = Factors::new(site);
    let mut to = 0..;
    for (axis, &size) in dims.iter().enumerate() {
        let kept = !gone.contains(&axis);
        // Several results come of code over all of them, which no collective runs.
        let kind = match (kept, count) {
            (true, _) => Kept,
            (false, 1) => Summed,
            (false, _) => continue,
        };
        let factor = factors.add(size, kind);
        let place = if kept { to.next() } else { None };
        for at in 0..count {
            factors.operands.get_mut(at)?.get_mut(axis)?.push(factor);
            if let Some(place) = place {
                factors.results[at].get_mut(place)?.push(factor);
            }
        }
    }
    factors.neutral = (count == 1).then_some(Past::Operand(1));
    Some(factors)
}

/// Pieces along axes that stay as they are.
pub(super) fn unless(
    site: &FactorSite<'_>,
    local: Local,
    moved: impl Fn(usize) -> Option<FactorKind>,
) -> Option<Factors> {
    let mut factors = Factors::new(site);
    let rank = site.results.first()?.len();
    for axis in 0..rank {
        let Some(kind) = moved(axis) else { continue };
        let factor = factors.add(site.results[0][axis], kind);
        for (array, dims) in factors.operands.iter_mut().zip(&site.operands) {
            if dims.len() == rank {
                array[axis].push(factor);
            }
        }
        for array in &mut factors.results {
            array.get_mut(axis)?.push(factor);
        }
    }
    factors.local = local;
    Some(factors)
}

/// Rows along `dimension` change by themselves, each as a whole.
pub(crate) fn sorted(site: &FactorSite<'_>) -> Option<Factors> {
    let rank = site.results.first()?.len();
    let stated = site.attributes.integer("dimension")?;
    let last = i64::try_from(rank).ok()?;
    let row = usize::try_from(if stated < 0 { stated + last } else { stated }).ok()?;
    unless(site, Local::Same, |axis| Some(if axis == row { Moved } else { Kept }))
}

/// Rows along the last axis change by themselves, whatever their length.
pub(crate) fn last_rows(site: &FactorSite<'_>) -> Option<Factors> {
    let rank = site.results.first()?.len();
    let same = |axis: usize| site.operands.iter().all(|dims| dims[axis] == site.results[0][axis]);
    unless(site, Local::Same, |axis| (axis + 1 < rank && same(axis)).then_some(Kept))
}

/// Matrices, or rows, along the last axes change by themselves: those that have the same extent in
/// all arrays before the last two.
pub(crate) fn rows(site: &FactorSite<'_>) -> Option<Factors> {
    let rank = site.results.first()?.len();
    let arrays = || site.operands.iter().chain(&site.results);
    let apart = |axis: usize| {
        let same = arrays().all(|dims| dims.len() == rank && dims[axis] == site.results[0][axis]);
        (axis + 2 < rank && same).then_some(Kept)
    };
    unless(site, Local::Same, apart)
}

/// Every axis of the result may be split: each element is known by its place.
fn made(site: &FactorSite<'_>, local: Local) -> Option<Factors> {
    let [dims] = &site.results[..] else { return None };
    let mut factors = Factors::new(site);
    for (axis, &size) in dims.iter().enumerate() {
        let factor = factors.add(size, Kept);
        factors.results[0][axis].push(factor);
    }
    factors.local = local;
    Some(factors)
}

/// Counts along an axis.
pub(crate) fn counting(site: &FactorSite<'_>) -> Option<Factors> {
    made(site, Local::Counting)
}

/// One element everywhere.
pub(crate) fn constant(site: &FactorSite<'_>) -> Option<Factors> {
    match site.attributes.get("value") {
        Some(Attribute::Elements(elements)) if elements.splat => made(site, Local::Elements),
        _ => None,
    }
}
