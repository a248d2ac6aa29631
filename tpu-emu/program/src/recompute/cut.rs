//! What is read late is cut from what is made early.
use super::flow::{Network, WITHOUT_LIMIT};
use super::sums::Sums;
use crate::graph::{Graph, Node, NodeKind, Subgraph, ValueId};
use crate::partition::is_planned_gather;
use crate::tuning::{
    COST_OF_FUNCTION, COST_OF_OPERATION, GATHERED_VALUE_PARTS, MAX_CUT_ITERATIONS, MAX_CUT_NODES,
    MIN_BLOCKED_TRANSPOSE_ELEMENTS, SMALL_VALUE_PARTS, WIDE_WINDOW_NODES,
};
use rustc_hash::{FxHashMap, FxHashSet};
use tpu_base::units::to_u64;
use tpu_kernels::elementwise::kind::ElementwiseKind;
use tpu_kernels::movement::strided_view::AccessMap;

/// The first node that reads what is made again, of the step that runs at a moment and those behind
/// it. Nodes of one step may lie apart, with those of others between them.
#[derive(Debug, Clone, Copy)]
pub(super) enum Late {
    /// The node that makes the step's first result.
    FirstResult,
    /// The first that follows what the step reads and what the step before it makes: all of the
    /// step but what need not wait for these.
    WholeStep,
    /// The one behind the step's first result.
    Next,
}

/// What becomes of slices that are read late. Where one is kept, all that it is cut from stays.
#[derive(Debug, Clone, Copy)]
pub(super) enum Slices {
    /// A slice counts as its own bytes: readers of its base may end early.
    Kept,
    /// What a slice is cut from is kept, or made again with it; nothing is done where no slice would
    /// be kept.
    Remade,
}

/// How values are made again.
#[derive(Debug)]
pub(super) struct Manner {
    /// Parameters whose memory nothing takes over.
    pub(super) kept: FxHashSet<ValueId>,
    /// Bytes of an elementwise value that is made again, at least.
    pub(super) least: usize,
    /// Bytes of a gathered value that is gathered again, at most.
    pub(super) gathered: usize,
    /// Sums that a chip stores, and those that it does not.
    pub(super) sums: Sums,
    /// How many nodes may lie between two that read the same copy.
    pub(super) window: usize,
    /// From where on nodes read what is made again.
    pub(super) late: Late,
    /// Whether products and reductions are made again as well.
    pub(super) products: bool,
    /// Bytes that are to be saved: no more products are made again than have that many.
    pub(super) excess: usize,
    /// What becomes of slices.
    pub(super) slices: Slices,
}

impl Manner {
    /// For a program that needs so many bytes; a donated parameter's memory is taken over.
    pub(super) fn new(graph: &Graph, donated: &[Option<usize>], need: usize) -> Self {
        let parameters = graph.main.parameters.iter().enumerate();
        let kept = parameters
            .filter(|(index, _)| donated.get(*index).copied().flatten().is_none())
            .map(|(_, &parameter)| parameter)
            .collect();
        let window = WIDE_WINDOW_NODES;
        let (late, slices) = (Late::FirstResult, Slices::Kept);
        let (least, gathered) = (need / SMALL_VALUE_PARTS, need / GATHERED_VALUE_PARTS);
        let sums = Sums::of(graph, least);
        Self { kept, least, gathered, sums, window, late, products: false, excess: 0, slices }
    }
}

/// A block of which the nodes from `at` on are late.
pub(super) struct Cut<'g> {
    pub(super) graph: &'g Graph,
    pub(super) code: &'g Subgraph,
    pub(super) at: usize,
    pub(super) manner: &'g Manner,
    /// Products and reductions that may be made again.
    pub(super) products: FxHashSet<ValueId>,
    /// The node that makes each value.
    pub(super) maker: FxHashMap<ValueId, usize>,
    /// Parameters whose memory something takes over.
    parameters: FxHashSet<ValueId>,
    /// The last node that reads each value.
    last: FxHashMap<ValueId, usize>,
    /// Values that are there later whatever is made again.
    there: FxHashSet<ValueId>,
    network: Network,
    /// The vertices of a value: before it is kept, and after.
    vertices: FxHashMap<ValueId, (usize, usize)>,
}

impl<'g> Cut<'g> {
    pub(super) fn new(graph: &'g Graph, code: &'g Subgraph, at: usize, manner: &'g Manner) -> Self {
        let mut maker = FxHashMap::default();
        let mut last = FxHashMap::default();
        let mut there: FxHashSet<ValueId> = code.results.iter().copied().collect();
        for (number, node) in code.nodes.iter().enumerate() {
            maker.extend(node.results.iter().map(|&result| (result, number)));
            last.extend(node.operands.iter().map(|&operand| (operand, number)));
            node.each_inner_read(&mut |value| {
                last.insert(value, number);
                if number >= at {
                    there.insert(value);
                }
            });
        }
        let (network, vertices) = (Network::default(), FxHashMap::default());
        let taken = code.parameters.iter().filter(|parameter| !manner.kept.contains(parameter));
        let (parameters, products) = (taken.copied().collect(), FxHashSet::default());
        Self {
            graph,
            code,
            at,
            manner,
            products,
            maker,
            parameters,
            last,
            there,
            network,
            vertices,
        }
    }

    /// Whether a value is there later whatever is made again.
    pub(super) fn is_there(&self, value: ValueId) -> bool {
        if self.there.contains(&value) || self.graph.value(value).known.is_some() {
            return true;
        }
        match self.maker.get(&value) {
            Some(&maker) => {
                maker >= self.at || matches!(self.code.nodes[maker].work, NodeKind::Constant(_))
            }
            // What takes a parameter's memory over comes behind its last reader.
            None => {
                !self.parameters.contains(&value)
                    || self.last.get(&value).is_some_and(|&last| last >= self.at)
            }
        }
    }

