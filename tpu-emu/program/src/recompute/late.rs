//! What is read late is cut from what is made early.
use super::flow::{Network, WITHOUT_LIMIT};
use crate::graph::{Graph, Node, NodeKind, Subgraph, ValueId};
use crate::tuning::{
    COST_OF_FUNCTION, COST_OF_OPERATION, MAX_CUT_ITERATIONS, MAX_CUT_NODES,
    MIN_BLOCKED_TRANSPOSE_ELEMENTS,
};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use tpu_base::units::to_u64;
use tpu_kernels::movement::strided_view::AccessMap;

/// How values are made again.
#[derive(Debug)]
pub(super) struct Manner {
    /// Parameters whose memory nothing takes over.
    pub(super) kept: HashSet<ValueId>,
    /// Bytes of an elementwise value that is made again, at least.
    pub(super) least: usize,
    /// How many nodes may lie between two that read the same copy.
    pub(super) window: usize,
    /// Whether what runs at the moment reads what was kept; it reads what is made again otherwise.
    pub(super) behind: bool,
}

/// Makes values again that nodes read from a moment on, in each block that the moment is in;
/// says whether there are any. `path` has what is made then, from the outermost block inwards.
pub(super) fn make_again(graph: &mut Graph, path: &[ValueId], manner: &Manner) -> bool {
    let mut main = std::mem::take(&mut graph.main);
    let changed = block(graph, &mut main, path, manner);
    graph.main = main;
    changed
}

fn block(graph: &mut Graph, code: &mut Subgraph, path: &[ValueId], manner: &Manner) -> bool {
    let Some((first, inside)) = path.split_first() else { return false };
    let makes = |node: &Node| node.results.contains(first);
    let Some(at) = code.nodes.iter().position(makes) else { return false };
    let mut changed = false;
    if !inside.is_empty() {
        match &mut code.nodes[at].work {
            NodeKind::While(condition, body) => {
                for code in [condition, body] {
                    changed |= block(graph, Arc::make_mut(code), inside, manner);
                }
            }
            NodeKind::Branch(blocks) => {
                for code in blocks {
                    changed |= block(graph, code, inside, manner);
                }
            }
            NodeKind::Each(each) => changed |= block(graph, &mut each.body, inside, manner),
            _ => {}
        }
    }
    // A loop or a branch that goes on reads what it reads.
    let at = at + usize::from(manner.behind && inside.is_empty());
    let Some(remade) = Cut::new(graph, code, at, manner).remade() else { return changed };
    if remade.is_empty() {
        return changed;
    }
    write(graph, code, at, &remade, manner.window);
    true
}

/// A block of which the nodes from `at` on are late.
struct Cut<'g> {
    graph: &'g Graph,
    code: &'g Subgraph,
    at: usize,
    /// Bytes of an elementwise value that is made again, at least.
    least: usize,
    /// The node that makes each value.
    maker: HashMap<ValueId, usize>,
    /// Parameters whose memory something takes over.
    parameters: HashSet<ValueId>,
    /// The last node that reads each value.
    last: HashMap<ValueId, usize>,
    /// Values that are there later whatever is made again.
    there: HashSet<ValueId>,
    network: Network,
    /// The vertices of a value: before it is kept, and after.
    vertices: HashMap<ValueId, (usize, usize)>,
}

impl<'g> Cut<'g> {
    fn new(graph: &'g Graph, code: &'g Subgraph, at: usize, manner: &Manner) -> Self {
        let mut maker = HashMap::new();
        let mut last = HashMap::new();
        let mut there: HashSet<ValueId> = code.results.iter().copied().collect();
        for (number, node) in code.nodes.iter().enumerate() {
            maker.extend(node.results.iter().map(|&result| (result, number)));
            last.extend(node.operands.iter().map(|&operand| (operand, number)));
            let mut inside = Vec::new();
            free_reads(node, &mut inside);
            last.extend(inside.iter().map(|&value| (value, number)));
            if number >= at {
                there.extend(inside);
            }
        }
        let (network, vertices) = (Network::default(), HashMap::new());
        let taken = code.parameters.iter().filter(|parameter| !manner.kept.contains(parameter));
        let (parameters, least) = (taken.copied().collect(), manner.least);
        Self { graph, code, at, least, maker, parameters, last, there, network, vertices }
    }

