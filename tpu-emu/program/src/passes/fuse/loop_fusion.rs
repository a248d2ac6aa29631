//! Builds loops: elementwise nodes join the loops of what they read.

use super::concat::ConcatView;
use super::{EachStep, FusedStep, LoopInput, StepBlock, StepKind};
use crate::graph::{Graph, Node, NodeKind, Subgraph, ValueId};
use crate::passes::fuse::loop_builder::{Group, finish, push_operand};
use crate::tuning::{MAX_FUSED_LOADS, MIN_BLOCKED_TRANSPOSE_ELEMENTS};
use rustc_hash::FxHashMap;
use std::sync::Arc;
use tpu_base::tensor::{DType, Shape};
use tpu_kernels::aligned::Aligned;
use tpu_kernels::elementwise::program::{ElementwiseOp, Instr, Register};
use tpu_kernels::movement::strided_view::AccessMap;
use tpu_stablehlo::ir::LocationId;

/// A value that costs next to nothing to make where it is read.
#[derive(Clone)]
pub(crate) enum Source {
    Strided(ValueId, AccessMap, DType, usize),
    Iota(DType, usize, usize, usize),
    Splat(Arc<[u8]>, DType, usize),
    /// Of these values; with the node that makes all of it, where it is all of it.
    Concat(Vec<ValueId>, ConcatView, Option<Box<Node>>, DType, usize),
}

impl Source {
    /// Whether the elements that it makes are those of this shape.
    pub(crate) fn makes(&self, shape: &Shape) -> bool {
        let (Self::Strided(.., dtype, elements)
        | Self::Iota(dtype, .., elements)
        | Self::Concat(.., dtype, elements)
        | Self::Splat(_, dtype, elements)) = self;
        *dtype == shape.dtype && *elements == shape.elements()
    }
}

enum Item {
    Group(usize),
    Step(Box<FusedStep>),
}

/// Makes steps of a program; where `fuses` is not set, a loop for each elementwise operation.
/// Constants that steps read get a `known` value in the graph.
pub(crate) fn fuse(graph: &mut Graph, fuses: bool) -> StepBlock {
    let main = std::mem::take(&mut graph.main);
    let code = Fuser::new(graph, fuses).block(&main);
    graph.main = main;
    code
}

/// Turns the nodes of a block into steps.
pub(super) struct Fuser<'g> {
    pub(crate) graph: &'g mut Graph,
    fuses: bool,
    pub(crate) groups: Vec<Group>,
    /// The group that defines a value.
    pub(super) group_of: FxHashMap<ValueId, usize>,
    pub(crate) sources: FxHashMap<ValueId, (Source, Arc<str>, LocationId)>,
    /// Steps and groups, each with the node after which it can run.
    order: Vec<(usize, Item)>,
    /// Nodes so far.
    clock: usize,
}

impl<'g> Fuser<'g> {
    pub(super) fn new(graph: &'g mut Graph, fuses: bool) -> Self {
        Self {
            graph,
            fuses,
            groups: Vec::new(),
            group_of: FxHashMap::default(),
            sources: FxHashMap::default(),
            order: Vec::new(),
            clock: 0,
        }
    }

    /// The steps of a block.
    pub(super) fn block(mut self, block: &Subgraph) -> StepBlock {
        for node in &block.nodes {
            self.node(node);
            if !self.fuses {
                node.results.iter().for_each(|&result| self.require(result));
            }
        }
        for &result in &block.results {
            self.require(result);
        }
        for index in 0..self.groups.len() {
            self.close(index);
        }
        let mut order = std::mem::take(&mut self.order);
        order.sort_by_key(|&(at, _)| at);
        let mut groups: Vec<Option<Group>> = self.groups.into_iter().map(Some).collect();
        let steps = order.into_iter().filter_map(|(_, item)| match item {
            Item::Step(step) => Some(*step),
            Item::Group(index) => groups[index].take().and_then(finish),
        });
        StepBlock {
            parameters: block.parameters.clone(),
            steps: steps.collect(),
            results: block.results.clone(),
        }
    }

