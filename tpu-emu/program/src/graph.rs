//! A program as nodes over numbered values: calls inlined, shapes known, operations lowered.
use rustc_hash::FxHashSet;
use std::sync::Arc;
use tpu_base::error::Result;
use tpu_base::tensor::Shape;
use tpu_kernels::elementwise::program::ElementwiseOp;
use tpu_kernels::movement::strided_view::Access;
use tpu_ops::{Cost, Kernel, Numerics, RegionCode};
use tpu_stablehlo::ir::LocationId;

/// A value: an index into the values of a [`Graph`]. One numbering serves the whole program, the code
/// inside of control flow included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ValueId(pub(crate) u32);

impl ValueId {
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// What is known of a value.
#[derive(Debug, Clone)]
pub struct ValueInfo {
    /// Type and extents where it is defined; other names of it may have other extents.
    pub shape: Shape,
    /// The bytes, where they are known at compile time.
    pub(crate) known: Option<Arc<[u8]>>,
}

/// What a node does.
#[derive(Debug, Clone)]
pub(crate) enum NodeKind {
    /// Elementwise; operands with one element serve every element.
    Elementwise(ElementwiseOp),
    /// Elements in another order.
    Access(Access),
    /// Counts along an axis.
    Iota(usize),
    /// One element everywhere.
    Splat(Arc<[u8]>),
    /// Bytes known at compile time.
    Constant(Arc<[u8]>),
    /// Anything else.
    Kernel(Arc<dyn Kernel>),
    /// `while`: the operands are the initial values.
    While(Arc<Subgraph>, Arc<Subgraph>),
    /// `if` and `case`: the operand is the branch's number, the last branch serves every number
    /// that is out of range.
    Branch(Vec<Subgraph>),
    /// Code that several devices run, one after the other.
    Each(Box<EachRow>),
}

/// Code that runs several times, each time over rows of its own: the operands and results of the
/// node are arrays with a row for each device, or for each set of devices that have the same. The
/// body's parameters are rows of the operands, its results are rows of the results in the order
/// of the runs, and it may read other values as they are.
#[derive(Debug, Clone)]
pub(crate) struct EachRow {
    /// The code.
    pub(crate) body: Subgraph,
    /// How often it runs.
    pub(crate) runs: usize,
    /// The row of each operand that each run reads.
    pub(crate) rows: Vec<Arc<[usize]>>,
    /// The device of each run; empty where nothing in the body asks which one it is.
    pub(crate) devices: Arc<[usize]>,
}

impl NodeKind {
    /// Whether something inside of control flow does more than give results.
    pub(crate) fn has_effect(&self) -> bool {
        self.blocks().any(|block| block.nodes.iter().any(|node| node.effect))
    }

    /// Whether each device runs it for itself, also where others have the same operands.
    pub(crate) fn is_own(&self) -> bool {
        let inside = |block: &Subgraph| block.nodes.iter().any(|node| node.work.is_own());
        match self {
            Self::Kernel(kernel) => kernel.is_own(),
            of => of.blocks().any(inside),
        }
    }

    /// Whether it is a product of matrices or a convolution.
    pub(crate) fn is_product(&self) -> bool {
        matches!(self, Self::Kernel(kernel) if kernel.absorbs() && kernel.reduction().is_none())
    }

    /// The blocks inside of control flow, in order.
    pub(crate) fn blocks(&self) -> impl Iterator<Item = &Subgraph> {
        let (pair, branches) = match self {
            Self::While(condition, body) => ([Some(&**condition), Some(&**body)], &[][..]),
            Self::Branch(branches) => ([None; 2], &branches[..]),
            Self::Each(each) => ([Some(&each.body), None], &[][..]),
            Self::Elementwise(_)
            | Self::Access(_)
            | Self::Iota(_)
            | Self::Splat(_)
            | Self::Constant(_)
            | Self::Kernel(_) => ([None; 2], &[][..]),
        };
        pair.into_iter().flatten().chain(branches)
    }

