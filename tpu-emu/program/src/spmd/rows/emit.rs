//! Operations, once for all participants.
use super::Rows;
use crate::graph::{NodeKind, Subgraph, ValueId};
use crate::import::Loader;
use crate::import::scope::{Binding, Scope};
use crate::sharding::groups::{collective, communicates};
use crate::spmd::manual::is_manual;
use std::collections::HashSet;
use std::sync::Arc;
use tpu_base::error::{Error, Result};
use tpu_base::tensor::{DType, Shape};
use tpu_ops::{DeviceDependence, Operator, ShardingRule, callee};
use tpu_stablehlo::ir::{Block, Operation, Region};

impl<'m> Loader<'m> {
    /// Whether code per device can be emitted once for all: it has no kernels that talk to one
    /// another inside.
    pub(super) fn fits_rows(&self, region: &'m Region) -> bool {
        self.one_body && self.fits_inside(region, false, &mut HashSet::new())
    }

    fn fits_inside(
        &self,
        region: &'m Region,
        elements: bool,
        seen: &mut HashSet<(&'m str, bool)>,
    ) -> bool {
        let mut operations = region.blocks.iter().flat_map(|block| &block.operations);
        operations.all(|operation| {
            let own = match Operator::of(operation) {
                Operator::Row(entry) => {
                    let outside = match entry.devices {
                        // Code for elements is compiled by itself.
                        DeviceDependence::ReplicaId
                        | DeviceDependence::PartitionId
                        | DeviceDependence::HostTransfer
                        | DeviceDependence::Random => elements,
                        DeviceDependence::Alike | DeviceDependence::Collective(_) => false,
                    };
                    let marks = matches!(
                        entry.sharding,
                        ShardingRule::Split | ShardingRule::Join | ShardingRule::Inspected
                    );
                    !outside && !marks
                }
                Operator::Structural(_) => !elements || !is_manual(operation),
                // Kernels that talk to one another are one step of all.
                Operator::Registered => !elements && !communicates(operation),
                Operator::Unknown => false,
            };
            if !own {
                return false;
            }
            let elements = elements || Operator::of(operation).row().is_some();
            let callee = callee(operation).filter(|name| seen.insert((name, elements)));
            let callee = callee.and_then(|name| self.module.function(name));
            let callee = callee.map(|callee| &callee.body);
            let mut inside = operation.regions.iter().chain(callee);
            inside.all(|region| self.fits_inside(region, elements, seen))
        })
    }

    /// The operations of a block for all participants; gives the terminator's operands, whose rows
    /// are in arrays.
    pub(super) fn block_of_rows(
        &mut self,
        rows: &mut Rows,
        scope: &mut Scope<'m>,
        source: &'m Block,
        into: &mut Subgraph,
    ) -> Result<Vec<Binding>> {
        let Some((last, operations)) = source.operations.split_last() else {
            return Err(Error::bad("a block without a terminator"));
        };
        for operation in operations {
            self.operation_of_rows(rows, scope, operation, into)?;
        }
        crate::import::check_end(last)?;
        last.operands.iter().map(|&value| scope.binding(value).cloned()).collect()
    }

    fn operation_of_rows(
        &mut self,
        rows: &mut Rows,
        scope: &mut Scope<'m>,
        operation: &'m Operation,
        into: &mut Subgraph,
    ) -> Result<()> {
        if let Some(kind) = collective(operation) {
            return self.collective_of_rows(rows, (scope, kind), operation, into);
        }
        if is_manual(operation) {
            return self.nested_region_of_rows(rows, scope, operation, into);
        }
        if self.groups_inside(operation)?.is_some() {
            return self.control_of_rows(rows, scope, operation, into);
        }
        let (cost, moved) = (self.graph.cost, self.graph.bytes_accessed);
        let mut loose = std::mem::take(&mut rows.block.loose);
        let done = self.operation(scope, operation, &mut loose);
        rows.block.loose = loose;
        done?;
        self.place_loose(rows, into)?;
        // The body's work is done in each run.
        #[expect(clippy::cast_precision_loss, reason = "an estimate")]
        let more = rows.runs.saturating_sub(1) as f64;
        let now = &mut self.graph.cost;
        now.flops += (now.flops - cost.flops) * more;
        now.transcendentals += (now.transcendentals - cost.transcendentals) * more;
        self.graph.bytes_accessed += (self.graph.bytes_accessed - moved) * more;
        Ok(())
    }

    /// Whether an operation gives the number of the device that runs it.
    pub(crate) fn asks_own_number(&self, operation: &Operation) -> bool {
        let devices = Operator::of(operation).row().map(|entry| entry.devices);
        matches!(
            (devices, self.devices.replicas),
            (Some(DeviceDependence::PartitionId), false)
                | (Some(DeviceDependence::ReplicaId), true)
        )
    }

    /// The number of each participant's device, in the code at hand.
    pub(super) fn device_numbers(
        &mut self,
        rows: &mut Rows,
        operation: &Operation,
        into: &mut Subgraph,
    ) -> Result<ValueId> {
        let group = Arc::clone(&rows.group);
        let number = |&id: &usize| u32::try_from(id).unwrap_or(u32::MAX).to_le_bytes();
        // Those that run as one are the first of them.
        let map = rows.maps.get(rows.apart).clone();
        let of = map.of;
        let ids: Vec<usize> = map.firsts.iter().map(|&first| group.ids[first]).collect();
        let known: Arc<[u8]> = ids.iter().flat_map(number).collect();
        let array = Shape::new(DType::U32, [ids.len()]);
        let work = NodeKind::Constant(Arc::clone(&known));
        let id = self.node(operation, work, Vec::new(), &array, into)?;
        self.graph.values[id.index()].known = Some(Arc::clone(&known));
        let value = self.rows_in(rows, id, (&Shape::scalar(DType::U32), &of), into)?;
        if rows.values.contains_key(&value) {
            rows.known.insert(value, known);
        }
        Ok(value)
    }
}
