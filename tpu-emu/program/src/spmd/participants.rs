//! The devices that go through the same code, operation by operation.
use super::super::graph::ValueId;
use super::super::import::scope::{Binding, Scope};
use std::sync::Arc;
use tpu_base::error::{Error, Result};
use tpu_base::tensor::Shape;
use tpu_stablehlo::ir::{self, Operation};

/// Who runs the same code: devices that differ only along axes that are not manual are one
/// participant.
#[derive(Debug)]
pub(crate) struct ManualGroup {
    /// The first device of each participant.
    pub(super) ids: Vec<usize>,
    /// The participant of each device; none for devices that run other code.
    pub(super) of: Vec<Option<usize>>,
    /// Devices in different zones are at different places of the mesh for all of the group's code.
    pub(super) zone: Vec<usize>,
    /// Whether the participants go through code over whole arrays, each with its own copies.
    pub(super) whole: bool,
}

impl ManualGroup {
    /// Every device is a participant.
    pub(super) fn alone(devices: usize, whole: bool) -> Self {
        let (ids, of) = ((0..devices).collect(), (0..devices).map(Some).collect());
        Self { ids, of, zone: vec![0; devices], whole }
    }
}

/// Some participants of a group, with what values stand for on each.
pub(crate) struct Participants<'m> {
    pub(super) group: Arc<ManualGroup>,
    pub(super) numbers: Vec<usize>,
    pub(super) scopes: Vec<Scope<'m>>,
}

impl<'m> Participants<'m> {
    /// All devices as one.
    pub(super) fn whole(devices: usize, scope: Scope<'m>) -> Self {
        let (of, zone) = (vec![Some(0); devices], vec![0; devices]);
        let group = ManualGroup { ids: vec![0], of, zone, whole: true };
        Self { group: Arc::new(group), numbers: vec![0], scopes: vec![scope] }
    }

    /// Every device by itself.
    pub(super) fn each(devices: usize, scopes: Vec<Scope<'m>>) -> Self {
        Self::alone(devices, scopes, false)
    }

    /// Every device with its own copies of whole arrays.
    pub(super) fn copies(devices: usize, scopes: Vec<Scope<'m>>) -> Self {
        Self::alone(devices, scopes, true)
    }

    fn alone(devices: usize, scopes: Vec<Scope<'m>>, whole: bool) -> Self {
        let group = ManualGroup::alone(devices, whole);
        Self { group: Arc::new(group), numbers: (0..devices).collect(), scopes }
    }

    /// Those at these places, which are away until they are put back.
    pub(super) fn take(&mut self, places: &[usize]) -> Self {
        let take = |&at: &usize| self.scopes[at].taken();
        let scopes = places.iter().map(take).collect();
        let numbers = places.iter().map(|&at| self.numbers[at]).collect();
        Self { group: Arc::clone(&self.group), numbers, scopes }
    }

    pub(super) fn put_back(&mut self, places: &[usize], part: Self) {
        for (&at, scope) in places.iter().zip(part.scopes) {
            self.scopes[at] = scope;
        }
    }

    /// The first device of the participant at a place.
    pub(super) fn device(&self, place: usize) -> usize {
        self.group.ids[self.numbers[place]]
    }

    /// The arrays that a value stands for, by participant.
    pub(super) fn arrays(&self, value: ir::Value) -> Result<Vec<(ValueId, Shape)>> {
        let array = |scope: &Scope<'m>| {
            let (id, shape) = scope.binding(value)?.array()?;
            Ok((id, shape.clone()))
        };
        self.scopes.iter().map(array).collect()
    }

    /// The devices of each.
    pub(super) fn devices(&self) -> Vec<Vec<usize>> {
        let mut devices = vec![Vec::new(); self.group.ids.len()];
        for (device, of) in self.group.of.iter().enumerate() {
            of.iter().for_each(|&participant| devices[participant].push(device));
        }
        self.numbers.iter().map(|&number| std::mem::take(&mut devices[number])).collect()
    }

    pub(super) fn bindings(&self, values: &[ir::Value]) -> Result<Vec<Vec<Binding>>> {
        let of = |scope: &Scope<'m>| {
            values.iter().map(|&value| scope.binding(value).cloned()).collect::<Result<Vec<_>>>()
        };
        self.scopes.iter().map(of).collect()
    }

    /// Groups of devices as groups of places in this group; those of other groups are left out.
    pub(super) fn groups(
        &self,
        operation: &Operation,
        devices: &[Vec<usize>],
    ) -> Result<Vec<Vec<usize>>> {
        let mut found: Vec<Vec<usize>> = Vec::new();
        for group in devices {
            let participant = |&device: &usize| self.group.of.get(device).copied().flatten();
            let numbers: Vec<Option<usize>> = group.iter().map(participant).collect();
            let place = |participant: &Option<usize>| {
                self.numbers.iter().position(|known| Some(*known) == *participant)
            };
            let places: Vec<usize> = numbers.iter().filter_map(place).collect();
            if places.is_empty() {
                continue;
            }
            let repeated = (1..places.len()).any(|at| {
                (0..at).any(|before| places[before] == places[at] && group[before] != group[at])
            });
            if places.len() != numbers.len() || repeated {
                let what = format!("over devices {group:?}, of which some run the same code");
                return Err(Error::Unimplemented(format!("{} {what}", operation.name)));
            }
            if !found.contains(&places) {
                found.push(places);
            }
        }
        Ok(found)
    }
}
