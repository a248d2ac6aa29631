//! Code that runs once per device: it is emitted once for each, operation by operation, and
//! collectives become operations over the values of all.

use super::super::graph::{Node, NodeKind, Subgraph, ValueId};
use super::super::grid::{Grid, mesh_of};
use crate::elementwise_body::sum;
use crate::import::control::region;
use crate::import::scope::{Binding, Scope};
use crate::import::{Loader, one_block};
use crate::sharding::Sharding;
use crate::sharding::groups::{collective, communicates};
use crate::spmd::copies::Made;
use crate::spmd::markers::is_marker;
pub(crate) use crate::spmd::participants::{ManualGroup, Participants};
use std::collections::HashMap;
use std::sync::Arc;
use tpu_base::error::{Error, Result};
use tpu_base::tensor::Shape;
use tpu_kernels::movement::strided_view::Access;
use tpu_ops::{Kernel, Operator, Structural, across, callee, name_of};
use tpu_stablehlo::ir::{self, Attribute, Mesh, Operation, TensorSharding, Type};

impl<'m> Loader<'m> {
    /// `sdy.manual_computation` outside of code that runs per device.
    pub(crate) fn manual_region(
        &mut self,
        scope: &mut Scope<'m>,
        operation: &'m Operation,
        into: &mut Subgraph,
    ) -> Result<()> {
        let mut participants = Participants::whole(self.devices.count, scope.taken());
        let before = std::mem::replace(&mut self.partition_context, true);
        let done = self.manual(&mut participants, operation, into);
        self.partition_context = before;
        self.partition = 0;
        if let Some(back) = participants.scopes.pop() {
            *scope = back;
        }
        done
    }

