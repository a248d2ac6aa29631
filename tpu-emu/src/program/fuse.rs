//! Runs of elementwise nodes become one loop over tiles. What is not elementwise stays a step of
//! its own; what nobody needs disappears.
mod grouping;
pub(crate) mod rows;

use super::graph::{Block, Graph, Node, ValueId, Work};
use super::tactics::Tactics;
use crate::kernels::access::AccessMap;
use crate::kernels::lane_code::{Feed, LaneCode};
use crate::kernels::lanes::{LaneConstant, LaneProgram, LaneStep, Register};
use crate::ops::Kernel;
use crate::tensor::{DType, Shape};
use rows::Rows;
use std::collections::HashMap;
use std::sync::Arc;
use tpu_stablehlo::ir::LocationId;

/// Operations that one loop may hold.
const STEPS: usize = 48;
/// Arrays that one loop may read.
const LOADS: usize = 24;

/// How a loop reads one of its parameters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Load {
    /// Element `i` of the operand for element `i` of the result.
    Dense(usize),
    /// Elements of the operand in another order.
    Map(usize, AccessMap),
    /// Counts along an axis: elements an index, indices.
    Iota(usize, usize),
}

impl Load {
    /// Whether it is one element for the whole loop.
    fn feed(&self) -> Feed {
        match self {
            Self::Map(_, map) if map.is_one_element() => Feed::One,
            _ => Feed::Each,
        }
    }
}

/// One loop over `elements` elements.
#[derive(Debug, Clone)]
pub(crate) struct Fused {
    pub(crate) elements: usize,
    /// One a parameter of the program.
    pub(crate) loads: Vec<Load>,
    pub(crate) code: LaneCode,
}

/// What a step does.
#[derive(Debug, Clone)]
pub(crate) enum StepWork {
    Fused(Arc<Fused>),
    Rows(Arc<Rows>),
    Kernel(Arc<dyn Kernel>),
    While(Code, Code),
    Branch(Vec<Code>),
}

/// A step, before it is known where its values lie.
#[derive(Debug, Clone)]
pub(crate) struct FusedStep {
    pub(crate) work: StepWork,
    pub(crate) operands: Vec<ValueId>,
    pub(crate) results: Vec<ValueId>,
    pub(crate) name: Arc<str>,
    pub(crate) location: LocationId,
}

impl StepWork {
    /// Whether a result may lie where an operand lies that has the same size and that nobody
    /// needs afterwards.
    pub(crate) fn takes_over(&self, operand: usize, result: usize) -> bool {
        match self {
            Self::Fused(fused) => fused.reads_densely(operand),
            Self::Rows(rows) => rows.takes_over(operand, result),
            Self::Kernel(kernel) => kernel.starts_from(result) == Some(operand),
            Self::While(..) | Self::Branch(_) => false,
        }
    }
}

/// A block of steps.
#[derive(Debug, Clone, Default)]
pub(crate) struct Code {
    pub(crate) parameters: Vec<ValueId>,
    pub(crate) steps: Vec<FusedStep>,
    pub(crate) results: Vec<ValueId>,
}

/// Fuses a program. Constants that steps read get a `known` value in the graph.
pub(crate) fn fuse(graph: &mut Graph, tactics: Tactics) -> Code {
    let mut main = std::mem::take(&mut graph.main);
    prune(&mut main);
    let code = Fuser::new(graph, tactics).block(&main);
    if tactics.fuse { grouping::group(graph, code) } else { code }
}

/// Removes nodes whose results nobody reads and that do nothing else.
fn prune(block: &mut Block) -> std::collections::HashSet<ValueId> {
    let mut used: std::collections::HashSet<ValueId> = block.results.iter().copied().collect();
    let mut kept = Vec::new();
    for mut node in std::mem::take(&mut block.nodes).into_iter().rev() {
        if !node.effect && !node.results.iter().any(|result| used.contains(result)) {
            continue;
        }
        used.extend(node.operands.iter().copied());
        match &mut node.work {
            Work::While(condition, body) => {
                for block in [condition, body] {
                    used.extend(prune(Arc::make_mut(block)));
                }
            }
            Work::Branch(blocks) => {
                for block in blocks {
                    used.extend(prune(block));
                }
            }
            _ => {}
        }
        kept.push(node);
    }
    kept.reverse();
    block.nodes = kept;
    used
}

