//! How the results of a program are split where it does not say: as what they are made of.
//!
//! Values are the same however they are split, so this decides only what the devices hold at the
//! end. It follows the program once, from the parameters on.
pub(super) mod custom;
#[cfg(test)]
mod tests;

use super::Sharding;
use super::derived::{Derivation, around, inside, merged, picked, reshaped};
use crate::operation_factors::factors_of;
use crate::sharding::io_shardings::Inspection;
use crate::tuning::{MAX_SHARDED_CALL_DEPTH, MAX_SHARDED_OPERATIONS};
use std::collections::HashMap;
use std::sync::Arc;
use tpu_ops::{Operator, ShardingRule, Structural, callee};
use tpu_stablehlo::Module;
use tpu_stablehlo::ir::{
    Attribute, Attributes, Block, Function, Operation, Region, TensorSharding, Type, Value,
};

/// Follows shardings through the functions of a module.
#[derive(Debug)]
pub(super) struct Propagation<'m> {
    module: &'m Module,
    devices: usize,
    left: usize,
    /// Manual computations around the operation that is looked at.
    manual: usize,
    /// How the members of a sharding group are split that were seen; by the manual computations
    /// around it and its number.
    groups: HashMap<(usize, i64), Sharding>,
    /// What the program asks for, and the answers.
    pub(super) inspections: Vec<Inspection>,
    /// Calls that code of the client's splits, where they are looked for.
    pub(super) calls: Option<custom::SplitCalls<'m>>,
}

impl<'m> Propagation<'m> {
    pub(super) fn new(module: &'m Module, devices: usize) -> Self {
        let (groups, inspections) = (HashMap::new(), Vec::new());
        let (left, manual, calls) = (MAX_SHARDED_OPERATIONS, 0, None);
        Self { module, devices, left, manual, groups, inspections, calls }
    }

    /// The shardings of the results of the program's entry. What the last member of a sharding
    /// group reported is known to the first one when the program is followed for the second time.
    pub(super) fn entry(
        &mut self,
        entry: &'m Function,
        parameters: Vec<Derivation>,
    ) -> Vec<Derivation> {
        let mut found = self.function(entry, parameters.clone(), 0);
        if !self.groups.is_empty() {
            self.left = MAX_SHARDED_OPERATIONS;
            self.inspections.clear();
            found = self.function(entry, parameters, 0);
        }
        let last = entry.block().and_then(|block| block.operations.last());
        let results = last.map_or(&[][..], |last| &last.operands);
        let pairs = found.into_iter().zip(results);
        pairs.map(|(known, &value)| known.filter(|of| divides(of, entry, value))).collect()
    }

    /// The shardings of a function's results.
    fn function(
        &mut self,
        function: &'m Function,
        parameters: Vec<Derivation>,
        depth: usize,
    ) -> Vec<Derivation> {
        let [block] = &function.body.blocks[..] else { return Vec::new() };
        self.follow(function, block, &parameters, &mut HashMap::new(), depth)
    }

    /// The shardings of a block's results, from those of its parameters; `known` has those of all
    /// values then.
    pub(super) fn follow(
        &mut self,
        function: &'m Function,
        block: &'m Block,
        parameters: &[Derivation],
        known: &mut HashMap<Value, Sharding>,
        depth: usize,
    ) -> Vec<Derivation> {
        for (&value, sharding) in block.arguments.iter().zip(parameters) {
            sharding.iter().for_each(|sharding| drop(known.insert(value, sharding.clone())));
        }
        self.block(function, block, known, depth)
    }