    /// The blocks inside of control flow, in order, to be changed.
    pub(crate) fn blocks_mut(&mut self) -> impl Iterator<Item = &mut Subgraph> {
        let (pair, branches) = match self {
            Self::While(condition, body) => {
                ([Some(Arc::make_mut(condition)), Some(Arc::make_mut(body))], &mut [][..])
            }
            Self::Branch(branches) => ([None, None], &mut branches[..]),
            Self::Each(each) => ([Some(&mut each.body), None], &mut [][..]),
            Self::Elementwise(_)
            | Self::Access(_)
            | Self::Iota(_)
            | Self::Splat(_)
            | Self::Constant(_)
            | Self::Kernel(_) => ([None, None], &mut [][..]),
        };
        pair.into_iter().flatten().chain(branches)
    }
}

/// What the name of an operation ends with that is made again for want of memory.
///
/// Source: XLA's `HloRematerialization`.
pub(crate) const REMATERIALIZED: &str = ".remat";

/// One node.
#[derive(Debug, Clone)]
pub struct Node {
    /// What it does.
    pub(crate) work: NodeKind,
    /// The values that it takes.
    pub(crate) operands: Vec<ValueId>,
    /// The operands' shapes as this node sees them; empty for control flow.
    pub(crate) shapes: Vec<Shape>,
    /// The values that it makes.
    pub results: Vec<ValueId>,
    /// The operation's name, for reports.
    pub name: Arc<str>,
    /// Where it was written.
    pub location: LocationId,
    /// Whether it does more than give results.
    pub(crate) effect: bool,
}

impl Node {
    /// The values that the node reads, and all that blocks inside of it read.
    pub(crate) fn reads(&self) -> Vec<ValueId> {
        let mut read = Vec::new();
        self.each_read(&mut |value| read.push(value));
        read
    }

    fn each_read(&self, read: &mut dyn FnMut(ValueId)) {
        self.operands.iter().for_each(|&value| read(value));
        self.each_inner_read(read);
    }

    /// Names the values that blocks inside of the node read, those that they make among them.
    pub(crate) fn each_inner_read(&self, read: &mut dyn FnMut(ValueId)) {
        for block in self.work.blocks() {
            block.nodes.iter().for_each(|node| node.each_read(read));
            block.results.iter().for_each(|&value| read(value));
        }
    }

    /// The element that the result of a node is everywhere.
    pub(crate) fn only_element(&self, graph: &Graph) -> Option<Arc<[u8]>> {
        match &self.work {
            NodeKind::Splat(element) => Some(Arc::clone(element)),
            NodeKind::Constant(bytes) => {
                let elements = graph.value(*self.results.first()?).shape.elements();
                (elements == 1).then(|| Arc::clone(bytes))
            }
            NodeKind::Access(access) if access.strides.iter().all(|&stride| stride == 0) => {
                let of = graph.value(*self.operands.first()?);
                let width = of.shape.dtype.host_bytes();
                let start = access.offset * width;
                of.known.as_ref()?.get(start..start + width).map(Arc::from)
            }
            _ => None,
        }
    }
}

/// Straight-line nodes with parameters and results.
#[derive(Debug, Clone, Default)]
pub struct Subgraph {
    /// The values that it is given.
    pub parameters: Vec<ValueId>,
    /// The nodes, each after those whose values it takes.
    pub nodes: Vec<Node>,
    /// The values that it gives.
    pub results: Vec<ValueId>,
}

/// Makes code that runs a whole program for each element, with parameters and results of these
/// shapes.
pub type BodyMaker = fn(Graph, Vec<Shape>, Vec<Shape>) -> Result<Arc<dyn RegionCode>>;

/// A whole program.
#[derive(Debug, Clone, Default)]
pub struct Graph {
    pub(crate) values: Vec<ValueInfo>,
    /// The program from its parameters to its results.
    pub main: Subgraph,
    /// Arithmetic of one run, every loop's body counted once.
    pub cost: Cost,
    /// Bytes that operations read and write, counted the same way.
    pub bytes_accessed: f64,
    /// Custom calls.
    pub(crate) calls: usize,
    /// How it computes.
    pub(crate) numerics: Numerics,
    /// Whether it draws random numbers without a state.
    pub draws: bool,
    /// Values that an `optimization_barrier` hands on, as `jax.checkpoint` keeps them: a chip stores
    /// each of them.
    pub(crate) handed_on: FxHashSet<ValueId>,
}

impl Graph {
    /// Adds a value.
    pub(crate) fn add(&mut self, shape: Shape) -> ValueId {
        let id = u32::try_from(self.values.len()).unwrap_or(u32::MAX);
        self.values.push(ValueInfo { shape, known: None });
        ValueId(id)
    }

    /// Changes each block of the program, those inside of control flow before the one around them.
    pub(crate) fn each_block(&mut self, change: &mut dyn FnMut(&mut Self, &mut Subgraph)) {
        fn block(
            graph: &mut Graph,
            code: &mut Subgraph,
            change: &mut dyn FnMut(&mut Graph, &mut Subgraph),
        ) {
            for node in &mut code.nodes {
                node.work.blocks_mut().for_each(|inner| block(graph, inner, change));
            }
            change(graph, code);
        }
        let mut main = std::mem::take(&mut self.main);
        block(self, &mut main, change);
        self.main = main;
    }

    /// The description of a value.
    pub fn value(&self, id: ValueId) -> &ValueInfo {
        &self.values[id.index()]
    }

    /// Bytes of a value.
    pub(crate) fn bytes(&self, id: ValueId) -> usize {
        self.value(id).shape.bytes()
    }
}