    fn node(&mut self, node: &Node) {
        let source = |source| (source, Arc::clone(&node.name), node.location);
        self.clock += 1;
        match &node.work {
            NodeKind::Elementwise(_) => self.elementwise(node),
            NodeKind::Access(access) => {
                let result = self.graph.value(node.results[0]).shape.clone();
                let map = AccessMap::new(access, &result.dims);
                if self.fuses && self.widens_part(node, &map, &result) {
                    return;
                }
                let made = self.read(node.operands[0], &node.shapes[0], map, &result);
                self.sources.insert(node.results[0], source(made));
            }
            NodeKind::Iota(axis) => {
                let shape = self.graph.value(node.results[0]).shape.clone();
                let inner = shape.dims[axis + 1..].iter().product();
                let made = Source::Iota(shape.dtype, inner, shape.dims[*axis], shape.elements());
                self.sources.insert(node.results[0], source(made));
            }
            NodeKind::Splat(element) => {
                let shape = &self.graph.value(node.results[0]).shape;
                let made = Source::Splat(Arc::clone(element), shape.dtype, shape.elements());
                self.sources.insert(node.results[0], source(made));
            }
            NodeKind::Constant(bytes) => {
                self.graph.values[node.results[0].index()].known = Some(Arc::clone(bytes));
            }
            NodeKind::Kernel(kernel) => {
                let known = |fuser: &mut Self| {
                    fuser.lookup(node, kernel.as_ref()) || fuser.concat_view(node, kernel.as_ref())
                };
                if self.fuses && known(self) {
                    return;
                }
                if self.fuses && kernel.joins().is_some() {
                    return self.joined(node);
                }
                node.operands.iter().for_each(|&operand| self.require(operand));
                self.step(node, StepKind::Kernel(Arc::clone(kernel)));
            }
            NodeKind::While(condition, body) => {
                node.operands.iter().for_each(|&operand| self.require(operand));
                self.require_free(condition);
                self.require_free(body);
                let condition = Fuser::new(self.graph, self.fuses).block(condition);
                let body = Fuser::new(self.graph, self.fuses).block(body);
                self.step(node, StepKind::While { condition, body, scalar: None });
            }
            NodeKind::Branch(blocks) => {
                node.operands.iter().for_each(|&operand| self.require(operand));
                blocks.iter().for_each(|block| self.require_free(block));
                let blocks = blocks
                    .iter()
                    .map(|block| Fuser::new(self.graph, self.fuses).block(block))
                    .collect();
                self.step(node, StepKind::Branch(blocks));
            }
            NodeKind::Each(each) => {
                node.operands.iter().for_each(|&operand| self.require(operand));
                self.require_free(&each.body);
                let body = Fuser::new(self.graph, self.fuses).block(&each.body);
                let row = |&made: &ValueId| {
                    let shape = self.graph.value(made).shape.clone();
                    self.graph.add(shape)
                };
                let made = each.body.results.iter().map(row).collect();
                let (runs, rows) = (each.runs, each.rows.clone());
                let devices = Arc::clone(&each.devices);
                let each = EachStep { body, made, runs, rows, devices };
                self.step(node, StepKind::Each(Box::new(each)));
            }
        }
    }

    pub(crate) fn step(&mut self, node: &Node, kind: StepKind) {
        let step = FusedStep {
            kind,
            operands: node.operands.clone(),
            results: node.results.clone(),
            name: Arc::clone(&node.name),
            location: node.location,
        };
        self.order.push((self.clock, Item::Step(Box::new(step))));
    }

    /// The source of a value that has the elements of another one in another order.
    pub(crate) fn read(
        &mut self,
        operand: ValueId,
        shape: &Shape,
        map: AccessMap,
        result: &Shape,
    ) -> Source {
        let (dtype, elements) = (result.dtype, result.elements());
        let known = self.sources.get(&operand).map(|(source, ..)| source);
        let composed = match known.filter(|source| source.makes(shape)) {
            Some(Source::Splat(element, ..)) => {
                Some(Source::Splat(Arc::clone(element), dtype, elements))
            }
            Some(Source::Strided(base, inner, ..)) => {
                map.of(inner).map(|map| Source::Strided(*base, map, dtype, elements))
            }
            Some(Source::Concat(values, view, ..)) => map.run().and_then(|first| {
                let some = view.some(first, elements)?;
                Some(Source::Concat(values.clone(), some, None, dtype, elements))
            }),
            Some(Source::Iota(_, 1, extent, count)) if extent == count => {
                map.counts().map(|(inner, extent)| Source::Iota(dtype, inner, extent, elements))
            }
            _ => None,
        };
        composed.unwrap_or_else(|| {
            self.require(operand);
            Source::Strided(operand, map, dtype, elements)
        })
    }

    /// Makes what a nested block reads from outside.
    fn require_free(&mut self, block: &Subgraph) {
        for node in &block.nodes {
            node.operands.iter().for_each(|&operand| self.require(operand));
            match &node.work {
                NodeKind::While(condition, body) => {
                    self.require_free(condition);
                    self.require_free(body);
                }
                NodeKind::Branch(blocks) => {
                    blocks.iter().for_each(|block| self.require_free(block))
                }
                NodeKind::Each(each) => self.require_free(&each.body),
                _ => {}
            }
        }
        block.results.iter().for_each(|&result| self.require(result));
    }

