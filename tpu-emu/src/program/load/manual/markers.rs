//! Code that runs per device between XLA's markers `SPMDFullToShardShape` and
//! `SPMDShardToFullShape`, as jaxlib up to 0.6 writes it.
use super::super::super::graph::Block;
use super::super::super::tiling::Tiling;
use super::super::Loader;
use super::super::control::bind_all;
use super::super::scope::{Binding, Scope};
use super::Crew;
use crate::error::{Error, Result};
use tpu_stablehlo::ir::{Operation, Value};

/// JAX's name for a function that is the body of a `shard_map`.
const BODY: &str = "shmap_body";

impl<'m> Loader<'m> {
    /// An operation outside of Shardy's regions that has to do with one device's part of an
    /// array. Whether it was one.
    pub(in super::super) fn marked(
        &mut self,
        scope: &mut Scope<'m>,
        operation: &'m Operation,
        into: &mut Block,
    ) -> Result<bool> {
        if self.devices.replicas {
            let numbered =
                matches!(&*operation.name, "stablehlo.replica_id" | "stablehlo.partition_id");
            return if numbered {
                self.device_number(scope, operation, into).map(|()| true)
            } else {
                Ok(false)
            };
        }
        if self.partition_context {
            return Ok(false);
        }
        let target = match operation.name.ends_with(".custom_call") {
            true => operation.attributes.text("call_target_name").unwrap_or_default(),
            false => "",
        };
        if let ("Sharding", [operand], [result]) =
            (target, &operation.operands[..], &operation.results[..])
        {
            let stated = operation.attributes.text("mhlo.sharding");
            if let Some(stated) = stated.filter(|_| !scope.has_parts(*operand)) {
                scope.state_sharding(*result, stated);
            }
        }
        match (target, &operation.operands[..]) {
            ("SPMDFullToShardShape", [operand]) if !scope.has_parts(*operand) => {
                self.split_whole(scope, operation, *operand, into)?;
                Ok(true)
            }
            ("SPMDShardToFullShape", [operand]) if scope.has_parts(*operand) => {
                self.join_parts(scope, operation, *operand, into)?;
                Ok(true)
            }
            _ => {
                let parts = operation.operands.iter().any(|&operand| scope.has_parts(operand));
                let body = operation.name == "func.call"
                    && operation.attributes.text("callee").is_some_and(|of| of.starts_with(BODY));
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
        into: &mut Block,
    ) -> Result<()> {
        let (value, shape) = scope.binding(operand)?.array()?;
        let shape = shape.clone();
        let count = self.devices.count;
        let tiling = match scope.sharding_of(operand) {
            Some(text) => Tiling::parse(text, shape.rank(), count)?,
            None => Tiling::replicated(shape.rank(), count),
        };
        let &[result] = &operation.results[..] else {
            return Err(Error::bad(format!("{} without one result", operation.name)));
        };
        let mut parts: Vec<Binding> = Vec::with_capacity(count);
        let owners = tiling.owners();
        for device in 0..count {
            let owner = owners[tiling.part(device)];
            let part = match parts.get(owner) {
                Some(part) => part.clone(),
                None => self.tile(operation, (value, &shape), &tiling, device, into)?,
            };
            part.check(scope.type_of(result)?)?;
            parts.push(part);
        }
        scope.bind_parts(result, parts);
        Ok(())
    }

    fn join_parts(
        &mut self,
        scope: &mut Scope<'m>,
        operation: &'m Operation,
        operand: Value,
        into: &mut Block,
    ) -> Result<()> {
        let parts = scope.parts_of(operand)?;
        let (_, shape) = parts[0].array()?;
        let (rank, count) = (shape.rank(), self.devices.count);
        let stated = operation.attributes.text("mhlo.sharding");
        let tiling = Tiling::parse(stated.unwrap_or("{replicated}"), rank, count)?;
        let parts: Vec<(usize, Binding)> = parts.into_iter().enumerate().collect();
        let whole = self.joined(operation, &parts, &tiling, into)?;
        bind_all(scope, operation, vec![whole])
    }

    /// An operation on parts: what is whole is the same on every device.
    fn on_parts(
        &mut self,
        scope: &mut Scope<'m>,
        operation: &'m Operation,
        into: &mut Block,
    ) -> Result<()> {
        let count = self.devices.count;
        let scopes = (0..count).map(|device| scope.of_device(device)).collect();
        let mut crew = Crew::each(count, scopes);
        self.partition_context = true;
        let done = self.together(&mut crew, operation, into);
        self.partition_context = false;
        self.partition = 0;
        done?;
        for &result in &operation.results {
            let parts = crew.scopes.iter().map(|scope| scope.binding(result).cloned());
            scope.bind_parts(result, parts.collect::<Result<Vec<_>>>()?);
        }
        Ok(())
    }
}
