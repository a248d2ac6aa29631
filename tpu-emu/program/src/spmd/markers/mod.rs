//! Code that runs per device between XLA's markers `SPMDFullToShardShape` and
//! `SPMDShardToFullShape`, as jaxlib up to 0.6 writes it.
#[cfg(test)]
mod tests;

use super::super::graph::{Subgraph, ValueId};
use super::super::import::Loader;
use super::super::import::control::bind_all;
use super::super::import::scope::{Binding, Scope};
pub(crate) use super::manual::Participants;
use super::manual::is_manual;
use crate::sharding::Sharding;
use crate::sharding::zones::zones;
use std::collections::HashMap;
use tpu_base::error::{Error, Result};
use tpu_base::tensor::{DType, Shape};
use tpu_ops::{DeviceDependence, Operator, ShardingRule, callee};
use tpu_stablehlo::ir::{Operation, Value};

/// Whether code per device begins or ends with an operation.
pub(super) fn is_marker(operation: &Operation) -> bool {
    matches!(rule(operation), Some(ShardingRule::Split | ShardingRule::Join))
}

/// What an operation of the tables says of shardings.
fn rule(operation: &Operation) -> Option<ShardingRule> {
    Operator::of(operation).row().map(|entry| entry.sharding)
}

/// JAX's name for a function that is the body of a `shard_map`.
const BODY: &str = "shmap_body";

impl<'m> Loader<'m> {
    /// An operation outside of Shardy's regions that has to do with one device's part of an
    /// array. Whether it was one.
    pub(crate) fn marked(
        &mut self,
        scope: &mut Scope<'m>,
        operation: &'m Operation,
        into: &mut Subgraph,
    ) -> Result<bool> {
        if let (Some(number), [result]) = (self.own_number, &operation.results[..])
            && self.asks_own_number(operation)
        {
            let binding = Binding::Array(number, Shape::scalar(DType::U32));
            binding.check(scope.type_of(*result)?)?;
            scope.bind(*result, binding)?;
            return Ok(true);
        }
        if self.devices.replicas {
            if is_manual(operation) && self.devices.only.is_some() {
                let what = format!("{} of a replica that runs by itself", operation.name);
                return Err(Error::Unimplemented(what));
            }
            let Some(entry) = Operator::of(operation).row() else { return Ok(false) };
            match (entry.devices, self.devices.only) {
                (DeviceDependence::ReplicaId, only) => {
                    let replica = only.unwrap_or(self.partition);
                    self.device_number(scope, operation, replica, into)?;
                }
                (DeviceDependence::PartitionId, _) => {
                    self.device_number(scope, operation, 0, into)?;
                }
                (DeviceDependence::Collective(kind), Some(replica)) => {
                    self.exchanged(scope, (replica, kind), operation, into)?;
                }
                _ => return Ok(false),
            }
            return Ok(true);
        }
        if self.partition_context {
            return Ok(false);
        }
        let rule = rule(operation);
        if let (Some(ShardingRule::Annotated), [operand], [result]) =
            (rule, &operation.operands[..], &operation.results[..])
        {
            let stated = operation.attributes.text("mhlo.sharding");
            if let Some(stated) = stated.filter(|_| !scope.has_parts(*operand)) {
                scope.state_sharding(*result, stated);
            }
        }
        match (rule, &operation.operands[..]) {
            (Some(ShardingRule::Split), [operand]) if !scope.has_parts(*operand) => {
                self.split_whole(scope, operation, *operand, into)?;
                Ok(true)
            }
            (Some(ShardingRule::Join), [operand]) if scope.has_parts(*operand) => {
                self.join_parts(scope, operation, *operand, into)?;
                Ok(true)
            }
            _ => {
                let parts = operation.operands.iter().any(|&operand| scope.has_parts(operand));
                let body = callee(operation).is_some_and(|of| of.starts_with(BODY));
                if parts || body {
                    self.on_parts(scope, operation, into)?;
                }
                Ok(parts || body)
            }
        }
    }

    fn split_whole(
        &mut self,
        scope: &mut Scope<'m>,
        operation: &'m Operation,
        operand: Value,
        into: &mut Subgraph,
    ) -> Result<()> {
        let count = self.devices.count;
        let binding = scope.binding(operand)?;
        let wholes: Vec<_> = (0..count).map(|device| (device, binding.on(device))).collect();
        let parts = self.split(operation, &wholes, scope.sharding_of(operand), into)?;
        let &[result] = &operation.results[..] else {
            return Err(Error::bad(format!("{} without one result", operation.name)));
        };
        let of = scope.type_of(result)?;
        parts.iter().try_for_each(|part| part.check(of))?;
        scope.bind_parts(result, parts);
        Ok(())
    }

    /// The parts of devices of what each has as a whole.
    fn split(
        &mut self,
        operation: &'m Operation,
        wholes: &[(usize, Binding)],
        stated: Option<&str>,
        into: &mut Subgraph,
    ) -> Result<Vec<Binding>> {
        let count = self.devices.count;
        let Some((_, first)) = wholes.first() else { return Ok(Vec::new()) };
        let rank = first.array()?.1.rank();
        let sharding = match stated {
            Some(text) => Sharding::parse(text, rank, count)?,
            None => Sharding::replicated(rank, count),
        };
        let mut made: HashMap<(ValueId, usize), Binding> = HashMap::new();
        let mut parts = Vec::with_capacity(wholes.len());
        for (device, whole) in wholes {
            let (value, shape) = whole.array()?;
            let key = (value, sharding.part(*device));
            let part = match made.get(&key) {
                Some(part) => part.clone(),
                None => self.shard(operation, (value, shape), &sharding, *device, into)?,
            };
            made.insert(key, part.clone());
            parts.push(part);
        }
        Ok(parts)
    }