/// A loop that is being built.
struct Group {
    elements: usize,
    open: bool,
    loads: Vec<Load>,
    operands: Vec<ValueId>,
    program: LaneProgram,
    /// Registers of the values inside.
    registers: HashMap<ValueId, Register>,
    /// Values that others read.
    outputs: Vec<ValueId>,
    name: Arc<str>,
    location: LocationId,
}

/// A value that costs next to nothing to make where it is read.
#[derive(Clone)]
enum Source {
    Map(ValueId, AccessMap, DType, usize),
    Iota(DType, usize, usize, usize),
    Splat(Arc<[u8]>, DType, usize),
}

impl Source {
    /// Whether the elements that it makes are those of this shape.
    fn makes(&self, shape: &Shape) -> bool {
        let (Self::Map(.., dtype, elements)
        | Self::Iota(dtype, .., elements)
        | Self::Splat(_, dtype, elements)) = self;
        *dtype == shape.dtype && *elements == shape.elements()
    }
}

enum Item {
    Group(usize),
    Step(Box<FusedStep>),
}

struct Fuser<'g> {
    graph: &'g mut Graph,
    tactics: Tactics,
    groups: Vec<Group>,
    /// The group that defines a value.
    home: HashMap<ValueId, usize>,
    sources: HashMap<ValueId, (Source, Arc<str>, LocationId)>,
    order: Vec<Item>,
}

impl<'g> Fuser<'g> {
    fn new(graph: &'g mut Graph, tactics: Tactics) -> Self {
        Self {
            graph,
            tactics,
            groups: Vec::new(),
            home: HashMap::new(),
            sources: HashMap::new(),
            order: Vec::new(),
        }
    }

    fn block(mut self, block: &Block) -> Code {
        for node in &block.nodes {
            self.node(node);
            if !self.tactics.fuse {
                node.results.iter().for_each(|&result| self.require(result));
            }
        }
        for &result in &block.results {
            self.require(result);
        }
        for index in 0..self.groups.len() {
            self.close(index);
        }
        let order = std::mem::take(&mut self.order);
        let mut groups: Vec<Option<Group>> = self.groups.into_iter().map(Some).collect();
        let steps = order.into_iter().filter_map(|item| match item {
            Item::Step(step) => Some(*step),
            Item::Group(index) => groups[index].take().and_then(finish),
        });
        Code {
            parameters: block.parameters.clone(),
            steps: steps.collect(),
            results: block.results.clone(),
        }
    }

    fn node(&mut self, node: &Node) {
        let source = |source| (source, Arc::clone(&node.name), node.location);
        match &node.work {
            Work::Lane(_) => self.lane(node),
            Work::Access(access) => {
                self.require(node.operands[0]);
                let result = self.graph.value(node.results[0]).shape.clone();
                let map = AccessMap::new(access, &result.dims);
                let elements = result.elements();
                let made = Source::Map(node.operands[0], map, result.dtype, elements);
                self.sources.insert(node.results[0], source(made));
            }
            Work::Iota(axis) => {
                let shape = self.graph.value(node.results[0]).shape.clone();
                let inner = shape.dims[axis + 1..].iter().product();
                let made = Source::Iota(shape.dtype, inner, shape.dims[*axis], shape.elements());
                self.sources.insert(node.results[0], source(made));
            }
            Work::Splat(element) => {
                let shape = &self.graph.value(node.results[0]).shape;
                let made = Source::Splat(Arc::clone(element), shape.dtype, shape.elements());
                self.sources.insert(node.results[0], source(made));
            }
            Work::Constant(bytes) => {
                self.graph.values[node.results[0].index()].known = Some(Arc::clone(bytes));
            }
            Work::Kernel(kernel) => {
                node.operands.iter().for_each(|&operand| self.require(operand));
                self.step(node, StepWork::Kernel(Arc::clone(kernel)));
            }
            Work::While(condition, body) => {
                node.operands.iter().for_each(|&operand| self.require(operand));
                self.require_free(condition);
                self.require_free(body);
                let condition = Fuser::new(self.graph, self.tactics).block(condition);
                let body = Fuser::new(self.graph, self.tactics).block(body);
                self.step(node, StepWork::While(condition, body));
            }
            Work::Branch(blocks) => {
                node.operands.iter().for_each(|&operand| self.require(operand));
                blocks.iter().for_each(|block| self.require_free(block));
                let blocks = blocks
                    .iter()
                    .map(|block| Fuser::new(self.graph, self.tactics).block(block))
                    .collect();
                self.step(node, StepWork::Branch(blocks));
            }
        }
    }