    /// `sdy.manual_computation`: its operands are split, its body runs on every participant, its
    /// results are joined.
    fn manual(
        &mut self,
        outer: &mut Participants<'m>,
        operation: &'m Operation,
        into: &mut Subgraph,
    ) -> Result<()> {
        let axes = operation.attributes.manual_axes();
        let counts = |axis: &str| axes.iter().any(|known| **known == *axis);
        let ins = shardings(operation, "in_shardings", operation.operands.len())?;
        let outs = shardings(operation, "out_shardings", operation.results.len())?;
        if outer.numbers.len() == 1
            && outer.group.whole
            && outer.group.of.iter().all(Option::is_some)
        {
            let (group, _) = self.split_group(outer, (ins, outs), axes, false)?;
            let all = self.all_manual_axes(operation);
            let finer = match all.len() == axes.len() {
                true => None,
                false => Some(self.split_group(outer, (ins, outs), &all, false)?.0),
            };
            let ids = finer.as_ref().map_or(&group.ids, |finer| &finer.ids);
            let apart = ids.iter().map(|&id| group.of[id].unwrap_or_default());
            let apart: Vec<usize> = apart.collect();
            let group = Arc::new(finer.unwrap_or(group));
            let scope = &mut outer.scopes[0];
            if self.manual_in_rows(scope, operation, (&group, &apart), into) {
                return Ok(());
            }
        }
        let copies = outer.scopes.iter().any(|scope| self.reads_copies(scope, operation));
        let each = copies || outer.numbers.len() > 1 || self.nests(operation);
        let (group, parents) = self.split_group(outer, (ins, outs), axes, each)?;
        let source = one_block(region(operation, 0)?, &operation.name)?;
        if source.arguments.len() != operation.operands.len() {
            let (had, wanted) = (operation.operands.len(), source.arguments.len());
            let name = &operation.name;
            return Err(Error::bad(format!("{name} has {had} operands and {wanted} parameters")));
        }
        let count = self.devices.count;
        let mut scopes: Vec<Scope<'m>> = Vec::new();
        for (&parent, &device) in parents.iter().zip(&group.ids) {
            let scope = &outer.scopes[parent];
            scopes.push(if copies { scope.of_device(device) } else { scope.clone() });
        }
        for ((&operand, &parameter), sharding) in
            operation.operands.iter().zip(&source.arguments).zip(ins)
        {
            let token = matches!(outer.scopes[0].type_of(operand)?, Type::Token);
            let mut made: HashMap<(ValueId, usize), Binding> = HashMap::new();
            for (scope, &device) in scopes.iter_mut().zip(&group.ids) {
                let (value, shape) = scope.binding(operand)?.array()?;
                let shape = shape.clone();
                let sharding = if token {
                    Sharding::replicated(shape.rank(), count)
                } else {
                    Sharding::of(sharding, self.module, (shape.rank(), count), &counts)?
                };
                let number = sharding.part(device);
                let binding = match made.get(&(value, number)) {
                    Some(binding) => binding.clone(),
                    None => {
                        let part =
                            self.shard(operation, (value, &shape), &sharding, device, into)?;
                        made.insert((value, number), part.clone());
                        part
                    }
                };
                binding.check(scope.type_of(parameter)?)?;
                scope.bind(parameter, binding)?;
            }
        }
        let numbers = (0..group.ids.len()).collect();
        let mut participants = Participants { group: Arc::new(group), numbers, scopes };
        let results = self.lockstep(&mut participants, source, into)?;
        if let Some(made) = results.iter().find(|made| made.len() != outs.len()) {
            let (name, had, wanted) = (&operation.name, made.len(), outs.len());
            let message = format!("{name} returns {had} values and has {wanted} results");
            return Err(Error::bad(message));
        }
        for (index, (sharding, &result)) in outs.iter().zip(&operation.results).enumerate() {
            let of = |participant: &Option<usize>| {
                participant.map(|participant| &results[participant][index])
            };
            let parts: Vec<Option<&Binding>> = participants.group.of.iter().map(of).collect();
            let first = parts
                .iter()
                .flatten()
                .next()
                .ok_or_else(|| Error::bad(format!("{} runs on no device", operation.name)))?;
            let (rank, token) = match outer.scopes[0].type_of(result)? {
                Type::Token => (0, true),
                _ => (first.array()?.1.rank(), false),
            };
            let sharding = if token {
                Sharding::replicated(rank, count)
            } else {
                Sharding::of(sharding, self.module, (rank, count), &counts)?
            };
            for place in 0..outer.numbers.len() {
                let participant = Some(outer.numbers[place]);
                let mine: Vec<usize> =
                    (0..count).filter(|&device| outer.group.of[device] == participant).collect();
                let seen =
                    self.seen(operation, &parts, (&sharding, &outer.group.zone, &mine), into)?;
                let whole = self.agreed_on(seen);
                let scope = &mut outer.scopes[place];
                whole.check(scope.type_of(result)?)?;
                scope.bind(result, whole)?;
            }
        }
        Ok(())
    }

    /// The participants that an outer group falls into along more axes, and whose parts they are;
    /// with `each`, every device is one.
    fn split_group(
        &self,
        outer: &Participants<'m>,
        (ins, outs): (&[TensorSharding], &[TensorSharding]),
        axes: &[Arc<str>],
        each: bool,
    ) -> Result<(ManualGroup, Vec<usize>)> {
        let grid = self.grid_with((ins, outs), axes)?;
        let count = self.devices.count;
        let mut keys: HashMap<(usize, Vec<usize>), usize> = HashMap::new();
        let mut zones: HashMap<(usize, Vec<usize>), usize> = HashMap::new();
        let places: HashMap<usize, usize> =
            outer.numbers.iter().enumerate().map(|(place, &number)| (number, place)).collect();
        let (of, zone) = (vec![None; count], vec![0; count]);
        let mut group = ManualGroup { ids: Vec::new(), of, zone, whole: false };
        let mut parents = Vec::new();
        for (device, of) in outer.group.of.iter().enumerate() {
            let Some(&parent) = of.as_ref().and_then(|number| places.get(number)) else {
                continue;
            };
            let mut key = Vec::new();
            for name in axes {
                let axis = ir::AxisRef { name: Arc::clone(name), part: None };
                key.push(grid.along(device, &axis)?.0);
            }
            let zone = (outer.group.zone[device], key.clone());
            let next = zones.len();
            group.zone[device] = *zones.entry(zone).or_insert(next);
            key.extend(each.then_some(device));
            let next = keys.len();
            let participant = *keys.entry((parent, key)).or_insert(next);
            if participant == next {
                group.ids.push(device);
                parents.push(parent);
            }
            group.of[device] = Some(participant);
        }
        Ok((group, parents))
    }

