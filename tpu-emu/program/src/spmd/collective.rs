//! Collectives as operations over the values of a group's participants.
use super::super::graph::{Subgraph, ValueId};
use super::super::import::Loader;
use super::super::import::control::region;
use super::super::import::scope::{Binding, Scope};
pub(crate) use super::manual::Participants;
use crate::sharding::groups::{groups, memberships};
use tpu_base::error::{Error, Result};
use tpu_base::tensor::Shape;
use tpu_ops::{CollectiveKind, Kernel, across};
use tpu_stablehlo::ir::Operation;

/// The values of a group's participants, in the group's order.
type ParticipantValues = Vec<(ValueId, Shape)>;

impl<'m> Loader<'m> {
    /// A collective over the participants.
    pub(super) fn collective(
        &mut self,
        participants: &mut Participants<'m>,
        kind: CollectiveKind,
        operation: &'m Operation,
        into: &mut Subgraph,
    ) -> Result<()> {
        if kind == CollectiveKind::RaggedAllToAll {
            return self.ragged(participants, operation, into);
        }
        if operation.operands.len() != operation.results.len() {
            let (name, had, made) =
                (&operation.name, operation.operands.len(), operation.results.len());
            return Err(Error::bad(format!("{name} has {had} operands and {made} results")));
        }
        let groups =
            participants.groups(operation, &groups(operation, kind, self.module, self.devices)?)?;
        for (&operand, &result) in operation.operands.iter().zip(&operation.results) {
            let arrays = participants.arrays(operand)?;
            if kind == CollectiveKind::CollectivePermute {
                let received = self.permuted(operation, &arrays, &groups, into)?;
                for (scope, (id, shape)) in participants.scopes.iter_mut().zip(received) {
                    scope.bind(result, Binding::Array(id, shape))?;
                }
                continue;
            }
            let called = |place| format!("device {}", participants.device(place));
            memberships(&operation.name, &groups, arrays.len(), called)?;
            // Groups of participants with the same arrays are given the same.
            let mut known: Vec<(Vec<ValueId>, ParticipantValues)> = Vec::new();
            for group in &groups {
                let values: ParticipantValues =
                    group.iter().map(|&place| arrays[place].clone()).collect();
                let ids: Vec<ValueId> = values.iter().map(|(id, _)| *id).collect();
                let made = match known.iter().find(|(other, _)| *other == ids) {
                    Some((_, made)) => made.clone(),
                    None => self.group(&participants.scopes[0], kind, operation, values, into)?,
                };
                known.push((ids, made.clone()));
                for (&place, (id, shape)) in group.iter().zip(made) {
                    let binding = Binding::Array(id, shape);
                    binding.check(participants.scopes[place].type_of(result)?)?;
                    participants.scopes[place].bind(result, binding)?;
                }
            }
        }
        Ok(())
    }

    /// What each participant of one group receives.
    pub(super) fn group(
        &mut self,
        scope: &Scope<'m>,
        kind: CollectiveKind,
        operation: &'m Operation,
        values: ParticipantValues,
        into: &mut Subgraph,
    ) -> Result<ParticipantValues> {
        let count = values.len();
        let shape = values[0].1.clone();
        let axis = |name: &str| axis(operation, name, &shape);
        Ok(match kind {
            CollectiveKind::AllReduce | CollectiveKind::ReduceScatter => {
                let reduced = self.reduced(scope, operation, values, into)?;
                self.after_reduction(kind, operation, reduced, count, into)?
            }
            CollectiveKind::AllGather => {
                let axis = axis("all_gather_dim")?;
                vec![self.side_by_side(operation, values, axis, into)?; count]
            }
            CollectiveKind::CollectiveBroadcast => {
                if operation.attributes.flag("has_dynamic_root") {
                    let what = format!("{}: has_dynamic_root", operation.name);
                    return Err(Error::Unimplemented(what));
                }
                vec![values[0].clone(); count]
            }
            CollectiveKind::AllToAll => {
                let (split, concat) = (axis("split_dimension")?, axis("concat_dimension")?);
                let parts = index(operation, "split_count")?;
                if parts != count {
                    let name = &operation.name;
                    return Err(Error::bad(format!("{name}: {parts} parts for {count} devices")));
                }
                let mut sent = Vec::new();
                for (id, shape) in &values {
                    sent.push(self.parts(operation, (*id, shape), split, count, into)?);
                }
                let mut received = Vec::new();
                for participant in 0..count {
                    let parts = sent.iter().map(|parts| parts[participant].clone()).collect();
                    received.push(self.side_by_side(operation, parts, concat, into)?);
                }
                received
            }
            CollectiveKind::CollectivePermute
            | CollectiveKind::CrossReplicaSum
            | CollectiveKind::RaggedAllToAll => {
                return Err(Error::Unimplemented(format!("{} of devices", operation.name)));
            }
        })
    }

    /// What each participant has of a reduced array: all of it, or its part.
    pub(super) fn after_reduction(
        &mut self,
        kind: CollectiveKind,
        operation: &'m Operation,
        (id, shape): (ValueId, Shape),
        count: usize,
        into: &mut Subgraph,
    ) -> Result<ParticipantValues> {
        if kind != CollectiveKind::ReduceScatter {
            return Ok(vec![(id, shape); count]);
        }
        let axis = axis(operation, "scatter_dimension", &shape)?;
        self.parts(operation, (id, &shape), axis, count, into)
    }