    fn step(&mut self, node: &Node, work: StepWork) {
        let step = FusedStep {
            work,
            operands: node.operands.clone(),
            results: node.results.clone(),
            name: Arc::clone(&node.name),
            location: node.location,
        };
        self.order.push(Item::Step(Box::new(step)));
    }

    /// Makes what a nested block reads from outside.
    fn require_free(&mut self, block: &Block) {
        for node in &block.nodes {
            node.operands.iter().for_each(|&operand| self.require(operand));
            match &node.work {
                Work::While(condition, body) => {
                    self.require_free(condition);
                    self.require_free(body);
                }
                Work::Branch(blocks) => blocks.iter().for_each(|block| self.require_free(block)),
                _ => {}
            }
        }
        block.results.iter().for_each(|&result| self.require(result));
    }

    /// Makes a value available in memory.
    fn require(&mut self, value: ValueId) {
        if let Some((source, name, location)) = self.sources.remove(&value) {
            let elements = match &source {
                Source::Map(.., elements)
                | Source::Iota(.., elements)
                | Source::Splat(.., elements) => *elements,
            };
            let index = self.open(elements, name, location);
            let register = self.load(index, &source);
            self.groups[index].registers.insert(value, register);
            self.home.insert(value, index);
        }
        if let Some(&index) = self.home.get(&value) {
            let group = &mut self.groups[index];
            if !group.outputs.contains(&value) {
                group.outputs.push(value);
            }
            self.close(index);
        }
    }

    fn open(&mut self, elements: usize, name: Arc<str>, location: LocationId) -> usize {
        self.groups.push(Group {
            elements,
            open: true,
            loads: Vec::new(),
            operands: Vec::new(),
            program: LaneProgram::default(),
            registers: HashMap::new(),
            outputs: Vec::new(),
            name,
            location,
        });
        self.groups.len() - 1
    }

    fn close(&mut self, index: usize) {
        if std::mem::replace(&mut self.groups[index].open, false) {
            self.order.push(Item::Group(index));
        }
    }

    fn lane(&mut self, node: &Node) {
        let Work::Lane(op) = &node.work else { return };
        let result = node.results[0];
        let elements = self.graph.value(result).shape.elements();
        let joined = node.operands.iter().filter_map(|operand| self.home.get(operand).copied());
        // A value that is read whole for each element cannot come from the loop that reads it.
        let makes = |index: usize| {
            let mut read = node.operands.iter().zip(&node.shapes);
            read.any(|(value, shape)| {
                shape.elements() != elements && self.home.get(value) == Some(&index)
            })
        };
        let fits = |&index: &usize| {
            let group = &self.groups[index];
            group.open
                && group.elements == elements
                && !makes(index)
                && group.program.steps.len() < STEPS
                && group.loads.len() + node.operands.len() <= LOADS
        };
        let found = joined.filter(fits).max();
        let index =
            found.unwrap_or_else(|| self.open(elements, Arc::clone(&node.name), node.location));
        let mut inputs = Vec::with_capacity(node.operands.len());
        for (&operand, shape) in node.operands.iter().zip(&node.shapes) {
            inputs.push(self.input(index, operand, shape, elements));
        }
        let group = &mut self.groups[index];
        group.program.steps.push(LaneStep { op: *op, inputs });
        let register = Register::Step(group.program.steps.len() - 1);
        group.registers.insert(result, register);
        group.name = Arc::clone(&node.name);
        group.location = node.location;
        self.home.insert(result, index);
    }