    /// The grid of the first mesh that has some axes: of those that shardings name, or of the module.
    pub(super) fn grid_with<'g>(
        &'g self,
        (ins, outs): (&'g [TensorSharding], &'g [TensorSharding]),
        axes: &[Arc<str>],
    ) -> Result<Grid<'g>> {
        let has_axes =
            |mesh: &&Mesh| axes.iter().all(|axis| mesh.axes.iter().any(|(name, _)| name == axis));
        let stated = ins.iter().chain(outs).map(|sharding| mesh_of(self.module, &sharding.mesh));
        let stated = stated.collect::<Result<Vec<&Mesh>>>()?;
        let known = self.module.meshes.iter().map(|known| &known.mesh);
        let mesh = stated.into_iter().chain(known).find(has_axes);
        let missing = || Error::bad(format!("no mesh has the axes {axes:?}"));
        Grid::new(mesh.ok_or_else(missing)?, self.devices.count)
    }

    /// A device's shard of an array.
    pub(crate) fn shard(
        &mut self,
        operation: &Operation,
        (value, shape): (ValueId, &Shape),
        sharding: &Sharding,
        device: usize,
        into: &mut Subgraph,
    ) -> Result<Binding> {
        if sharding.is_replicated() {
            return Ok(Binding::Array(value, shape.clone()));
        }
        let dims = sharding.shard(&shape.dims)?;
        let start = sharding.start(device, &dims);
        let part = Shape::new(shape.dtype, dims);
        // The first partial sum is the whole sum.
        let id = if sharding.partial_sum[device] == 0 {
            self.slice(operation, (value, shape), &start, &part, into)?
        } else {
            self.zeros(operation, &part, into)?
        };
        Ok(Binding::Array(id, part))
    }

    pub(crate) fn zeros(
        &mut self,
        operation: &Operation,
        shape: &Shape,
        into: &mut Subgraph,
    ) -> Result<ValueId> {
        let zero = [0; 16];
        let work = NodeKind::Splat(zero[..shape.dtype.host_bytes()].into());
        self.node(operation, work, Vec::new(), shape, into)
    }

    /// The elements of an array from an index on.
    pub(crate) fn slice(
        &mut self,
        operation: &Operation,
        (value, shape): (ValueId, &Shape),
        start: &[usize],
        part: &Shape,
        into: &mut Subgraph,
    ) -> Result<ValueId> {
        let strides = shape.strides();
        let offset = start.iter().zip(&strides).map(|(at, stride)| at * stride).sum();
        let signed = |&stride: &usize| isize::try_from(stride).unwrap_or(isize::MAX);
        let work =
            NodeKind::Access(Access { offset, strides: strides.iter().map(signed).collect() });
        self.node(operation, work, vec![(value, shape.clone())], part, into)
    }

    /// The whole from the shards of devices.
    pub(crate) fn joined(
        &mut self,
        operation: &Operation,
        parts: &[(usize, Binding)],
        sharding: &Sharding,
        into: &mut Subgraph,
    ) -> Result<Binding> {
        if sharding.is_replicated() {
            return Ok(parts[0].1.clone());
        }
        let mut found: Vec<Option<(ValueId, Shape)>> = vec![None; sharding.owners().len()];
        for (device, binding) in parts {
            let (id, shape) = binding.array()?;
            found[sharding.part(*device)].get_or_insert((id, shape.clone()));
        }
        let missing = || Error::bad(format!("{} gives a result with holes", operation.name));
        let found = found.into_iter().collect::<Option<Vec<_>>>().ok_or_else(missing)?;
        let mut shards = Vec::new();
        for partial_sums in found.chunks(sharding.partial_sums) {
            let shape = partial_sums[0].1.clone();
            let id = match partial_sums {
                [(id, _)] => *id,
                _ => {
                    let kernel = across::reduction(sum(shape.dtype)?, &shape, partial_sums.len());
                    self.kernel(operation, kernel, partial_sums.to_vec(), &shape, into)?
                }
            };
            shards.push((id, shape));
        }
        if let [(id, shape)] = &shards[..] {
            return Ok(Binding::Array(*id, shape.clone()));
        }
        let shard = &shards[0].1;
        let past = || Error::bad(format!("{} gives a result past 2^63 bytes", operation.name));
        let dims =
            shard.dims.iter().zip(&sharding.shards).map(|(dim, shards)| dim.checked_mul(*shards));
        let dims = dims.collect::<Option<Vec<usize>>>().ok_or_else(past)?;
        let bytes = dims.iter().try_fold(shard.dtype.host_bytes(), |all, &dim| {
            all.checked_mul(dim.max(1)).filter(|&all| isize::try_from(all).is_ok())
        });
        bytes.ok_or_else(past)?;
        let whole = Shape::new(shard.dtype, dims);
        let kernel = across::join(shard, &whole, &sharding.shards);
        let id = self.kernel(operation, kernel, shards, &whole, into)?;
        Ok(Binding::Array(id, whole))
    }

    /// Adds a node with one result.
    pub(crate) fn node(
        &mut self,
        operation: &Operation,
        work: NodeKind,
        operands: Vec<(ValueId, Shape)>,
        result: &Shape,
        into: &mut Subgraph,
    ) -> Result<ValueId> {
        self.count_nodes(1)?;
        let id = self.graph.add(result.clone());
        let (operands, shapes) = operands.into_iter().unzip();
        into.nodes.push(Node {
            work,
            operands,
            shapes,
            results: vec![id],
            name: name_of(operation).into(),
            location: operation.location,
            effect: false,
        });
        Ok(id)
    }

    pub(crate) fn kernel(
        &mut self,
        operation: &Operation,
        kernel: Box<dyn Kernel>,
        operands: Vec<(ValueId, Shape)>,
        result: &Shape,
        into: &mut Subgraph,
    ) -> Result<ValueId> {
        self.node(operation, NodeKind::Kernel(kernel.into()), operands, result, into)
    }

    /// The operations of a block on all participants at once; gives the terminator's operands.
    pub(crate) fn lockstep(
        &mut self,
        participants: &mut Participants<'m>,
        source: &'m ir::Block,
        into: &mut Subgraph,
    ) -> Result<Vec<Vec<Binding>>> {
        let Some((last, operations)) = source.operations.split_last() else {
            return Err(Error::bad("a block without a terminator"));
        };
        for operation in operations {
            if self.reasons.len() >= crate::tuning::MAX_REPORTED_REASONS {
                break;
            }
            if let Err(error) = self.together(participants, operation, into) {
                self.reason(operation.location, Some(operation), &error);
                for scope in &mut participants.scopes {
                    self.stand_in(scope, operation)?;
                }
            }
        }
        crate::import::check_end(last)?;
        participants.bindings(&last.operands)
    }

    /// One operation on all participants.
    pub(crate) fn together(
        &mut self,
        participants: &mut Participants<'m>,
        operation: &'m Operation,
        into: &mut Subgraph,
    ) -> Result<()> {
        if let Some(kind) = collective(operation) {
            return self.collective(participants, kind, operation, into);
        }
        if communicates(operation) {
            return self.joint_kernel(participants, operation, into);
        }
        if is_manual(operation) {
            return self.manual(participants, operation, into);
        }
        let single = participants.group.ids.len() == self.devices.count;
        if (participants.group.whole || single) && self.marker(participants, operation, into)? {
            return Ok(());
        }
        let mut made = Made::default();
        let Some(groups) = self.groups_inside(operation)? else {
            for (&participant, scope) in participants.numbers.iter().zip(&mut participants.scopes) {
                let scope = std::slice::from_mut(scope);
                let read = self.read(scope, operation);
                if !made.bind(read.as_ref(), operation, scope)? {
                    self.partition = participants.group.ids[participant];
                    self.operation(&mut scope[0], operation, into)?;
                    made.note(read, operation, scope)?;
                }
            }
            return Ok(());
        };
        // Code over whole arrays has code per device inside, which needs all of them.
        if participants.group.whole {
            return self.joint(participants, operation, into);
        }
        let groups = participants.groups(operation, &groups)?;
        for places in crate::sharding::groups::connected(participants.numbers.len(), &groups) {
            let mut part = participants.take(&places);
            let read = self.read(&part.scopes, operation);
            let done = match made.bind(read.as_ref(), operation, &mut part.scopes) {
                Ok(false) => self
                    .joint(&mut part, operation, into)
                    .and_then(|()| made.note(read, operation, &part.scopes)),
                done => done.map(drop),
            };
            participants.put_back(&places, part);
            done?;
        }
        Ok(())
    }

    /// Groups of devices that exchange values inside of an operation's regions and of the
    /// functions it calls; `None` where every participant can do it alone.
    pub(super) fn groups_inside(
        &mut self,
        operation: &'m Operation,
    ) -> Result<Option<Vec<Vec<usize>>>> {
        let called = callee(operation);
        if called.is_none() && operation.regions.is_empty() {
            return Ok(None);
        }
        let key = std::ptr::from_ref(operation).addr();
        if let Some(known) = self.inside.get(&key) {
            return Ok(known.clone());
        }
        // A function that calls itself is refused where it is called.
        self.inside.insert(key, None);
        let callee = called.and_then(|name| self.module.function(name)).map(|callee| &callee.body);
        let mut found: Option<Vec<Vec<usize>>> = None;
        let blocks = operation.regions.iter().chain(callee).flat_map(|region| &region.blocks);
        for inner in blocks.flat_map(|block| &block.operations) {
            let groups = if let Some(kind) = collective(inner) {
                Some(crate::sharding::groups::groups(inner, kind, self.module, self.devices)?)
            } else if communicates(inner) {
                Some(vec![(0..self.devices.count).collect()])
            } else if is_marker(inner) {
                Some(self.marked_groups(inner)?)
            } else if is_manual(inner) {
                Some(self.groups_inside(inner)?.unwrap_or_default())
            } else {
                self.groups_inside(inner)?
            };
            if let Some(groups) = groups {
                let found = found.get_or_insert_default();
                for group in groups {
                    if !found.contains(&group) {
                        found.push(group);
                    }
                }
            }
        }
        self.inside.insert(key, found.clone());
        Ok(found)
    }
}

/// Whether an operation has code per device as its region.
pub(super) fn is_manual(operation: &Operation) -> bool {
    matches!(Operator::of(operation), Operator::Structural(Structural::ManualComputation))
}

/// The shardings of the operands or of the results.
pub(super) fn shardings<'m>(
    operation: &'m Operation,
    key: &str,
    wanted: usize,
) -> Result<&'m [TensorSharding]> {
    let found: &[TensorSharding] = match operation.attributes.get(key) {
        Some(Attribute::Shardings(found)) => found,
        _ => &[],
    };
    if found.len() != wanted {
        let (name, had) = (&operation.name, found.len());
        return Err(Error::bad(format!("{name}: {had} {key} for {wanted} values")));
    }
    Ok(found)
}