    /// Makes a value available in memory.
    pub(crate) fn require(&mut self, value: ValueId) {
        if let Some((source, name, location)) = self.sources.remove(&value) {
            if let Source::Concat(_, _, Some(node), ..) = &source {
                return self.joined(node);
            }
            let elements = match &source {
                Source::Strided(.., elements)
                | Source::Iota(.., elements)
                | Source::Concat(.., elements)
                | Source::Splat(.., elements) => *elements,
            };
            let index = self.open(elements, name, location);
            let register = self.source_input(index, &source);
            self.groups[index].registers.insert(value, register);
            self.group_of.insert(value, index);
        }
        if let Some(&index) = self.group_of.get(&value) {
            let group = &mut self.groups[index];
            if !group.outputs.contains(&value) {
                group.outputs.push(value);
            }
            self.close(index);
        }
    }

    pub(crate) fn open(&mut self, elements: usize, name: Arc<str>, location: LocationId) -> usize {
        self.groups.push(Group {
            elements,
            open: true,
            at: self.clock,
            name,
            location: Some(location),
            ..Group::default()
        });
        self.groups.len() - 1
    }

    fn close(&mut self, index: usize) {
        if std::mem::replace(&mut self.groups[index].open, false) {
            self.order.push((self.groups[index].at, Item::Group(index)));
        }
    }

    fn elementwise(&mut self, node: &Node) {
        let NodeKind::Elementwise(op) = &node.work else { return };
        let result = node.results[0];
        let elements = self.graph.value(result).shape.elements();
        if let Some(element) = self.one_element(node, op) {
            let made = Source::Splat(element, op.result, elements);
            self.sources.insert(result, (made, Arc::clone(&node.name), node.location));
            return;
        }
        let index = self.join(node, &node.operands, &node.shapes, elements);
        let mut inputs = Vec::with_capacity(node.operands.len());
        for (&operand, shape) in node.operands.iter().zip(&node.shapes) {
            inputs.push(self.input(index, operand, shape, elements));
        }
        let register = self.groups[index].operation(*op, inputs);
        self.define(index, node, register);
    }

    /// The loop that makes something of operands, of one or several that make them.
    pub(crate) fn join(
        &mut self,
        node: &Node,
        operands: &[ValueId],
        shapes: &[Shape],
        elements: usize,
    ) -> usize {
        let joined = operands.iter().filter_map(|operand| self.group_of.get(operand).copied());
        // A value that is read whole for each element cannot come from the loop that reads it.
        let makes = |index: usize| {
            let mut read = operands.iter().zip(shapes);
            read.any(|(value, shape)| {
                shape.elements() != elements && self.group_of.get(value) == Some(&index)
            })
        };
        let fits = |&index: &usize| {
            let group = &self.groups[index];
            group.open
                && group.elements == elements
                && !makes(index)
                && Group::have_room(&[group])
                && group.inputs.len() + operands.len() <= MAX_FUSED_LOADS
        };
        let mut found: Vec<usize> = joined.filter(fits).collect();
        found.sort_unstable();
        found.dedup();
        let index = found
            .pop()
            .unwrap_or_else(|| self.open(elements, Arc::clone(&node.name), node.location));
        for other in found {
            self.merge(index, other, operands.len());
        }
        index
    }

    /// Says which register of a loop holds what a node makes.
    pub(crate) fn define(&mut self, index: usize, node: &Node, register: Register) {
        let group = &mut self.groups[index];
        let result = node.results[0];
        group.registers.insert(result, register);
        group.name = Arc::clone(&node.name);
        group.location = Some(node.location);
        group.at = self.clock;
        self.group_of.insert(result, index);
    }

    /// The element that all elements of a result are, where those of the operands are known.
    fn one_element(&self, node: &Node, op: &ElementwiseOp) -> Option<Arc<[u8]>> {
        let known = |(&value, shape): (&ValueId, &Shape)| match self.sources.get(&value) {
            Some((source @ Source::Splat(element, ..), ..)) if source.makes(shape) => {
                Some(Aligned::of(element))
            }
            _ if shape.elements() == 1 => self.graph.value(value).known.as_deref().map(Aligned::of),
            _ => None,
        };
        let inputs: Vec<Aligned> =
            node.operands.iter().zip(&node.shapes).map(known).collect::<Option<_>>()?;
        let inputs: Vec<&[u8]> = inputs.iter().map(Aligned::bytes).collect();
        let mut output = Aligned::zeros(op.result.host_bytes());
        (op.run)(op.immediate, &inputs, output.bytes_mut());
        Some(output.bytes().into())
    }