    /// The register of an operand in a group.
    fn input(&mut self, index: usize, value: ValueId, shape: &Shape, elements: usize) -> Register {
        let same = shape.elements() == elements;
        if same {
            if let Some(&register) = self.groups[index].registers.get(&value) {
                return register;
            }
            // The bytes may have another name here, as elements of another width.
            let source = self.sources.get(&value).map(|(source, ..)| source);
            if let Some(source) = source.filter(|source| source.makes(shape)) {
                let source = source.clone();
                let register = self.load(index, &source);
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
        let load = if same {
            Load::Dense(operand)
        } else {
            let one = crate::ops::Access { offset: 0, strides: vec![0] };
            Load::Map(operand, AccessMap::new(&one, &[elements]))
        };
        let register = group.parameter(load, shape.dtype);
        if same {
            group.registers.insert(value, register);
        }
        register
    }

    fn load(&mut self, index: usize, source: &Source) -> Register {
        match source {
            Source::Splat(element, dtype, _) => self.constant(index, *dtype, element),
            Source::Iota(dtype, inner, extent, _) => {
                self.groups[index].parameter(Load::Iota(*inner, *extent), *dtype)
            }
            Source::Map(operand, map, dtype, _) => {
                if map.is_one_element() {
                    let known = self.graph.value(*operand).known.clone();
                    let width = dtype.host_bytes();
                    if let Some(known) = known.filter(|known| known.len() == width) {
                        return self.constant(index, *dtype, &known);
                    }
                }
                let group = &mut self.groups[index];
                let operand = push_operand(&mut group.operands, *operand);
                group.parameter(Load::Map(operand, map.clone()), *dtype)
            }
        }
    }

    fn constant(&mut self, index: usize, dtype: DType, bytes: &[u8]) -> Register {
        let constants = &mut self.groups[index].program.constants;
        let constant = LaneConstant { dtype, bytes: bytes.into() };
        let found = constants.iter().position(|known| *known == constant);
        Register::Constant(found.unwrap_or_else(|| {
            constants.push(constant);
            constants.len() - 1
        }))
    }
}

impl Group {
    fn parameter(&mut self, load: Load, dtype: DType) -> Register {
        let same = |(known, of): (&Load, &DType)| *known == load && *of == dtype;
        let parameters = &mut self.program.parameters;
        let found = self.loads.iter().zip(parameters.iter()).position(same);
        Register::Parameter(found.unwrap_or_else(|| {
            self.loads.push(load);
            parameters.push(dtype);
            parameters.len() - 1
        }))
    }
}

fn push_operand(operands: &mut Vec<ValueId>, value: ValueId) -> usize {
    operands.iter().position(|&known| known == value).unwrap_or_else(|| {
        operands.push(value);
        operands.len() - 1
    })
}

/// The step of a group; `None` where nobody reads what it makes.
fn finish(group: Group) -> Option<FusedStep> {
    let Group {
        elements, loads, operands, mut program, registers, outputs, name, location, ..
    } = group;
    if outputs.is_empty() {
        return None;
    }
    program.results = outputs.iter().map(|output| registers[output]).collect();
    let feeds = loads.iter().map(Load::feed).collect();
    let fused = Fused { elements, loads, code: LaneCode::new(program, feeds) };
    let work = StepWork::Fused(Arc::new(fused));
    Some(FusedStep { work, operands, results: outputs, name, location })
}
