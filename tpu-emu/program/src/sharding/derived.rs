//! Shardings that follow from others.
use super::Sharding;

/// What is known of a value: nothing, where it is whole everywhere.
pub(super) type Derivation = Option<Sharding>;

/// A sharding whose axis `i` is the axis of `from` that the list names; none is not split.
pub(super) fn picked(from: &Sharding, axes: impl Iterator<Item = Option<usize>>) -> Derivation {
    let axes: Vec<Option<usize>> = axes.collect();
    let mut made = Sharding::replicated(axes.len(), from.places.len());
    for (to, axis) in axes.into_iter().enumerate() {
        let Some(axis) = axis else { continue };
        made.shards[to] = *from.shards.get(axis)?;
        for (place, source) in made.places.iter_mut().zip(&from.places) {
            place[to] = *source.get(axis)?;
        }
    }
    Some(made)
}

/// Both where that is a sharding; axes that the first splits stay as they are.
pub(super) fn merged([first, second]: [Derivation; 2]) -> Derivation {
    let (Some(first), Some(second)) = (&first, &second) else { return first.or(second) };
    let mut merged = first.clone();
    for axis in 0..merged.shards.len().min(second.shards.len()) {
        if merged.shards[axis] > 1 || second.shards[axis] == 1 {
            continue;
        }
        let mut with = merged.clone();
        with.shards[axis] = second.shards[axis];
        for (place, source) in with.places.iter_mut().zip(&second.places) {
            place[axis] = source[axis];
        }
        merged = with.checked().unwrap_or(merged);
    }
    Some(merged)
}

/// Axes that begin where an axis of the new shape begins, and whose shards divide that.
pub(super) fn reshaped(sharding: &Sharding, from: &[i64], to: &[i64]) -> Derivation {
    let starts = |dims: &[i64]| -> Vec<i64> {
        let before = |product: &mut i64, dim: &i64| {
            let start = *product;
            *product = product.saturating_mul(*dim);
            Some(start)
        };
        dims.iter().scan(1, before).collect()
    };
    let (old, new) = (starts(from), starts(to));
    let axis = |at: usize| {
        let found = (0..from.len()).rev().find(|&axis| {
            let shards = i64::try_from(sharding.shards[axis]).unwrap_or(i64::MAX);
            shards > 1 && old[axis] == new[at] && to[at] % shards == 0
        });
        found.filter(|_| to[at] > 1)
    };
    picked(sharding, (0..to.len()).map(axis))
}

/// How the shards of `outer` are split by a finer sharding of the whole; `None` where it is not
/// finer.
pub(super) fn inside(whole: &Sharding, outer: &Sharding) -> Derivation {
    let mut made = whole.clone();
    for axis in 0..whole.shards.len() {
        let shards = *outer.shards.get(axis)?;
        if !whole.shards[axis].is_multiple_of(shards) {
            return None;
        }
        let inner = whole.shards[axis] / shards;
        made.shards[axis] = inner;
        for (place, outer) in made.places.iter_mut().zip(&outer.places) {
            if place[axis] / inner != outer[axis] {
                return None;
            }
            place[axis] %= inner;
        }
    }
    made.checked().ok()
}

/// The shards of `outer`, each split by `inside` along the axes that are open to that.
pub(super) fn around(outer: &Sharding, inside: &Sharding, open: &[bool]) -> Derivation {
    let mut made = outer.clone();
    for axis in 0..outer.shards.len() {
        let shards = *inside.shards.get(axis)?;
        if !open.get(axis).copied().unwrap_or(false) {
            continue;
        }
        made.shards[axis] *= shards;
        for (place, inner) in made.places.iter_mut().zip(&inside.places) {
            place[axis] = place[axis] * shards + inner[axis];
        }
    }
    made.checked().ok()
}