    pub(super) fn module(&self) -> &'m Module {
        self.module
    }

    pub(super) fn devices(&self) -> usize {
        self.devices
    }

    fn block(
        &mut self,
        function: &'m Function,
        block: &'m Block,
        known: &mut HashMap<Value, Sharding>,
        depth: usize,
    ) -> Vec<Derivation> {
        let Some((last, operations)) = block.operations.split_last() else { return Vec::new() };
        for operation in operations {
            if self.left == 0 {
                return Vec::new();
            }
            self.left -= 1;
            let made = self.operation(function, operation, known, depth);
            for (&result, sharding) in operation.results.iter().zip(made) {
                // Parts of different lengths are kept between the program's parameters and results.
                let fits = |sharding: &Sharding| {
                    let shares = |dims: Vec<usize>| sharding.shares(&dims);
                    match self.manual {
                        0 => extents(function, result).is_some_and(shares),
                        _ => divides(sharding, function, result),
                    }
                };
                if let Some(sharding) = sharding.filter(|of| !of.is_replicated() && fits(of)) {
                    known.insert(result, sharding);
                }
            }
        }
        last.operands.iter().map(|value| known.get(value).cloned()).collect()
    }

    fn operation(
        &mut self,
        function: &'m Function,
        operation: &'m Operation,
        known: &mut HashMap<Value, Sharding>,
        depth: usize,
    ) -> Vec<Derivation> {
        match Operator::of(operation) {
            Operator::Structural(structural) => match structural {
                Structural::Call | Structural::Composite => {
                    let callee = callee(operation).and_then(|name| self.module.function(name));
                    let given = operation.operands.iter().map(|value| known.get(value).cloned());
                    let given = given.collect();
                    match callee.filter(|_| depth < MAX_SHARDED_CALL_DEPTH) {
                        Some(callee) => self.function(callee, given, depth + 1),
                        None => Vec::new(),
                    }
                }
                Structural::While => self.r#while(function, operation, known, depth),
                Structural::If | Structural::Case => match operation.regions.first() {
                    Some(Region { blocks }) if blocks.len() == 1 => {
                        self.block(function, &blocks[0], known, depth)
                    }
                    _ => Vec::new(),
                },
                Structural::ManualComputation => self.manual(function, operation, known, depth),
                Structural::Tuple
                | Structural::GetTupleElement
                | Structural::NamedComputation
                | Structural::ConversionCast
                | Structural::Return
                | Structural::Yield => same(function, operation, known, false),
            },
            Operator::Row(entry) => self.row(function, operation, entry.sharding, known),
            Operator::Registered => self.custom(function, operation, known),
            Operator::Unknown => Vec::new(),
        }
    }

    /// The shardings of the results of an operation of the tables.
    fn row(
        &mut self,
        function: &'m Function,
        operation: &'m Operation,
        rule: ShardingRule,
        known: &mut HashMap<Value, Sharding>,
    ) -> Vec<Derivation> {
        let operand =
            |at: usize| operation.operands.get(at).and_then(|value| known.get(value).cloned());
        let attributes = &operation.attributes;
        let axes = |name: &str| axes(operation, name);
        let result = operation.results.first().and_then(|&value| dims(function, value));
        match rule {
            ShardingRule::Same => same(function, operation, known, false),
            ShardingRule::Pieces => same(function, operation, known, true),
            ShardingRule::Permuted => {
                let order = axes("permutation");
                vec![operand(0).and_then(|from| picked(&from, order.into_iter().map(Some)))]
            }
            ShardingRule::Broadcast => {
                let to = axes("broadcast_dimensions");
                let rank = result.map_or(0, <[i64]>::len);
                let order = (0..rank).map(|axis| to.iter().position(|&known| known == axis));
                vec![operand(0).and_then(|from| picked(&from, order))]
            }
            ShardingRule::Reduced => {
                let gone = axes("dimensions");
                let reduced = |at: usize| {
                    let from = operand(at)?;
                    let kept = (0..from.shards.len()).filter(|axis| !gone.contains(axis));
                    picked(&from, kept.map(Some))
                };
                (0..operation.results.len()).map(reduced).collect()
            }
            ShardingRule::Contracted => vec![self.product(
                (operand(0), operand(1)),
                (axes("lhs_batching_dimensions"), axes("rhs_batching_dimensions")),
                (axes("lhs_contracting_dimensions"), axes("rhs_contracting_dimensions")),
                [0, 1].map(|at| {
                    let value = operation.operands.get(at).copied();
                    value.and_then(|value| dims(function, value)).map_or(0, <[i64]>::len)
                }),
            )],
            ShardingRule::Windowed => vec![windowed(function, operation, known)],
            ShardingRule::Gathered => vec![self.gathered(function, operation, known)],
            ShardingRule::Reshaped => {
                let from = operation.operands.first().and_then(|&value| dims(function, value));
                let (Some(from), Some(to)) = (from, result) else { return Vec::new() };
                vec![operand(0).and_then(|sharding| reshaped(&sharding, from, to))]
            }
            ShardingRule::Stated => {
                let Some(Attribute::Sharding(sharding)) = attributes.get("sharding") else {
                    return Vec::new();
                };
                let stated = self.stated(sharding);
                let open = sharding.dimensions.iter().any(|dimension| !dimension.closed);
                match stated {
                    Some(sharding) if open => vec![merged([Some(sharding), operand(0)])],
                    stated => vec![stated],
                }
            }
            ShardingRule::Grouped => {
                let group = (self.manual, attributes.integer("group_id").unwrap_or_default());
                if let Some(shared) = merged([self.groups.get(&group).cloned(), operand(0)]) {
                    known.extend(operation.operands.iter().map(|&member| (member, shared.clone())));
                    self.groups.insert(group, shared);
                }
                Vec::new()
            }
            ShardingRule::Annotated | ShardingRule::Join => {
                match (attributes.text("mhlo.sharding"), result) {
                    (Some(text), Some(dims)) => {
                        vec![Sharding::parse(text, dims.len(), self.devices).ok()]
                    }
                    _ => Vec::new(),
                }
            }
            ShardingRule::Moved => vec![operand(0)],
            ShardingRule::Inspected => {
                self.inspect(attributes, operand(0));
                vec![operand(0)]
            }
            ShardingRule::Split | ShardingRule::Whole => Vec::new(),
        }
    }

    /// Notes how a value is split that the program asks about.
    fn inspect(&mut self, attributes: &Attributes, known: Derivation) {
        let Some(Attribute::String(whom)) = attributes.get("backend_config") else { return };
        let sharding = match known {
            _ if self.manual > 0 => "{manual}".to_owned(),
            Some(sharding) => sharding.text(),
            None => "{replicated}".to_owned(),
        };
        let inspection = Inspection { whom: Arc::clone(whom), sharding: sharding.into() };
        if !self.inspections.contains(&inspection) {
            self.inspections.push(inspection);
        }
    }

    /// Slices as the operand along axes that they take whole, and as their indices.
    fn gathered(
        &self,
        function: &'m Function,
        operation: &'m Operation,
        known: &HashMap<Value, Sharding>,
    ) -> Derivation {
        let &[from, indices] = &operation.operands[..] else { return None };
        let axes = |name: &str| axes(operation, name);
        let (offsets, sizes) = (axes("offset_dims"), axes("slice_sizes"));
        let gone = [axes("collapsed_slice_dims"), axes("operand_batching_dims")].concat();
        let vector = axes("index_vector_dim").first().copied().unwrap_or(usize::MAX);
        let dims_of = |value| dims(function, value);
        let (source, batch) = (dims_of(from)?, dims_of(indices)?.len());
        let rank = dims_of(*operation.results.first()?)?.len();
        let mut kept = (0..source.len()).filter(|axis| !gone.contains(axis));
        let mut batch = (0..batch).filter(|&axis| axis != vector);
        let (mut slices, mut places) = (vec![None; rank], vec![None; rank]);
        for axis in 0..rank {
            if offsets.contains(&axis) {
                let whole =
                    |at: &usize| sizes.get(*at).copied() == usize::try_from(source[*at]).ok();
                slices[axis] = kept.next().filter(whole);
            } else {
                places[axis] = batch.next();
            }
        }
        let slices = known.get(&from).and_then(|from| picked(from, slices.into_iter()));
        let places = known.get(&indices).and_then(|from| picked(from, places.into_iter()));
        merged([slices, places])
    }

    /// A loop: as what goes in, and as what its first round makes.
    fn r#while(
        &mut self,
        function: &'m Function,
        operation: &'m Operation,
        known: &mut HashMap<Value, Sharding>,
        depth: usize,
    ) -> Vec<Derivation> {
        let first: Vec<Derivation> =
            operation.operands.iter().map(|value| known.get(value).cloned()).collect();
        let Some(Region { blocks }) = operation.regions.get(1) else { return first };
        let [block] = &blocks[..] else { return first };
        for (&parameter, sharding) in block.arguments.iter().zip(&first) {
            sharding.iter().for_each(|sharding| drop(known.insert(parameter, sharding.clone())));
        }
        let mut made = self.block(function, block, known, depth);
        made.resize(first.len(), None);
        first.into_iter().zip(made).map(|(first, made)| merged([first, made])).collect()
    }

    /// A manual computation: along its own axes as it states, along the others as its body does.
    fn manual(
        &mut self,
        function: &'m Function,
        operation: &'m Operation,
        known: &mut HashMap<Value, Sharding>,
        depth: usize,
    ) -> Vec<Derivation> {
        let attributes = &operation.attributes;
        let of = |key: &str| match attributes.get(key) {
            Some(Attribute::Shardings(all)) => &all[..],
            _ => &[],
        };
        let (ins, outs) = (of("in_shardings"), of("out_shardings"));
        let axes = attributes.manual_axes();
        let by_axes = |this: &Self, sharding: &TensorSharding| {
            let size = (sharding.dimensions.len(), this.devices);
            let counts = |axis: &str| axes.iter().any(|known| **known == *axis);
            Sharding::of(sharding, this.module, size, &counts).ok()
        };
        let mut follow = Vec::new();
        if let [Region { blocks }] = &operation.regions[..]
            && let [block] = &blocks[..]
        {
            let operands = operation.operands.iter().zip(&block.arguments).zip(ins);
            for ((operand, &parameter), sharding) in operands {
                self.refine(function, (*operand, sharding), known);
                let whole = known.get(operand);
                let inside = whole.and_then(|whole| inside(whole, &by_axes(self, sharding)?));
                inside.into_iter().for_each(|sharding| drop(known.insert(parameter, sharding)));
            }
            self.manual += 1;
            follow = self.block(function, block, known, depth);
            self.manual -= 1;
        }
        follow.resize(outs.len(), None);
        let whole = |(sharding, follow): (&TensorSharding, Derivation)| {
            let open: Vec<bool> =
                sharding.dimensions.iter().map(|dimension| !dimension.closed).collect();
            let around =
                follow.and_then(|inside| around(&by_axes(self, sharding)?, &inside, &open));
            around.or_else(|| self.stated(sharding))
        };
        outs.iter().zip(follow).map(whole).collect()
    }

    /// What an operation makes is split as a manual computation takes it, along axes that it is not
    /// split along; what the program states stays.
    fn refine(
        &self,
        function: &Function,
        (value, taken): (Value, &TensorSharding),
        known: &mut HashMap<Value, Sharding>,
    ) {
        let mut made = function.block().into_iter().flat_map(|block| &block.operations);
        let Some(made) = made.find(|operation| operation.results.contains(&value)) else { return };
        if let Operator::Row(row) = Operator::of(made)
            && !matches!(row.sharding, ShardingRule::Stated | ShardingRule::Annotated)
            && let Some(refined) = merged([known.get(&value).cloned(), self.stated(taken)])
        {
            known.insert(value, refined);
        }
    }

    /// What an attribute states.
    pub(super) fn stated(&self, sharding: &TensorSharding) -> Derivation {
        let size = (sharding.dimensions.len(), self.devices);
        Sharding::of(sharding, self.module, size, &|_| true).ok()
    }

    fn product(
        &self,
        (lhs, rhs): (Derivation, Derivation),
        (lhs_batch, rhs_batch): (Vec<usize>, Vec<usize>),
        (lhs_sum, rhs_sum): (Vec<usize>, Vec<usize>),
        ranks: [usize; 2],
    ) -> Derivation {
        let free = |rank: usize, batch: &[usize], sum: &[usize]| -> Vec<usize> {
            (0..rank).filter(|axis| !batch.contains(axis) && !sum.contains(axis)).collect()
        };
        let lhs_free = free(ranks[0], &lhs_batch, &lhs_sum);
        let rhs_free = free(ranks[1], &rhs_batch, &rhs_sum);
        let none = |axes: &[usize]| vec![None; axes.len()];
        let some =
            |axes: &[usize]| -> Vec<Option<usize>> { axes.iter().copied().map(Some).collect() };
        let left = [some(&lhs_batch), some(&lhs_free), none(&rhs_free)].concat();
        let right = [some(&rhs_batch), none(&lhs_free), some(&rhs_free)].concat();
        let lhs = lhs.and_then(|from| picked(&from, left.into_iter()));
        let rhs = rhs.and_then(|from| picked(&from, right.into_iter()));
        merged([lhs, rhs])
    }
}

