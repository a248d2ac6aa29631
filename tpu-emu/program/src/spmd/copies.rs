//! Arrays that every device has whole and that differ between devices: what code that runs per
//! device gives with fewer axes of the mesh than it has. Every device goes on with its own copy.
use super::super::graph::{NodeKind, Subgraph, ValueId};
use super::super::import::Loader;
use super::super::import::control::region;
use super::super::import::scope::{Binding, Scope};
pub(crate) use super::manual::Participants;
use super::manual::is_manual;
use super::replicas::of_parameters;
use crate::sharding::Sharding;
use crate::sharding::groups::communicates;
use crate::sharding::io_shardings::IoSharding;
use std::collections::HashSet;
use std::sync::Arc;
use tpu_base::error::Result;
use tpu_base::tensor::Shape;
use tpu_kernels::movement::strided_view::Access;
use tpu_ops::{DeviceDependence, Operator, callee};
use tpu_stablehlo::ir::{LocationId, Operation, Region, Value};

/// What an operation has made for participants: of which arrays, and what.
#[derive(Default)]
pub(super) struct Made(Vec<(Vec<ValueId>, Vec<Binding>)>);

impl Made {
    /// Binds what was made of the same arrays. Whether there was such.
    pub(super) fn bind(
        &self,
        read: Option<&Vec<ValueId>>,
        operation: &Operation,
        scopes: &mut [Scope<'_>],
    ) -> Result<bool> {
        let found = self.0.iter().find(|(other, _)| Some(other) == read);
        let Some((_, results)) = found else { return Ok(false) };
        let mut results = results.iter();
        for scope in scopes {
            for (&result, binding) in operation.results.iter().zip(&mut results) {
                scope.bind(result, binding.clone())?;
            }
        }
        Ok(true)
    }

    /// Notes what was made.
    pub(super) fn note(
        &mut self,
        read: Option<Vec<ValueId>>,
        operation: &Operation,
        scopes: &[Scope<'_>],
    ) -> Result<()> {
        let Some(read) = read else { return Ok(()) };
        let mut results = Vec::new();
        for scope in scopes {
            for &result in &operation.results {
                results.push(scope.binding(result)?.clone());
            }
        }
        self.0.push((read, results));
        Ok(())
    }
}

impl<'m> Loader<'m> {
    /// An operation over whole arrays of which some differ between devices: once for each, where
    /// that is not the same.
    pub(crate) fn on_copies(
        &mut self,
        scope: &mut Scope<'m>,
        operation: &'m Operation,
        into: &mut Subgraph,
    ) -> Result<()> {
        let count = self.devices.count;
        let scopes = (0..count).map(|device| scope.of_device(device)).collect();
        let mut participants = Participants::copies(count, scopes);
        let before = std::mem::replace(&mut self.partition_context, true);
        let done = self.together(&mut participants, operation, into);
        self.partition_context = before;
        self.partition = 0;
        done?;
        for &result in &operation.results {
            let copies = participants.scopes.iter().map(|scope| scope.binding(result).cloned());
            let copies = self.agreed_on(copies.collect::<Result<Vec<_>>>()?);
            scope.bind(result, copies)?;
        }
        Ok(())
    }

    /// A parameter that has a row for each copy, as the devices see it.
    pub(crate) fn copies_in_rows(
        &mut self,
        location: LocationId,
        rows: &IoSharding,
        main: &mut Subgraph,
    ) -> Result<Binding> {
        let operation = Operation { location, ..of_parameters() };
        let value = self.graph.add(rows.whole.clone());
        main.parameters.push(value);
        let row = Shape::new(rows.whole.dtype, rows.whole.dims[1..].to_vec());
        let strides = row.strides();
        let signed = |&stride: &usize| isize::try_from(stride).unwrap_or(isize::MAX);
        let strides: Vec<isize> = strides.iter().map(signed).collect();
        let mut copies = Vec::new();
        for at in 0..rows.sharding.shards[0] {
            let offset = at * row.elements();
            let work = NodeKind::Access(Access { offset, strides: strides.clone() });
            let operands = vec![(value, rows.whole.clone())];
            copies.push(Binding::Array(
                self.node(&operation, work, operands, &row, main)?,
                row.clone(),
            ));
        }
        let of = |place: &Vec<usize>| copies[place[0]].clone();
        Ok(Binding::Copies(rows.sharding.places.iter().map(of).collect()))
    }

    /// Whether an operation over whole arrays has one among its operands, or inside of its
    /// regions, that differs between devices.
    pub(crate) fn reads_copies(&self, scope: &Scope<'m>, operation: &Operation) -> bool {
        let differs =
            |&value: &Value| scope.binding(value).is_ok_and(|binding| binding.has_copies());
        operation.operands.iter().any(differs)
            || read_inside(&operation.regions).iter().any(differs)
    }

    /// One array, if all devices have the same one; else their copies.
    pub(super) fn agreed_on(&mut self, mut copies: Vec<Binding>) -> Binding {
        let first = self.key(&copies[..1]);
        if copies[1..].iter().all(|copy| self.key(std::slice::from_ref(copy)) == first) {
            return copies.swap_remove(0);
        }
        Binding::Copies(copies)
    }

    /// The arrays of bindings by which they are compared: known ones with the same bytes are one.
    pub(super) fn key(&mut self, bindings: &[Binding]) -> Vec<ValueId> {
        let mut leaves = Vec::new();
        bindings.iter().for_each(|binding| binding.leaves(&mut leaves));
        for leaf in &mut leaves {
            if let Some(known) = &self.graph.value(*leaf).known {
                *leaf = *self.constants.entry(Arc::clone(known)).or_insert(*leaf);
            }
        }
        leaves
    }

    /// What an operation makes for some participants depends on this alone; `None`, if it
    /// may depend on the participant.
    pub(super) fn read(
        &mut self,
        scopes: &[Scope<'m>],
        operation: &'m Operation,
    ) -> Option<Vec<ValueId>> {
        if !self.is_alike(operation) {
            return None;
        }
        let inside = read_inside(&operation.regions);
        let mut key = Vec::new();
        for scope in scopes {
            let read = operation.operands.iter().chain(&inside);
            let read: Vec<Binding> =
                read.filter_map(|&value| scope.binding(value).ok().cloned()).collect();
            key.extend(self.key(&read));
        }
        Some(key)
    }

    /// Whether devices that give an operation the same operands get the same results.
    fn is_alike(&mut self, operation: &'m Operation) -> bool {
        let key = std::ptr::from_ref(operation).addr();
        if let Some(&known) = self.alike.get(&key) {
            return known;
        }
        // A function that calls itself is refused where it is called.
        self.alike.insert(key, true);
        let own = match Operator::of(operation) {
            Operator::Structural(_) => true,
            Operator::Row(entry) => {
                let effect = operation.attributes.flag("has_side_effect");
                entry.devices == DeviceDependence::Alike && !effect
            }
            Operator::Registered => false,
            // It is refused, once.
            Operator::Unknown => true,
        };
        let callee = callee(operation).and_then(|name| self.module.function(name));
        let callee = callee.map(|callee| &callee.body);
        let regions = operation.regions.iter().chain(callee);
        let mut inner =
            regions.flat_map(|region| &region.blocks).flat_map(|block| &block.operations);
        let alike = own && inner.all(|inner| self.is_alike(inner));
        self.alike.insert(key, alike);
        alike
    }

    /// Whether code that runs per device has such code inside.
    pub(super) fn nests(&self, operation: &'m Operation) -> bool {
        let mut seen = HashSet::new();
        region(operation, 0).is_ok_and(|region| self.is_manual_inside(region, &mut seen))
    }

    pub(super) fn is_manual_inside(&self, region: &'m Region, seen: &mut HashSet<&'m str>) -> bool {
        let mut inner = region.blocks.iter().flat_map(|block| &block.operations);
        inner.any(|inner| {
            let callee = callee(inner).filter(|callee| seen.insert(callee));
            is_manual(inner)
                || communicates(inner)
                || inner.regions.iter().any(|region| self.is_manual_inside(region, seen))
                || callee
                    .and_then(|name| self.module.function(name))
                    .is_some_and(|callee| self.is_manual_inside(&callee.body, seen))
        })
    }

    /// The whole from the parts of devices, as each of `devices` sees it: of a part that several
    /// have, it takes that of the one which stands to the part's others as it does to its own.
    pub(super) fn seen(
        &mut self,
        operation: &Operation,
        parts: &[Option<&Binding>],
        (sharding, zone, devices): (&Sharding, &[usize], &[usize]),
        into: &mut Subgraph,
    ) -> Result<Vec<Binding>> {
        let mut known: Vec<(Vec<(usize, ValueId)>, Binding)> = Vec::new();
        let mut seen = Vec::with_capacity(devices.len());
        for &device in devices {
            let near = |&other: &usize| zone[other] == zone[device] && parts[other].is_some();
            let near: Vec<usize> = (0..parts.len()).filter(near).collect();
            let rank = |at: usize| {
                let before = near.iter().take_while(|&&other| other < at);
                before.filter(|&&other| sharding.part(other) == sharding.part(at)).count()
            };
            let mine = rank(device);
            let taken: Vec<(usize, Binding)> = near
                .iter()
                .filter(|&&other| rank(other) == mine)
                .filter_map(|&other| Some((other, parts[other]?.clone())))
                .collect();
            let mut key = Vec::new();
            for (other, part) in &taken {
                let leaves = self.key(std::slice::from_ref(part));
                key.extend(leaves.into_iter().map(|leaf| (sharding.part(*other), leaf)));
            }
            key.sort_unstable();
            if let Some((_, whole)) = known.iter().find(|(other, _)| *other == key) {
                seen.push(whole.clone());
                continue;
            }
            let whole = self.joined(operation, &taken, sharding, into)?;
            known.push((key, whole.clone()));
            seen.push(whole);
        }
        Ok(seen)
    }
}

/// The values that regions read from around them.
fn read_inside(regions: &[Region]) -> Vec<Value> {
    let (mut read, mut own) = (Vec::new(), HashSet::new());
    read_in(regions, &mut read, &mut own);
    read.retain(|value| !own.contains(value));
    read
}

fn read_in(regions: &[Region], read: &mut Vec<Value>, own: &mut HashSet<Value>) {
    for block in regions.iter().flat_map(|region| &region.blocks) {
        own.extend(&block.arguments);
        for inner in &block.operations {
            read.extend(&inner.operands);
            own.extend(&inner.results);
            read_in(&inner.regions, read, own);
        }
    }
}