    /// Whether a value is there later whatever is made again.
    fn is_there(&self, value: ValueId) -> bool {
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
    fn remade(mut self) -> Option<HashSet<ValueId>> {
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
        let late = self.network.sink_side(source, sink, MAX_CUT_ITERATIONS)?;
        let mut remade = HashSet::new();
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
        let bytes = self.graph.bytes(value);
        self.network.edge(before, behind, to_u64(bytes).saturating_mul(256));
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

    /// What it costs to make a node's result again, in 256ths of a byte that is kept; `None` for a
    /// node that is not run twice.
    fn cost(&self, node: &Node) -> Option<u64> {
        let [result] = *node.results else { return None };
        let shape = &self.graph.value(result).shape;
        let elements = to_u64(shape.elements());
        match &node.work {
            NodeKind::Elementwise(_) if shape.bytes() < self.least => None,
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
            _ => None,
        }
    }
}

/// The values that blocks inside of a node read from outside of them, and those that they make.
fn free_reads(node: &Node, into: &mut Vec<ValueId>) {
    let mut inside = |code: &Subgraph| {
        for node in &code.nodes {
            into.extend(&node.operands);
            free_reads(node, into);
        }
        into.extend(&code.results);
    };
    match &node.work {
        NodeKind::While(condition, body) => {
            inside(condition);
            inside(body);
        }
        NodeKind::Branch(blocks) => blocks.iter().for_each(inside),
        NodeKind::Each(each) => inside(&each.body),
        _ => {}
    }
}

/// Writes a block anew, with values made again for the nodes from `at` on.
fn write(
    graph: &mut Graph,
    code: &mut Subgraph,
    at: usize,
    remade: &HashSet<ValueId>,
    window: usize,
) {
    let late = code.nodes.split_off(at);
    let mut maker: HashMap<ValueId, usize> = HashMap::new();
    for (number, node) in code.nodes.iter().enumerate() {
        maker.extend(node.results.iter().map(|&result| (result, number)));
    }
    let early = &code.nodes;
    // The copy of each value, and the late node that it was made for.
    let mut made: HashMap<ValueId, (ValueId, usize)> = HashMap::new();
    let mut written = Vec::with_capacity(late.len());
    for (number, mut node) in late.into_iter().enumerate() {
        let is_made = |made: &HashMap<ValueId, (ValueId, usize)>, value: ValueId| {
            made.get(&value).is_some_and(|&(_, at)| number - at <= window)
        };
        let mut open = node.operands.clone();
        let mut wanted = BTreeSet::new();
        while let Some(value) = open.pop() {
            if remade.contains(&value) && !is_made(&made, value) && wanted.insert(maker[&value]) {
                open.extend(&early[maker[&value]].operands);
            }
        }
        let current = |made: &HashMap<ValueId, (ValueId, usize)>, value: ValueId| {
            let copy = made.get(&value).filter(|_| remade.contains(&value));
            copy.map_or(value, |&(copy, _)| copy)
        };
        for maker in wanted {
            let mut again = early[maker].clone();
            for operand in &mut again.operands {
                *operand = current(&made, *operand);
            }
            for result in &mut again.results {
                let copy = graph.add(graph.value(*result).shape.clone());
                made.insert(*result, (copy, number));
                *result = copy;
            }
            written.push(again);
        }
        for operand in &mut node.operands {
            *operand = current(&made, *operand);
        }
        written.push(node);
    }
    code.nodes.extend(written);
}
