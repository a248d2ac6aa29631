//! Factors of operations whose places the program computes.
use super::FactorKind::{Kept, Moved, Summed};
use super::{FactorSite, Factors, Local, LookedUp};

/// A part of the first operand, which stays whole along axes that are taken whole.
pub(crate) fn dynamic_slice(site: &FactorSite<'_>) -> Option<Factors> {
    let (from, to) = (*site.operands.first()?, *site.results.first()?);
    let mut factors = Factors::new(site);
    for (axis, (&size, taken)) in from.iter().zip(to).enumerate() {
        let kind = if size == *taken { Kept } else { Moved };
        if kind == Kept || *taken > 1 {
            factors.shared((*taken, kind), (0, axis), (0, axis))?;
        }
    }
    factors.local = Local::Sizes;
    Some(factors)
}

/// The first operand with the second one somewhere inside.
pub(crate) fn dynamic_update(site: &FactorSite<'_>) -> Option<Factors> {
    let (into, update) = (*site.operands.first()?, *site.operands.get(1)?);
    let mut factors = Factors::new(site);
    for (axis, (&size, put)) in into.iter().zip(update).enumerate() {
        let kind = if size == *put { Kept } else { Moved };
        let factor = factors.add(size, kind);
        factors.operands[0].get_mut(axis)?.push(factor);
        factors.results.first_mut()?.get_mut(axis)?.push(factor);
        if kind == Kept {
            factors.operands[1][axis].push(factor);
        }
    }
    Some(factors)
}

/// Axes of an array but those in `without`.
fn others(rank: usize, without: &[usize]) -> impl Iterator<Item = usize> + '_ {
    (0..rank).filter(move |axis| !without.contains(axis))
}

/// Slices of a table: along axes that they take whole, along those of the indices, along those
/// that run with the indices, and along those of which they take one element: a piece of the table
/// has it, and the others have none.
pub(crate) fn gathered(site: &FactorSite<'_>) -> Option<Factors> {
    let &[table, indices] = &site.operands[..] else { return None };
    let result = *site.results.first()?;
    let (offsets, sizes) = (site.list("offset_dims"), site.list("slice_sizes"));
    let batching = site.list("operand_batching_dims");
    let with = site.list("start_indices_batching_dims");
    let gone = [site.list("collapsed_slice_dims"), batching.clone()].concat();
    let vector = [site.list("index_vector_dim")].concat();
    let mut factors = Factors::new(site);
    let inside = others(table.len(), &gone);
    for (axis, &to) in inside.zip(&offsets) {
        if usize::try_from(table[axis]).ok() == sizes.get(axis).copied() {
            factors.shared((table[axis], Kept), (0, axis), (0, to))?;
        }
    }
    let places = others(indices.len(), &vector);
    for (axis, to) in places.zip(others(result.len(), &offsets)) {
        let factor = factors.add(indices[axis], Kept);
        factors.operands[1][axis].push(factor);
        factors.results[0][to].push(factor);
        if let Some(at) = with.iter().position(|&of| of == axis) {
            factors.operands[0].get_mut(*batching.get(at)?)?.push(factor);
        }
    }
    let single = |axis: usize| sizes.get(axis) == Some(&1);
    let collapsed = site.list("collapsed_slice_dims");
    for (component, axis) in site.list("start_index_map").into_iter().enumerate() {
        if collapsed.contains(&axis) && single(axis) {
            let factor = factors.add(*table.get(axis)?, Summed);
            factors.operands[0][axis].push(factor);
            factors.factors[factor].even = true;
            factors.looked_up.push(LookedUp { factor, axis, component });
        }
    }
    factors.local = Local::Sizes;
    Some(factors)
}

/// Windows put into an array: along axes that they fill, along those that run with the indices,
/// along those in which they have one element, and, where they are added, along the axes of the
/// indices.
pub(crate) fn scattered(site: &FactorSite<'_>) -> Option<Factors> {
    let &[into, indices, updates] = &site.operands[..] else { return None };
    let windows = site.list("update_window_dims");
    let batching = site.list("input_batching_dims");
    let with = site.list("scatter_indices_batching_dims");
    let gone = [site.list("inserted_window_dims"), batching.clone()].concat();
    let vector = [site.list("index_vector_dim")].concat();
    let mut factors = Factors::new(site);
    for (axis, &window) in others(into.len(), &gone).zip(&windows) {
        if updates.get(window) == Some(&into[axis]) {
            let factor = factors.add(into[axis], Kept);
            factors.operands[0][axis].push(factor);
            factors.operands[2][window].push(factor);
            factors.results.first_mut()?.get_mut(axis)?.push(factor);
        }
    }
    let places = others(indices.len(), &vector);
    for (axis, update) in places.zip(others(updates.len(), &windows)) {
        let running = with.iter().position(|&of| of == axis);
        let kind = match running {
            Some(_) => Kept,
            None if site.adds => Summed,
            None => continue,
        };
        let factor = factors.add(indices[axis], kind);
        factors.operands[1][axis].push(factor);
        factors.operands[2][update].push(factor);
        if let Some(at) = running {
            let axis = *batching.get(at)?;
            factors.operands[0].get_mut(axis)?.push(factor);
            factors.results.first_mut()?.get_mut(axis)?.push(factor);
        }
    }
    let inserted = site.list("inserted_window_dims");
    for (component, axis) in site.list("scatter_dims_to_operand_dims").into_iter().enumerate() {
        if inserted.contains(&axis) {
            factors.shared((*into.get(axis)?, Kept), (0, axis), (0, axis))?;
            let factor = factors.factors.len() - 1;
            factors.factors[factor].even = true;
            factors.looked_up.push(LookedUp { factor, axis, component });
        }
    }
    factors.added = site.adds.then_some(0);
    Some(factors)
}