    /// Makes two loops that are being built one, if it does not get too large. Neither reads
    /// what the other one makes: it would not be open any more.
    pub(super) fn merge(&mut self, index: usize, other: usize, more: usize) {
        let (one, two) = (&self.groups[index], &self.groups[other]);
        let loads = one.inputs.len() + two.inputs.len() + more;
        if !Group::have_room(&[one, two]) || loads > MAX_FUSED_LOADS {
            return;
        }
        let moved = std::mem::take(&mut self.groups[other]);
        let group = &mut self.groups[index];
        let mut parameters = Vec::with_capacity(moved.inputs.len());
        for (input, &dtype) in moved.inputs.into_iter().zip(&moved.program.parameters) {
            let input = group.renumbered(input, &moved.operands);
            parameters.push(group.parameter(input, dtype));
        }
        let constants = moved.program.constants.iter();
        let constants: Vec<Register> =
            constants.map(|constant| group.constant(constant.dtype, &constant.bytes)).collect();
        group.at = group.at.max(moved.at);
        let mut steps = Vec::with_capacity(moved.program.steps.len());
        let renamed = |register: Register, steps: &[Register]| match register {
            Register::Parameter(index) => parameters[index],
            Register::Constant(index) => constants[index],
            Register::Step(index) => steps[index],
        };
        for Instr { op, inputs } in moved.program.steps {
            let inputs = inputs.into_iter().map(|input| renamed(input, &steps)).collect();
            steps.push(group.operation(op, inputs));
        }
        let mut names: Vec<(ValueId, Register)> = moved.registers.into_iter().collect();
        names.sort_unstable_by_key(|&(value, _)| value);
        for (value, register) in names {
            group.registers.entry(value).or_insert_with(|| renamed(register, &steps));
            if self.group_of.get(&value) == Some(&other) {
                self.group_of.insert(value, index);
            }
        }
    }

    /// The register of an operand in a group.
    pub(crate) fn input(
        &mut self,
        index: usize,
        value: ValueId,
        shape: &Shape,
        elements: usize,
    ) -> Register {
        let same = shape.elements() == elements;
        if same {
            if let Some(&register) = self.groups[index].registers.get(&value) {
                return register;
            }
            let blocks = |source: &Source| match source {
                Source::Strided(_, map, _, elements) => {
                    *elements >= MIN_BLOCKED_TRANSPOSE_ELEMENTS && map.wants_blocks()
                }
                _ => false,
            };
            if self.sources.get(&value).is_some_and(|(source, ..)| blocks(source)) {
                self.require(value);
            }
            // The bytes may have another name here, as elements of another width.
            let source = self.sources.get(&value).map(|(source, ..)| source);
            if let Some(source) = source.filter(|source| source.makes(shape)) {
                let source = source.clone();
                let register = self.source_input(index, &source);
                self.groups[index].registers.insert(value, register);
                return register;
            }
        }
        if shape.elements() == 1 {
            if let Some(known) = self.graph.value(value).known.clone() {
                return self.constant(index, shape.dtype, &known);
            }
            let source = self.sources.get(&value).map(|(source, ..)| source);
            if let Some(Source::Splat(element, ..)) = source.filter(|source| source.makes(shape)) {
                let element = Arc::clone(element);
                return self.constant(index, shape.dtype, &element);
            }
        }
        // A scalar that this very loop makes cannot be there before the loop runs.
        self.require(value);
        let group = &mut self.groups[index];
        let operand = push_operand(&mut group.operands, value);
        let input = if same {
            LoopInput::Dense(operand)
        } else {
            let one = tpu_kernels::movement::strided_view::Access { offset: 0, strides: vec![0] };
            LoopInput::Strided(operand, AccessMap::new(&one, &[elements]))
        };
        let register = group.parameter(input, shape.dtype);
        if same {
            group.registers.insert(value, register);
        }
        register
    }

    pub(crate) fn source_input(&mut self, index: usize, source: &Source) -> Register {
        match source {
            Source::Splat(element, dtype, _) => self.constant(index, *dtype, element),
            Source::Iota(dtype, inner, extent, _) => {
                self.groups[index].parameter(LoopInput::Iota(*inner, *extent), *dtype)
            }
            Source::Concat(values, view, _, dtype, _) => {
                let group = &mut self.groups[index];
                let input = group.renumbered(LoopInput::Concat(view.clone()), values);
                group.parameter(input, *dtype)
            }
            Source::Strided(operand, map, dtype, _) => {
                if map.is_one_element() {
                    let known = self.graph.value(*operand).known.clone();
                    let width = dtype.host_bytes();
                    if let Some(known) = known.filter(|known| known.len() == width) {
                        return self.constant(index, *dtype, &known);
                    }
                }
                let group = &mut self.groups[index];
                let operand = push_operand(&mut group.operands, *operand);
                group.parameter(LoopInput::Strided(operand, map.clone()), *dtype)
            }
        }
    }

    pub(crate) fn constant(&mut self, index: usize, dtype: DType, bytes: &[u8]) -> Register {
        self.groups[index].constant(dtype, bytes)
    }
}