/// Results as the operands of their rank, along axes of the same extent, or along `all`.
fn same(
    function: &Function,
    operation: &Operation,
    known: &HashMap<Value, Sharding>,
    all: bool,
) -> Vec<Derivation> {
    let same = |result: &Value| {
        let wanted = dims(function, *result)?;
        let mut found = None;
        for value in &operation.operands {
            let Some(sharding) = known.get(value) else { continue };
            let had = dims(function, *value)?;
            if had.len() == wanted.len() {
                let kept =
                    (0..had.len()).map(|axis| (all || had[axis] == wanted[axis]).then_some(axis));
                found = merged([found, picked(sharding, kept)]);
            }
        }
        found
    };
    operation.results.iter().map(same).collect()
}

/// The result of windows over operands, along the axes that it has in common with one.
fn windowed(
    function: &Function,
    operation: &Operation,
    known: &HashMap<Value, Sharding>,
) -> Derivation {
    let factors = factors_of(function, operation)?;
    let result = factors.results.first()?;
    let mut found = None;
    for (value, map) in operation.operands.iter().zip(&factors.operands) {
        let Some(sharding) = known.get(value) else { continue };
        let from = |list: &Vec<usize>| match list[..] {
            [factor] => map.iter().position(|own| *own == [factor]),
            _ => None,
        };
        found = merged([found, picked(sharding, result.iter().map(from))]);
    }
    found
}

/// Whether the parts of a value are alike.
pub(super) fn divides(sharding: &Sharding, function: &Function, value: Value) -> bool {
    extents(function, value)
        .is_some_and(|dims| dims.len() == sharding.shards.len() && sharding.shard(&dims).is_ok())
}

/// The extents of an array, where all are known.
fn extents(function: &Function, value: Value) -> Option<Vec<usize>> {
    dims(function, value)?.iter().map(|&dim| usize::try_from(dim).ok()).collect()
}

/// An attribute that lists axes; none where it is not there.
pub(super) fn axes(operation: &Operation, name: &str) -> Vec<usize> {
    let found = operation.attributes.integers(name).unwrap_or_default();
    found.into_iter().filter_map(|axis| usize::try_from(axis).ok()).collect()
}

/// The extents of an array.
pub(super) fn dims(function: &Function, value: Value) -> Option<&[i64]> {
    match function.values.get(value.0 as usize)? {
        Type::Tensor(tensor) | Type::Buffer(tensor) => Some(&tensor.dims),
        _ => None,
    }
}