    /// Values that are made early, that late nodes read, and that are made again.
    pub(super) fn remade(mut self) -> Option<FxHashSet<ValueId>> {
        let (source, sink) = (self.network.vertex(), self.network.vertex());
        let mut open = Vec::new();
        let code = self.code;
        for node in &code.nodes[self.at..] {
            for &operand in &node.operands {
                if !self.is_there(operand) {
                    let (_, behind) = self.value(operand, source, &mut open);
                    self.network.edge(behind, sink, WITHOUT_LIMIT);
                }
            }
        }
        while let Some(value) = open.pop() {
            if self.vertices.len() > MAX_CUT_NODES {
                return None;
            }
            let (before, _) = self.vertices[&value];
            let node = &code.nodes[self.maker[&value]];
            for &operand in &node.operands {
                if !self.is_there(operand) {
                    let (_, behind) = self.value(operand, source, &mut open);
                    self.network.edge(behind, before, WITHOUT_LIMIT);
                }
            }
        }
        let mut late = self.network.sink_side(source, sink, MAX_CUT_ITERATIONS)?;
        if matches!(self.manner.slices, Slices::Remade) {
            let slices = self.vertices.iter().filter(|(value, _)| self.is_slice(**value));
            let slices: Vec<(usize, usize)> = slices.map(|(_, &vertices)| vertices).collect();
            if !slices.iter().any(|&(before, behind)| late[behind] && !late[before]) {
                return None;
            }
            for (before, behind) in slices {
                self.network.edge(before, behind, WITHOUT_LIMIT);
            }
            late = self.network.sink_side(source, sink, MAX_CUT_ITERATIONS)?;
        }
        let mut remade = FxHashSet::default();
        let made = self.vertices.iter().filter(|(_, (before, _))| late[*before]);
        remade.extend(made.map(|(&value, _)| value));
        Some(remade)
    }

    /// The vertices of a value; notes one that is new and can be made again.
    fn value(&mut self, value: ValueId, source: usize, open: &mut Vec<ValueId>) -> (usize, usize) {
        if let Some(&known) = self.vertices.get(&value) {
            return known;
        }
        let (before, behind) = (self.network.vertex(), self.network.vertex());
        self.vertices.insert(value, (before, behind));
        let between = self.manner.sums.between.contains(&value);
        let kept = if between && !self.graph.handed_on.contains(&value) {
            WITHOUT_LIMIT
        } else {
            to_u64(self.graph.bytes(value)).saturating_mul(256)
        };
        self.network.edge(before, behind, kept);
        let cost = self.maker.get(&value).and_then(|&maker| self.cost(&self.code.nodes[maker]));
        match cost {
            Some(cost) => {
                self.network.edge(source, before, cost);
                open.push(value);
            }
            None => self.network.edge(source, before, WITHOUT_LIMIT),
        }
        (before, behind)
    }

    /// Whether a value is a part of another one that is read in its place: all of that is kept for it.
    fn is_slice(&self, value: ValueId) -> bool {
        let Some(&maker) = self.maker.get(&value) else { return false };
        let node = &self.code.nodes[maker];
        matches!(node.work, NodeKind::Access(_))
            && self.cost(node) == Some(0)
            && self.graph.bytes(node.operands[0]) > self.graph.bytes(value)
    }

    /// Whether several nodes read a value, one of them an operation on elements.
    fn is_shared_by_loops(&self, value: ValueId) -> bool {
        let reads = |node: &&Node| node.operands.contains(&value);
        let mut readers = self.code.nodes.iter().filter(reads);
        let is_loop = |node: &Node| matches!(node.work, NodeKind::Elementwise(_));
        readers.clone().count() > 1 && readers.any(is_loop)
    }

    /// What it costs to make a node's result again, in 256ths of a byte that is kept; `None` for a
    /// node that is not run twice.
    pub(super) fn cost(&self, node: &Node) -> Option<u64> {
        let [result] = *node.results else { return None };
        let shape = &self.graph.value(result).shape;
        let elements = to_u64(shape.elements());
        match &node.work {
            NodeKind::Elementwise(_)
                if shape.bytes() < self.manner.least
                    || self.manner.sums.stored.contains(&result)
                    || self.graph.handed_on.contains(&result) =>
            {
                None
            }
            // libtpu 0.0.51 keeps these, and makes other functions again.
            NodeKind::Elementwise(op)
                if matches!(op.kind, ElementwiseKind::Sine | ElementwiseKind::Cosine)
                    && self.is_shared_by_loops(result) =>
            {
                None
            }
            NodeKind::Elementwise(op) if op.transcendental => {
                Some(elements.saturating_mul(COST_OF_FUNCTION))
            }
            NodeKind::Elementwise(_) => Some(elements.saturating_mul(COST_OF_OPERATION)),
            NodeKind::Access(access) => {
                let map = AccessMap::new(access, &shape.dims);
                let copied =
                    shape.elements() >= MIN_BLOCKED_TRANSPOSE_ELEMENTS && map.wants_blocks();
                Some(if copied { elements.saturating_mul(COST_OF_FUNCTION) } else { 0 })
            }
            NodeKind::Iota(_) | NodeKind::Splat(_) => Some(0),
            // libtpu 0.0.51 gathers for each reader, long before it reads.
            _ if is_planned_gather(&node.name) && shape.bytes() <= self.manner.gathered => {
                Some(elements.saturating_mul(COST_OF_OPERATION))
            }
            NodeKind::Kernel(_) if self.products.contains(&result) => {
                Some(elements.saturating_mul(COST_OF_FUNCTION))
            }
            _ => None,
        }
    }
}
