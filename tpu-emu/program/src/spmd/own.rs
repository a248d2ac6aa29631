//! Code of one replica that is run by itself: a collective waits for those of the other replicas,
//! whose programs may be others.
use super::super::graph::{Node, NodeKind, Subgraph, ValueId};
use super::super::import::Loader;
use super::super::import::control::{bind_all, region};
use super::super::import::scope::{Binding, Scope};
use crate::sharding::groups::{Devices, groups, memberships};
use std::fmt::Write as _;
use std::sync::Arc;
use tpu_base::error::{Error, Result};
use tpu_base::tensor::Shape;
use tpu_ops::exchange::{Then, exchange};
use tpu_ops::replica_exchange::Collective;
use tpu_ops::{CollectiveKind, name_of};
use tpu_stablehlo::ir::Operation;

/// Attributes that decide what the participants of a collective receive, besides its groups.
const NUMBERS: [&str; 5] =
    ["all_gather_dim", "scatter_dimension", "split_dimension", "concat_dimension", "split_count"];

impl<'m> Loader<'m> {
    /// A collective of the replica that code is emitted for.
    pub(super) fn exchanged(
        &mut self,
        scope: &mut Scope<'m>,
        (replica, kind): (usize, CollectiveKind),
        operation: &'m Operation,
        into: &mut Subgraph,
    ) -> Result<()> {
        let name = &operation.name;
        if kind == CollectiveKind::RaggedAllToAll {
            return self.ragged_exchange(scope, replica, operation, into);
        }
        if operation.operands.len() != operation.results.len() {
            let (had, made) = (operation.operands.len(), operation.results.len());
            return Err(Error::bad(format!("{name} has {had} operands and {made} results")));
        }
        let groups = groups(operation, kind, self.module, self.devices)?;
        let mut results = Vec::new();
        for &operand in &operation.operands {
            let (value, shape) = scope.binding(operand)?.array()?;
            let of = (value, shape.clone());
            results.push(match kind {
                CollectiveKind::CollectivePermute => {
                    self.received(replica, operation, of, &groups, into)?
                }
                _ => self.of_group(scope, (replica, kind), operation, of, &groups, into)?,
            });
        }
        bind_all(scope, operation, results)
    }

    /// What a replica receives from the one that sends to it.
    fn received(
        &mut self,
        replica: usize,
        operation: &'m Operation,
        (value, shape): (ValueId, Shape),
        pairs: &[Vec<usize>],
        into: &mut Subgraph,
    ) -> Result<Binding> {
        let everyone = (0..self.devices.count).collect();
        let senders: Vec<usize> =
            pairs.iter().filter(|pair| pair[1] == replica).map(|pair| pair[0]).collect();
        let collective = self.collective_of(operation, &shape, (pairs, everyone));
        let keep = match senders[..] {
            [] => replica,
            [sender] => sender,
            _ => return Err(Error::bad(format!("{}: two send to one device", operation.name))),
        };
        let kept = Then::Keep(vec![keep]);
        let kept = self.meeting(operation, (collective, kept), (value, &shape), 1, into)?[0];
        let id = if senders.is_empty() { self.zeros(operation, &shape, into)? } else { kept };
        Ok(Binding::Array(id, shape))
    }

    /// What a replica receives of its group.
    fn of_group(
        &mut self,
        scope: &Scope<'m>,
        (replica, kind): (usize, CollectiveKind),
        operation: &'m Operation,
        (value, shape): (ValueId, Shape),
        groups: &[Vec<usize>],
        into: &mut Subgraph,
    ) -> Result<Binding> {
        let (group, place) = own_group(operation, replica, self.devices, groups)?;
        let count = group.len();
        let collective = self.collective_of(operation, &shape, (groups, group));
        let reduces = matches!(kind, CollectiveKind::AllReduce | CollectiveKind::ReduceScatter);
        let mut made = if reduces && count > 1 {
            // The participants' arrays are read where they are.
            let kernel = self.reduction_of(scope, operation, &shape, count)?;
            let then = Then::Compute(kernel);
            let sum = self.meeting(operation, (collective, then), (value, &shape), 1, into)?[0];
            self.after_reduction(kind, operation, (sum, shape), count, into)?
        } else {
            let then = Then::Keep((0..count).collect());
            let all = self.meeting(operation, (collective, then), (value, &shape), count, into)?;
            let all = all.into_iter().map(|id| (id, shape.clone())).collect();
            self.group(scope, kind, operation, all, into)?
        };
        let (id, shape) = made.swap_remove(place);
        Ok(Binding::Array(id, shape))
    }

    /// A collective as the replicas compare it.
    pub(super) fn collective_of(
        &self,
        operation: &Operation,
        shape: &Shape,
        (groups, group): (&[Vec<usize>], Vec<usize>),
    ) -> Collective {
        let mut what = format!("{} of {shape}", operation.name);
        for name in NUMBERS {
            if let Some(value) = operation.attributes.integer(name) {
                // Writing to a String cannot fail.
                let _ = write!(what, ", {name} {value}");
            }
        }
        if let Ok(computation) = region(operation, 0) {
            let operations = computation.blocks.iter().flat_map(|block| &block.operations);
            let names: Vec<&str> = operations.map(name_of).collect();
            let _ = write!(what, ", by {}", names[..names.len().saturating_sub(1)].join(" and "));
        }
        let _ = write!(what, ", among {groups:?}");
        let line = self.module.locations.line(operation.location).map(Arc::from);
        Collective { what: what.into(), line, group }
    }

    /// The node that waits for the others; gives its results.
    pub(super) fn meeting(
        &mut self,
        operation: &Operation,
        (collective, then): (Collective, Then),
        (value, shape): (ValueId, &Shape),
        count: usize,
        into: &mut Subgraph,
    ) -> Result<Vec<ValueId>> {
        self.count_nodes(1)?;
        let results: Vec<ValueId> = (0..count).map(|_| self.graph.add(shape.clone())).collect();
        into.nodes.push(Node {
            work: NodeKind::Kernel(exchange(collective, then).into()),
            operands: vec![value],
            shapes: vec![shape.clone()],
            results: results.clone(),
            name: name_of(operation).into(),
            location: operation.location,
            effect: true,
        });
        Ok(results)
    }
}

/// The group of a replica, and its place there.
pub(super) fn own_group(
    operation: &Operation,
    replica: usize,
    devices: Devices,
    groups: &[Vec<usize>],
) -> Result<(Vec<usize>, usize)> {
    let called = |replica| format!("replica {replica}");
    let members = memberships(&operation.name, groups, devices.count, called)?;
    let (group, place) = members[replica];
    Ok((groups[group].clone(), place))
}
