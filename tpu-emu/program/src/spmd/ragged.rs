//! Slices of lengths that the data tells, from each device of a group to each.
use super::super::graph::{Node, NodeKind, Subgraph, ValueId};
use super::super::import::Loader;
use super::super::import::control::bind_all;
use super::super::import::scope::{Binding, Scope};
use super::own::own_group;
use super::participants::Participants;
use crate::sharding::groups::{groups, memberships};
use tpu_base::error::{Error, Result};
use tpu_base::tensor::Shape;
use tpu_ops::exchange::Then;
use tpu_ops::{CollectiveKind, custom, name_of};
use tpu_stablehlo::ir::{Operation, Value};

const KIND: CollectiveKind = CollectiveKind::RaggedAllToAll;

impl<'m> Loader<'m> {
    /// `ragged_all_to_all` over the participants.
    pub(super) fn ragged(
        &mut self,
        participants: &mut Participants<'m>,
        operation: &'m Operation,
        into: &mut Subgraph,
    ) -> Result<()> {
        let result = one_result(operation)?;
        let of_devices = groups(operation, KIND, self.module, self.devices)?;
        let groups = participants.groups(operation, &of_devices)?;
        let called = |place| format!("device {}", participants.device(place));
        memberships(name_of(operation), &groups, participants.scopes.len(), called)?;
        for group in &groups {
            let mut operands = Vec::new();
            for &place in group {
                for &operand in &operation.operands {
                    let (id, shape) = participants.scopes[place].binding(operand)?.array()?;
                    operands.push((id, shape.clone()));
                }
            }
            let devices: Vec<usize> =
                group.iter().map(|&place| participants.device(place)).collect();
            let places = (0..group.len()).collect();
            let received = self.received_slices(operation, operands, (&devices, places), into)?;
            for (&place, binding) in group.iter().zip(received) {
                let scope = &mut participants.scopes[place];
                binding.check(scope.type_of(result)?)?;
                scope.bind(result, binding)?;
            }
        }
        Ok(())
    }

    /// `ragged_all_to_all` of the replica that code is emitted for.
    pub(super) fn ragged_exchange(
        &mut self,
        scope: &mut Scope<'m>,
        replica: usize,
        operation: &'m Operation,
        into: &mut Subgraph,
    ) -> Result<()> {
        one_result(operation)?;
        let groups = groups(operation, KIND, self.module, self.devices)?;
        let (group, place) = own_group(operation, replica, self.devices, &groups)?;
        let mut given: Vec<Vec<(ValueId, Shape)>> = vec![Vec::new(); group.len()];
        for &operand in &operation.operands {
            let (value, shape) = scope.binding(operand)?.array()?;
            let shape = shape.clone();
            let then = Then::Keep((0..group.len()).collect());
            let collective = self.collective_of(operation, &shape, (&groups, group.clone()));
            let all =
                self.meeting(operation, (collective, then), (value, &shape), group.len(), into)?;
            for (given, id) in given.iter_mut().zip(all) {
                given.push((id, shape.clone()));
            }
        }
        let operands = given.into_iter().flatten().collect();
        let made = self.received_slices(operation, operands, (&group, vec![place]), into)?;
        bind_all(scope, operation, made)
    }

    /// What the devices at some places of a group have afterwards; with the operands of all,
    /// device by device.
    fn received_slices(
        &mut self,
        operation: &Operation,
        operands: Vec<(ValueId, Shape)>,
        (devices, places): (&[usize], Vec<usize>),
        into: &mut Subgraph,
    ) -> Result<Vec<Binding>> {
        let name = name_of(operation);
        let (operands, shapes): (Vec<ValueId>, Vec<Shape>) = operands.into_iter().unzip();
        let mut members = shapes.chunks(operation.operands.len().max(1));
        let first = members.next().unwrap_or_default();
        if let Some(at) = members.position(|shapes| shapes != first) {
            let (one, other) = (devices[0], devices[at + 1]);
            let what = format!("{name}: devices {one} and {other} have operands of other shapes");
            return Err(Error::bad(what));
        }
        let count = places.len();
        let kernel = custom::ragged(name, first, devices, places)?;
        let output = first[1].clone();
        self.count_nodes(1)?;
        let results: Vec<ValueId> = (0..count).map(|_| self.graph.add(output.clone())).collect();
        into.nodes.push(Node {
            work: NodeKind::Kernel(kernel.into()),
            operands,
            shapes,
            results: results.clone(),
            name: name.into(),
            location: operation.location,
            effect: false,
        });
        Ok(results.into_iter().map(|id| Binding::Array(id, output.clone())).collect())
    }
}

/// The one result that the operation has.
fn one_result(operation: &Operation) -> Result<Value> {
    match operation.results[..] {
        [result] => Ok(result),
        _ => {
            let (name, had) = (name_of(operation), operation.results.len());
            Err(Error::bad(format!("{name} has {had} results and gives 1")))
        }
    }
}