    fn join_parts(
        &mut self,
        scope: &mut Scope<'m>,
        operation: &'m Operation,
        operand: Value,
        into: &mut Subgraph,
    ) -> Result<()> {
        let parts = scope.parts_of(operand)?;
        let wholes = self.join(operation, &parts, into)?;
        let whole = self.agreed_on(wholes);
        bind_all(scope, operation, vec![whole])
    }

    /// The whole as each device sees it.
    fn join(
        &mut self,
        operation: &'m Operation,
        parts: &[Binding],
        into: &mut Subgraph,
    ) -> Result<Vec<Binding>> {
        let count = self.devices.count;
        let rank = parts[0].array()?.1.rank();
        let stated = operation.attributes.text("mhlo.sharding");
        let sharding = Sharding::parse(stated.unwrap_or("{replicated}"), rank, count)?;
        let parts: Vec<Option<&Binding>> = parts.iter().map(Some).collect();
        let (zone, all): (Vec<usize>, Vec<usize>) = (vec![0; count], (0..count).collect());
        self.seen(operation, &parts, (&sharding, &zone, &all), into)
    }

    /// The arrays of code that runs per device along some axes, from the parts of code inside of
    /// it that runs per device along more.
    fn join_inside(
        &mut self,
        operation: &'m Operation,
        placed: &[(usize, Binding)],
        stated: &str,
        into: &mut Subgraph,
    ) -> Result<Vec<Binding>> {
        let count = self.devices.count;
        let Some((_, first)) = placed.first() else { return Ok(Vec::new()) };
        let sharding = Sharding::parse(stated, first.array()?.1.rank(), count)?;
        let zone = zones(stated, count)?;
        let mut parts = vec![None; count];
        placed.iter().for_each(|(device, part)| parts[*device] = Some(part));
        let devices: Vec<usize> = placed.iter().map(|(device, _)| *device).collect();
        self.seen(operation, &parts, (&sharding, &zone, &devices), into)
    }

    /// The devices that have to do with one another in a marker inside of code per device.
    pub(super) fn marked_groups(&self, operation: &Operation) -> Result<Vec<Vec<usize>>> {
        let count = self.devices.count;
        let stated = operation.attributes.text("mhlo.sharding").unwrap_or("{replicated}");
        if rule(operation) == Some(ShardingRule::Split) {
            return Ok(vec![(0..count).collect()]);
        }
        let mut groups = vec![Vec::new(); count];
        zones(stated, count)?.iter().enumerate().for_each(|(at, &zone)| groups[zone].push(at));
        groups.retain(|group| !group.is_empty());
        Ok(groups)
    }

    /// What has to do with markers in code over whole arrays of which every device has its own
    /// copy, or inside of code that runs per device. Whether it was such.
    pub(super) fn marker(
        &mut self,
        participants: &mut Participants<'m>,
        operation: &'m Operation,
        into: &mut Subgraph,
    ) -> Result<bool> {
        let rule = rule(operation);
        let (&[operand], &[result]) = (&operation.operands[..], &operation.results[..]) else {
            return Ok(false);
        };
        let stated = operation.attributes.text("mhlo.sharding");
        if let (Some(ShardingRule::Annotated), Some(stated)) = (rule, stated) {
            participants.scopes.iter_mut().for_each(|scope| scope.state_sharding(result, stated));
        }
        if !is_marker(operation) {
            return Ok(false);
        }
        let given = participants.scopes.iter().map(|scope| scope.binding(operand).cloned());
        let given = given.collect::<Result<Vec<_>>>()?;
        let devices = (0..given.len()).map(|place| participants.device(place));
        let placed: Vec<(usize, Binding)> = devices.zip(given.iter().cloned()).collect();
        let made = if rule == Some(ShardingRule::Split) {
            let stated = participants.scopes[0].sharding_of(operand);
            self.split(operation, &placed, stated, into)?
        } else if participants.group.whole {
            self.join(operation, &given, into)?
        } else {
            self.join_inside(operation, &placed, stated.unwrap_or("{replicated}"), into)?
        };
        for (scope, made) in participants.scopes.iter_mut().zip(made) {
            bind_all(scope, operation, vec![made])?;
        }
        Ok(true)
    }

    /// An operation on parts: what is whole is the same on every device.
    fn on_parts(
        &mut self,
        scope: &mut Scope<'m>,
        operation: &'m Operation,
        into: &mut Subgraph,
    ) -> Result<()> {
        let count = self.devices.count;
        let scopes = (0..count).map(|device| scope.of_device(device)).collect();
        let mut participants = Participants::each(count, scopes);
        self.partition_context = true;
        let done = self.together(&mut participants, operation, into);
        self.partition_context = false;
        self.partition = 0;
        done?;
        for &result in &operation.results {
            let parts = participants.scopes.iter().map(|scope| scope.binding(result).cloned());
            scope.bind_parts(result, parts.collect::<Result<Vec<_>>>()?);
        }
        Ok(())
    }
}