    /// The computation over all values.
    fn reduced(
        &mut self,
        scope: &Scope<'m>,
        operation: &'m Operation,
        values: ParticipantValues,
        into: &mut Subgraph,
    ) -> Result<(ValueId, Shape)> {
        let shape = values[0].1.clone();
        let kernel = self.reduction_of(scope, operation, &shape, values.len())?;
        if values.len() == 1 {
            return Ok(values[0].clone());
        }
        let id = self.kernel(operation, kernel, values, &shape, into)?;
        Ok((id, shape))
    }

    /// The computation over so many arrays of a shape.
    pub(super) fn reduction_of(
        &self,
        scope: &Scope<'m>,
        operation: &'m Operation,
        shape: &Shape,
        count: usize,
    ) -> Result<Box<dyn Kernel>> {
        let body = self.body(scope, region(operation, 0)?, &operation.name, None)?;
        let scalar = Shape::scalar(shape.dtype);
        let fits = body.parameters() == [scalar.clone(), scalar.clone()];
        if !fits || body.results() != [scalar] {
            let (name, given, made) = (&operation.name, body.parameters(), body.results());
            let what = format!("{name} of {shape} by a computation from {given:?} to {made:?}");
            return Err(Error::Unimplemented(what));
        }
        Ok(across::reduction(body, shape, count))
    }

    fn side_by_side(
        &mut self,
        operation: &'m Operation,
        values: ParticipantValues,
        axis: usize,
        into: &mut Subgraph,
    ) -> Result<(ValueId, Shape)> {
        let part = values[0].1.clone();
        if values.len() == 1 {
            return Ok(values[0].clone());
        }
        let mut shards = vec![1; part.rank()];
        shards[axis] = values.len();
        let mut whole = part.clone();
        whole.dims[axis] = whole.dims[axis].saturating_mul(values.len());
        if isize::try_from(
            whole.dims.iter().fold(16_usize, |all, &dim| all.saturating_mul(dim.max(1))),
        )
        .is_err()
        {
            return Err(Error::bad(format!("{} gives an array past 2^63 bytes", operation.name)));
        }
        let kernel = across::join(&part, &whole, &shards);
        let id = self.kernel(operation, kernel, values, &whole, into)?;
        Ok((id, whole))
    }

    /// Equal parts along an axis.
    fn parts(
        &mut self,
        operation: &'m Operation,
        (id, shape): (ValueId, &Shape),
        axis: usize,
        count: usize,
        into: &mut Subgraph,
    ) -> Result<ParticipantValues> {
        if shape.dims[axis] % count != 0 {
            let name = &operation.name;
            return Err(Error::bad(format!("{name}: axis {axis} of {shape} in {count} parts")));
        }
        if count == 1 {
            return Ok(vec![(id, shape.clone())]);
        }
        let mut part = shape.clone();
        part.dims[axis] /= count;
        let mut start = vec![0; shape.rank()];
        let mut parts = Vec::with_capacity(count);
        for _ in 0..count {
            parts.push((self.slice(operation, (id, shape), &start, &part, into)?, part.clone()));
            start[axis] += part.dims[axis];
        }
        Ok(parts)
    }

    /// What each participant receives from the one that sends to it: zeros from nobody.
    fn permuted(
        &mut self,
        operation: &'m Operation,
        arrays: &ParticipantValues,
        pairs: &[Vec<usize>],
        into: &mut Subgraph,
    ) -> Result<ParticipantValues> {
        let mut received: Vec<Option<(ValueId, Shape)>> = vec![None; arrays.len()];
        for pair in pairs {
            let &[from, to] = &pair[..] else {
                return Err(Error::bad(format!("{}: {pair:?} is no pair", operation.name)));
            };
            if received[to].replace(arrays[from].clone()).is_some() {
                return Err(Error::bad(format!("{}: two send to one device", operation.name)));
            }
        }
        let mut zeros: Option<ValueId> = None;
        let mut all = Vec::new();
        for (received, (_, shape)) in received.into_iter().zip(arrays) {
            if let Some(received) = received {
                all.push(received);
                continue;
            }
            let id = match zeros {
                Some(id) => id,
                None => *zeros.insert(self.zeros(operation, shape, into)?),
            };
            all.push((id, shape.clone()));
        }
        Ok(all)
    }
}

/// An attribute that counts.
pub(super) fn index(operation: &Operation, name: &str) -> Result<usize> {
    let missing = || Error::bad(format!("{} has no {name}", operation.name));
    let found = operation.attributes.integer(name);
    found.and_then(|value| usize::try_from(value).ok()).ok_or_else(missing)
}

/// An attribute that names an axis of the operand.
pub(super) fn axis(operation: &Operation, name: &str, shape: &Shape) -> Result<usize> {
    let axis = index(operation, name)?;
    let past = || Error::bad(format!("{}: axis {axis} of {shape}", operation.name));
    (axis < shape.rank()).then_some(axis).ok_or_else(past)
}
