//! What an operation's factors say of its arrays, in axes of the devices.
use super::axes::{Axes, Layout};
use super::reach::feasible;
use crate::sharding::reaches_all;
use tpu_ops::factors::{Factor, FactorKind, Factors};

/// The axes that each factor of an array has there.
pub(super) fn projected(
    axes: &Axes,
    layout: &Layout,
    map: &[Vec<usize>],
    factors: &[Factor],
) -> Vec<(usize, Vec<u8>)> {
    let mut found = Vec::new();
    for (split, list) in layout.0.iter().zip(map).filter(|(split, _)| !split.is_empty()) {
        if let &[factor] = &list[..] {
            found.push((factor, split.clone()));
            continue;
        }
        let mut rest = split.iter().copied().peekable();
        for &factor in list {
            let size = usize::try_from(factors[factor].size).unwrap_or_default();
            let (mut taken, mut count) = (Vec::new(), 1);
            while let Some(axis) =
                rest.next_if(|&axis| size.is_multiple_of(count * axes.size(axis)))
            {
                count *= axes.size(axis);
                taken.push(axis);
            }
            if !taken.is_empty() {
                found.push((factor, taken));
            }
            if count != size {
                break;
            }
        }
    }
    found
}

/// The axes of an axis of an array whose factors have these.
pub(super) fn joined(
    axes: &Axes,
    list: &[usize],
    factors: &[Factor],
    chosen: &[Vec<u8>],
) -> Vec<u8> {
    let mut all = Vec::new();
    for &factor in list {
        all.extend(&chosen[factor]);
        let count = i64::try_from(axes.count(&chosen[factor]));
        if list.len() > 1 && count != Ok(factors[factor].size) {
            break;
        }
    }
    all
}

/// Whether pieces of `count` devices may be of different lengths: each has elements of its own.
pub(super) fn uneven(size: i64, count: i64) -> bool {
    let (size, count) = (usize::try_from(size), usize::try_from(count));
    size.is_ok_and(|size| count.is_ok_and(|count| reaches_all(size, count)))
}

/// Whether so many devices may share the indices of a factor.
fn shared(factors: &Factors, factor: usize, (count, lopsided): (i64, bool)) -> bool {
    let of = factors.factors[factor];
    if of.size % count == 0 {
        return true;
    }
    let mut lists = factors.operands.iter().chain(&factors.results).flatten();
    let alone = lists.all(|list| list.len() == 1 || !list.contains(&factor));
    let known = of.kind == FactorKind::Kept || factors.neutral.is_some();
    lopsided && !of.even && alone && known && uneven(of.size, count)
}

/// Which axes each factor of an operation gets, so that its pieces are made where most of its
/// arrays lie. `arrays` are those of the operands and then those of the results; axes in `taken`
/// split nothing.
pub(super) fn chosen(
    axes: &Axes,
    factors: &Factors,
    arrays: &[(&Layout, usize)],
    taken: Vec<u8>,
) -> Vec<Vec<u8>> {
    let maps = factors.operands.iter().chain(&factors.results);
    let uneven = taken.is_empty();
    let part_of = parts_apart(factors).unwrap_or_else(|| vec![0; factors.factors.len()]);
    // An axis splits one factor of each part.
    let mut taken = vec![taken; part_of.iter().max().map_or(0, |last| last + 1)];
    // For each factor: a list of axes, in how many arrays it is there, and how large they are.
    let mut wanted: Vec<(usize, Vec<u8>, usize, usize)> = Vec::new();
    for ((layout, bytes), map) in arrays.iter().zip(maps) {
        for (factor, split) in projected(axes, layout, map, &factors.factors) {
            match wanted.iter_mut().find(|one| one.0 == factor && one.1 == split) {
                Some(one) => {
                    one.2 += 1;
                    one.3 = one.3.saturating_add(*bytes);
                }
                None => wanted.push((factor, split, 1, *bytes)),
            }
        }
    }
    let counts = !looks_elements_up(factors);
    wanted.sort_by_key(|one| std::cmp::Reverse((if counts { one.2 } else { 0 }, one.3)));
    let mut chosen = vec![Vec::new(); factors.factors.len()];
    for (factor, split, ..) in wanted {
        let (had, taken): (&Vec<u8>, &mut Vec<u8>) = (&chosen[factor], &mut taken[part_of[factor]]);
        // A longer list than the one that is there may go on where that ends.
        if !split.starts_with(had) || factors.factors[factor].kind == FactorKind::Moved {
            continue;
        }
        let free = split[had.len()..].iter().take_while(|axis| !taken.contains(axis)).count();
        let list = &split[..had.len() + free];
        let fits = |length: &usize| {
            let count = i64::try_from(axes.count(&list[..*length])).unwrap_or(i64::MAX);
            // What has to be passed on is made where all of it lies, or whole.
            let all = *length == split.len();
            let near = !factors.reaches.iter().any(|reach| reach.factor == factor)
                || all && feasible(factors, factor, count);
            near && shared(factors, factor, (count, all && uneven))
        };
        let length = (had.len() + 1..=list.len()).rev().find(fits).unwrap_or(had.len());
        let new = list[..length].to_vec();
        taken.extend(&new[had.len()..]);
        chosen[factor] = new;
    }
    // To be split less in one array may be too little for the minor factors of another.
    while without_broken(axes, factors, &mut chosen) {}
    chosen
}

/// Whether single elements of the first operand are looked up: a piece of it has some of them, which
/// is little to pass on beside the operand.
fn looks_elements_up(factors: &Factors) -> bool {
    let [table, places] = &factors.operands[..] else { return false };
    let looked_up = |factor: &usize| factors.looked_up.iter().any(|of| of.factor == *factor);
    let mut of_table = table.iter().flatten();
    !factors.looked_up.is_empty()
        && of_table
            .all(|factor| looked_up(factor) || places.iter().flatten().any(|of| of == factor))
}

/// Which result each factor is of, where every result is made of one operand alone, as behind a
/// barrier: what splits one of them says nothing of the others.
fn parts_apart(factors: &Factors) -> Option<Vec<usize>> {
    if factors.operands != factors.results {
        return None;
    }
    let mut part_of = vec![None; factors.factors.len()];
    for (part, map) in factors.results.iter().enumerate() {
        for &factor in map.iter().flatten() {
            if *part_of[factor].get_or_insert(part) != part {
                return None;
            }
        }
    }
    part_of.into_iter().collect()
}

/// Takes their axes from minor factors that have some before them which are not split to single
/// elements; whether there were such.
fn without_broken(axes: &Axes, factors: &Factors, chosen: &mut [Vec<u8>]) -> bool {
    let mut some = false;
    for map in factors.operands.iter().chain(&factors.results) {
        for list in map.iter().filter(|list| list.len() > 1) {
            let mut all = true;
            for &factor in list {
                if !all {
                    some |= !chosen[factor].is_empty();
                    chosen[factor].clear();
                }
                let count = i64::try_from(axes.count(&chosen[factor]));
                all &= count == Ok(factors.factors[factor].size);
            }
        }
    }
    some
}
