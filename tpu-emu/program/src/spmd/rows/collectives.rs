//! Collectives as kernels over rows.
use super::Rows;
use crate::graph::NodeKind;
use crate::graph::{Subgraph, ValueId};
use crate::import::Loader;
use crate::import::scope::{Binding, Scope};
use crate::sharding::groups::{groups, memberships_of_some};
use crate::spmd::collective::{axis, index};
use crate::spmd::manual::Participants;
use crate::spmd::rows::segments::in_rows;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use tpu_base::error::{Error, Result};
use tpu_base::tensor::Shape;
use tpu_kernels::movement::strided_view::Access;
use tpu_ops::{CollectiveKind, across, rows as kernels};
use tpu_stablehlo::ir::Operation;

impl<'m> Loader<'m> {
    /// A collective over all participants.
    pub(super) fn collective_of_rows(
        &mut self,
        rows: &mut Rows,
        (scope, kind): (&mut Scope<'m>, CollectiveKind),
        operation: &'m Operation,
        into: &mut Subgraph,
    ) -> Result<()> {
        let known = match kind {
            CollectiveKind::AllReduce
            | CollectiveKind::ReduceScatter
            | CollectiveKind::AllGather
            | CollectiveKind::AllToAll
            | CollectiveKind::CollectivePermute => true,
            CollectiveKind::CollectiveBroadcast => !operation.attributes.flag("has_dynamic_root"),
            _ => false,
        };
        if !known || operation.operands.len() != operation.results.len() {
            return self.collective_of_values(rows, (scope, kind), operation, into);
        }
        let devices = groups(operation, kind, self.module, self.devices)?;
        let groups = rows.groups(operation, &devices)?;
        for (&operand, &result) in operation.operands.iter().zip(&operation.results) {
            let (value, shape) = scope.binding(operand)?.array()?;
            let given = (value, shape.clone());
            let (id, made) = match kind {
                CollectiveKind::CollectivePermute => (
                    self.permuted_rows(rows, operation, (given.0, &given.1), &groups, into)?,
                    given.1,
                ),
                _ => {
                    rows.is_covered(operation, &groups)?;
                    self.groups_of_rows(rows, (scope, kind), operation, given, &groups, into)?
                }
            };
            let binding = Binding::Array(id, made);
            binding.check(scope.type_of(result)?)?;
            scope.bind(result, binding)?;
        }
        Ok(())
    }

    fn groups_of_rows(
        &mut self,
        rows: &mut Rows,
        (scope, kind): (&Scope<'m>, CollectiveKind),
        operation: &'m Operation,
        (value, shape): (ValueId, Shape),
        groups: &[Vec<usize>],
        into: &mut Subgraph,
    ) -> Result<(ValueId, Shape)> {
        let (array, of) = self.array_of(rows, value, into)?;
        let given = (array, self.whole_of_rows(array, &shape)?);
        // Groups of participants with the same rows are given the same.
        let mut members: Vec<Vec<usize>> = Vec::new();
        let mut known: HashMap<Vec<usize>, usize> = HashMap::new();
        // Of each participant, its group's number among those that differ, and its place there.
        let mut place = vec![(0, 0); rows.participants()];
        for group in groups {
            let taken: Vec<usize> = group.iter().map(|&one| of[one]).collect();
            let number = *known.entry(taken.clone()).or_insert(members.len());
            if number == members.len() {
                members.push(taken);
            }
            group.iter().enumerate().for_each(|(at, &one)| place[one] = (number, at));
        }
        let count = members.first().map_or(1, Vec::len);
        if members.iter().any(|group| group.len() != count) {
            let name = &operation.name;
            return Err(Error::Unimplemented(format!("{name} over groups of several sizes")));
        }
        let by_group: Vec<usize> = place.iter().map(|&(number, _)| number).collect();
        let by_place: Vec<usize> = place.iter().map(|&(number, at)| number * count + at).collect();
        let location = |name: &str| axis(operation, name, &shape);
        match kind {
            CollectiveKind::AllReduce | CollectiveKind::ReduceScatter => {
                let kernel = self.reduction_of(scope, operation, &shape, count)?;
                let whole = in_rows(&shape, members.len())?;
                let kernel = kernels::of_rows(kernel, (&shape, &shape), members);
                let sums = self.kernel(operation, kernel, vec![given], &whole, into)?;
                if kind == CollectiveKind::AllReduce {
                    let id = self.rows_in(rows, sums, (&shape, &by_group), into)?;
                    return Ok((id, shape));
                }
                let axis = location("scatter_dimension")?;
                let (parts, part) =
                    self.parts_of_rows(operation, (sums, &whole), (axis, count), into)?;
                Ok((self.rows_in(rows, parts, (&part, &by_place), into)?, part))
            }
            CollectiveKind::AllGather => {
                let axis = location("all_gather_dim")?;
                let whole = grown(operation, &shape, (axis, count))?;
                let mut shards = vec![1; shape.rank()];
                shards[axis] = count;
                let join = across::join(&shape, &whole, &shards);
                let all = in_rows(&whole, members.len())?;
                let kernel = kernels::of_rows(join, (&shape, &whole), members);
                let id = self.kernel(operation, kernel, vec![given], &all, into)?;
                Ok((self.rows_in(rows, id, (&whole, &by_group), into)?, whole))
            }
            CollectiveKind::AllToAll => {
                let (split, concat) = (location("split_dimension")?, location("concat_dimension")?);
                let parts = index(operation, "split_count")?;
                if parts != count {
                    let name = &operation.name;
                    return Err(Error::bad(format!("{name}: {parts} parts for {count} devices")));
                }
                let part = divided(operation, &shape, (split, count))?;
                let whole = grown(operation, &part, (concat, count))?;
                let all = in_rows(&whole, members.len().saturating_mul(count))?;
                let kernel = kernels::exchanged(&shape, (split, concat), members);
                let id = self.kernel(operation, kernel, vec![given], &all, into)?;
                Ok((self.rows_in(rows, id, (&whole, &by_place), into)?, whole))
            }
            _ => {
                let mut first = vec![0; rows.participants()];
                for group in groups {
                    group.iter().for_each(|&one| first[one] = of[group[0]]);
                }
                Ok((self.rows_in(rows, array, (&shape, &first), into)?, shape))
            }
        }
    }

    /// The equal parts of rows along an axis, as rows.
    fn parts_of_rows(
        &mut self,
        operation: &'m Operation,
        (array, whole): (ValueId, &Shape),
        (axis, count): (usize, usize),
        into: &mut Subgraph,
    ) -> Result<(ValueId, Shape)> {
        let row = Shape::new(whole.dtype, whole.dims[1..].to_vec());
        let part = divided(operation, &row, (axis, count))?;
        let strides = whole.strides();
        let mut dims = vec![whole.dims[0], count];
        dims.extend(&part.dims);
        let mut by = vec![strides[0], strides[axis + 1] * part.dims[axis]];
        by.extend(&strides[1..]);
        let parts = Shape::new(whole.dtype, dims);
        let id = self.moved(operation, (array, whole), by, &parts, into)?;
        Ok((id, part))
    }

    /// The elements of an array from its beginning with these steps along each axis of the result.
    pub(super) fn moved(
        &mut self,
        operation: &Operation,
        (array, whole): (ValueId, &Shape),
        strides: Vec<usize>,
        result: &Shape,
        into: &mut Subgraph,
    ) -> Result<ValueId> {
        let signed = |stride: usize| isize::try_from(stride).unwrap_or(isize::MAX);
        let strides: Vec<isize> = strides.into_iter().map(signed).collect();
        let access = Access { offset: 0, strides };
        if self.is_whole(&access, whole, result) {
            return Ok(array);
        }
        let operands = vec![(array, whole.clone())];
        self.node(operation, NodeKind::Access(access), operands, result, into)
    }

    /// What each participant receives from the one that sends to it: zeros from nobody.
    fn permuted_rows(
        &mut self,
        rows: &mut Rows,
        operation: &'m Operation,
        (value, shape): (ValueId, &Shape),
        pairs: &[Vec<usize>],
        into: &mut Subgraph,
    ) -> Result<ValueId> {
        let (array, of) = self.array_of(rows, value, into)?;
        let mut received: Vec<Option<usize>> = vec![None; rows.participants()];
        for pair in pairs {
            let &[from, to] = &pair[..] else {
                return Err(Error::bad(format!("{}: {pair:?} is no pair", operation.name)));
            };
            if received[to].replace(of[from]).is_some() {
                return Err(Error::bad(format!("{}: two send to one device", operation.name)));
            }
        }
        if let Some(all) = received.iter().copied().collect::<Option<Vec<usize>>>() {
            return self.rows_in(rows, array, (shape, &all), into);
        }
        let mut picks: Vec<Option<usize>> = Vec::new();
        let mut known: HashMap<Option<usize>, usize> = HashMap::new();
        let of: Vec<usize> = received
            .iter()
            .map(|&pick| {
                *known.entry(pick).or_insert_with(|| {
                    picks.push(pick);
                    picks.len() - 1
                })
            })
            .collect();
        let given = (array, self.whole_of_rows(array, shape)?);
        let all = in_rows(shape, picks.len())?;
        let kernel = kernels::picked(shape, picks);
        let id = self.kernel(operation, kernel, vec![given], &all, into)?;
        self.rows_in(rows, id, (shape, &of), into)
    }

    /// A collective over values that are taken apart for it and joined again.
    fn collective_of_values(
        &mut self,
        rows: &mut Rows,
        (scope, kind): (&mut Scope<'m>, CollectiveKind),
        operation: &'m Operation,
        into: &mut Subgraph,
    ) -> Result<()> {
        let count = rows.participants();
        let mut scopes: Vec<Scope<'m>> = (0..count).map(|_| scope.emptied()).collect();
        for &operand in &operation.operands {
            let (value, shape) = scope.binding(operand)?.array()?;
            let shape = shape.clone();
            let (array, of) = self.array_of(rows, value, into)?;
            let mut known: HashMap<usize, ValueId> = HashMap::new();
            for (place, row) in scopes.iter_mut().zip(&of) {
                let id = match known.get(row) {
                    Some(&id) => id,
                    None if rows.values.contains_key(&value) => {
                        self.row_of(rows, (array, *row), &shape, into)?
                    }
                    None => value,
                };
                known.insert(*row, id);
                place.bind(operand, Binding::Array(id, shape.clone()))?;
            }
        }
        let numbers = (0..count).collect();
        let mut participants = Participants { group: Arc::clone(&rows.group), numbers, scopes };
        self.collective(&mut participants, kind, operation, into)?;
        for &result in &operation.results {
            let made = participants.arrays(result)?;
            let shape = made[0].1.clone();
            let mut distinct: Vec<(ValueId, Shape)> = Vec::new();
            let mut known: HashMap<ValueId, usize> = HashMap::new();
            let mut of = Vec::with_capacity(count);
            for (id, shape) in made {
                let next = distinct.len();
                let number = *known.entry(id).or_insert(next);
                if number == next {
                    distinct.push((id, in_rows(&shape, 1)?));
                }
                of.push(number);
            }
            let whole = in_rows(&shape, distinct.len())?;
            let id = if let [(id, _)] = &distinct[..] {
                *id
            } else {
                let mut shards = vec![1; whole.rank()];
                shards[0] = distinct.len();
                let join = across::join(&distinct[0].1.clone(), &whole, &shards);
                self.kernel(operation, join, distinct, &whole, into)?
            };
            let id = self.rows_in(rows, id, (&shape, &of), into)?;
            let binding = Binding::Array(id, shape);
            binding.check(scope.type_of(result)?)?;
            scope.bind(result, binding)?;
        }
        Ok(())
    }
}

impl Rows {
    /// Groups of devices as groups of participants.
    pub(super) fn groups(
        &self,
        operation: &Operation,
        devices: &[Vec<usize>],
    ) -> Result<Vec<Vec<usize>>> {
        let mut found: Vec<Vec<usize>> = Vec::new();
        let mut known: HashSet<Vec<usize>> = HashSet::new();
        for group in devices {
            let participant = |&device: &usize| self.group.of.get(device).copied().flatten();
            let places: Option<Vec<usize>> = group.iter().map(participant).collect();
            let mut seen: HashMap<usize, usize> = HashMap::new();
            let places = places.filter(|places| {
                let mut members = places.iter().zip(group);
                members.all(|(&place, &device)| *seen.entry(place).or_insert(device) == device)
            });
            let Some(places) = places else {
                let what = format!("over devices {group:?}, of which some run the same code");
                return Err(Error::Unimplemented(format!("{} {what}", operation.name)));
            };
            if known.insert(places.clone()) {
                found.push(places);
            }
        }
        Ok(found)
    }

    /// Whether each participant is in one group.
    fn is_covered(&self, operation: &Operation, groups: &[Vec<usize>]) -> Result<()> {
        let name = &operation.name;
        let called = |device| format!("device {device}");
        let found = memberships_of_some(name, groups, self.participants(), called)?;
        if found.contains(&None) {
            return Err(Error::Unimplemented(format!("{name}: devices in no group")));
        }
        Ok(())
    }
}

/// A shape with one axis in equal parts.
fn divided(operation: &Operation, shape: &Shape, (axis, count): (usize, usize)) -> Result<Shape> {
    if !shape.dims[axis].is_multiple_of(count) {
        let name = &operation.name;
        return Err(Error::bad(format!("{name}: axis {axis} of {shape} in {count} parts")));
    }
    let mut part = shape.clone();
    part.dims[axis] /= count;
    Ok(part)
}

/// A shape with one axis so many times as long.
fn grown(operation: &Operation, shape: &Shape, (axis, count): (usize, usize)) -> Result<Shape> {
    let mut whole = shape.clone();
    whole.dims[axis] = whole.dims[axis].saturating_mul(count);
    let bytes = whole.dims.iter().fold(16_usize, |all, &dim| all.saturating_mul(dim.max(1)));
    if isize::try_from(bytes).is_err() {
        return Err(Error::bad(format!("{} gives an array past 2^63 bytes", operation.name)));
    }
    Ok(whole)
}
