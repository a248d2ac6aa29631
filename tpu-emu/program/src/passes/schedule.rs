//! The order of a block's nodes in which little memory is needed at once: list scheduling, as XLA's.
//!
//! Of the nodes whose operands are made, the one comes next that adds least to what is alive. An
//! elementwise node with one reader counts as part of that reader, as it does once loops are fused.
//! What has effects, control flow, and kernels that are no products, reductions or moves keep the order
//! among themselves that they have.
use crate::graph::{Graph, Node, NodeKind, Subgraph, ValueId};
use crate::tuning::MAX_SCHEDULED_NODES;
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

/// Puts the nodes of a program in another order, those of loops and branches too; says whether any
/// moved.
pub(crate) fn reorder(graph: &mut Graph) -> bool {
    if graph.draws {
        return false;
    }
    let mut main = std::mem::take(&mut graph.main);
    let moved = block(graph, &mut main);
    graph.main = main;
    moved
}

fn block(graph: &Graph, code: &mut Subgraph) -> bool {
    let mut moved = false;
    for node in &mut code.nodes {
        match &mut node.work {
            NodeKind::While(_, body) => moved |= block(graph, Arc::make_mut(body)),
            NodeKind::Branch(blocks) => {
                for code in blocks {
                    moved |= block(graph, code);
                }
            }
            NodeKind::Each(each) => moved |= block(graph, &mut each.body),
            _ => {}
        }
    }
    if code.nodes.len() > MAX_SCHEDULED_NODES {
        return moved;
    }
    let order = Scheduler::new(graph, code).scheduled();
    if order.len() != code.nodes.len() || order.is_sorted() {
        return moved;
    }
    let mut nodes: Vec<Option<Node>> =
        std::mem::take(&mut code.nodes).into_iter().map(Some).collect();
    code.nodes.extend(order.into_iter().filter_map(|number| nodes[number].take()));
    true
}

/// Nodes that run one after the other.
#[derive(Debug, Default)]
struct NodeRun {
    nodes: Vec<usize>,
    /// Values that it reads and does not make, each once.
    reads: Vec<ValueId>,
    /// Bytes by which more is alive behind it than before it.
    growth: i128,
    /// Those that read what it makes, or must come behind it.
    behind: Vec<usize>,
    /// How many before it have not run.
    waits_for: usize,
    has_run: bool,
}

struct Scheduler {
    units: Vec<NodeRun>,
    /// Bytes of each value that dies in this block, and the units that have still to read it.
    alive: FxHashMap<ValueId, (usize, Vec<usize>)>,
}

impl Scheduler {
    fn new(graph: &Graph, code: &Subgraph) -> Self {
        let reads: Vec<Vec<ValueId>> = code.nodes.iter().map(Node::reads).collect();
        let unit_of = units_of(code, &reads);
        let mut units: Vec<NodeRun> = Vec::new();
        units.resize_with(code.nodes.len(), NodeRun::default);
        let mut maker: FxHashMap<ValueId, usize> = FxHashMap::default();
        for (number, node) in code.nodes.iter().enumerate() {
            let unit = unit_of[number];
            units[unit].nodes.push(number);
            maker.extend(node.results.iter().map(|&result| (result, unit)));
        }
        let mut alive: FxHashMap<ValueId, (usize, Vec<usize>)> = FxHashMap::default();
        for (number, read) in reads.iter().enumerate() {
            let unit = unit_of[number];
            for &value in read {
                let Some(&from) = maker.get(&value).filter(|&&from| from != unit) else { continue };
                if !units[unit].reads.contains(&value) {
                    units[unit].reads.push(value);
                    alive.entry(value).or_default().1.push(unit);
                    units[from].behind.push(unit);
                }
            }
        }
        for &result in &code.results {
            // It outlives the block.
            alive.remove(&result);
        }
        let stored = code.nodes.iter().filter(|node| !costs_nothing(node));
        for &result in stored.flat_map(|node| &node.results) {
            if let Some((bytes, readers)) = alive.get_mut(&result) {
                *bytes = graph.bytes(result);
                units[maker[&result]].growth += size(*bytes);
                if let [only] = readers[..] {
                    units[only].growth -= size(*bytes);
                }
            }
        }
        let mut last = None;
        for (number, node) in code.nodes.iter().enumerate() {
            if !is_movable(node)
                && let Some(before) = last.replace(unit_of[number])
            {
                units[before].behind.push(unit_of[number]);
            }
        }
        for unit in 0..units.len() {
            units[unit].behind.sort_unstable();
            units[unit].behind.dedup();
            for behind in units[unit].behind.clone() {
                units[behind].waits_for += 1;
            }
        }
        Self { units, alive }
    }

    /// The nodes in their new order.
    fn scheduled(mut self) -> Vec<usize> {
        let is_ready = |&unit: &usize| {
            let NodeRun { nodes, waits_for, .. } = &self.units[unit];
            *waits_for == 0 && !nodes.is_empty()
        };
        // A unit that grows less than it did stands here twice, and goes by what it grows least.
        let mut ready: BinaryHeap<Reverse<(i128, usize)>> = (0..self.units.len())
            .filter(is_ready)
            .map(|unit| Reverse((self.units[unit].growth, unit)))
            .collect();
        let mut order = Vec::new();
        while let Some(Reverse((_, unit))) = ready.pop() {
            if std::mem::replace(&mut self.units[unit].has_run, true) {
                continue;
            }
            order.extend(&self.units[unit].nodes);
            for value in std::mem::take(&mut self.units[unit].reads) {
                if let Some(last) = self.last_reader(value) {
                    let NodeRun { growth, waits_for, .. } = self.units[last];
                    if waits_for == 0 {
                        ready.push(Reverse((growth, last)));
                    }
                }
            }
            for behind in std::mem::take(&mut self.units[unit].behind) {
                self.units[behind].waits_for -= 1;
                if self.units[behind].waits_for == 0 {
                    ready.push(Reverse((self.units[behind].growth, behind)));
                }
            }
        }
        order
    }

    /// Notes that one more unit has read a value; gives the only one that has still to read it, if
    /// there is but one, which frees it now.
    fn last_reader(&mut self, value: ValueId) -> Option<usize> {
        let (bytes, readers) = self.alive.get_mut(&value)?;
        readers.retain(|&unit| !self.units[unit].has_run);
        let [last] = readers[..] else { return None };
        self.units[last].growth -= size(*bytes);
        Some(last)
    }
}

fn size(bytes: usize) -> i128 {
    i128::try_from(bytes).unwrap_or(i128::MAX)
}

/// The unit of each node, which has the number of its last node: a node whose only result only one
/// other reads is part of that one's.
fn units_of(code: &Subgraph, reads: &[Vec<ValueId>]) -> Vec<usize> {
    const OUTSIDE: usize = usize::MAX;
    let mut reader: FxHashMap<ValueId, Option<usize>> = FxHashMap::default();
    let uses =
        reads.iter().enumerate().flat_map(|(number, of)| of.iter().map(move |of| (of, number)));
    for (&value, number) in uses.chain(code.results.iter().map(|of| (of, OUTSIDE))) {
        let only = reader.entry(value).or_insert(Some(number));
        if *only != Some(number) {
            *only = None;
        }
    }
    let mut unit_of: Vec<usize> = (0..code.nodes.len()).collect();
    for (number, node) in code.nodes.iter().enumerate().rev() {
        let joins = matches!(node.work, NodeKind::Elementwise(_)) || costs_nothing(node);
        let [result] = node.results[..] else { continue };
        if let Some(&Some(only)) = reader.get(&result).filter(|_| joins)
            && only != OUTSIDE
        {
            unit_of[number] = unit_of[only];
        }
    }
    unit_of
}

/// Whether a node gives nothing that is stored once loops are fused.
fn costs_nothing(node: &Node) -> bool {
    let of = &node.work;
    matches!(
        of,
        NodeKind::Access(_) | NodeKind::Iota(_) | NodeKind::Splat(_) | NodeKind::Constant(_)
    )
}

/// Whether a node may run at another time.
fn is_movable(node: &Node) -> bool {
    match &node.work {
        NodeKind::Kernel(kernel) => {
            let known =
                kernel.absorbs() || kernel.reduction().is_some() || kernel.joins().is_some();
            known && !node.effect
        }
        NodeKind::While(..) | NodeKind::Branch(_) | NodeKind::Each(_) => false,
        _ => !node.effect,
    }
}

#[cfg(test)]
mod tests {
    use crate::compile::Passes;
    use crate::differential::{graph_of, results};
    use crate::plan::check::planned;
    use crate::recompute::tests::DOT;

    /// Bytes of a matrix of the program below.
    const MATRIX: usize = 64 * 64 * 4;

    /// The order of the operations in a plan, and its arena.
    fn order(text: &str, passes: Passes) -> (Vec<String>, usize) {
        assert_eq!(
            results(text, &[None, None], passes),
            results(text, &[None, None], Passes::NONE)
        );
        let mut graph = graph_of(text, passes);
        let plan = planned(&mut graph, &[None, None], passes);
        (plan.steps.iter().map(|step| step.name.to_string()).collect(), plan.arena)
    }

    #[test]
    fn what_is_read_once_is_made_where_it_is_read() {
        let thin = "contracting_dims = [1] x [0] : \
            (tensor<64x64xf32>, tensor<64x1xf32>) -> tensor<64x1xf32>";
        let text = format!(
            "func.func public @main(%x: tensor<64x64xf32>, %v: tensor<64x1xf32>) -> (tensor<64x1xf32>) {{
            %a = stablehlo.dot_general %x, %x, {DOT}
            %b = stablehlo.multiply %a, %x : tensor<64x64xf32>
            %c = stablehlo.dot_general %b, %x, {DOT}
            %d = stablehlo.tanh %x : tensor<64x64xf32>
            %e = stablehlo.dot_general %d, %x, {DOT}
            %f = stablehlo.dot_general %c, %v, {thin}
            %g = stablehlo.dot_general %e, %v, {thin}
            %h = stablehlo.add %f, %g : tensor<64x1xf32>
            return %h : tensor<64x1xf32>
          }}"
        );
        let (written, more) = order(&text, Passes { shrunk_from: usize::MAX, ..Passes::ALL });
        let (scheduled, less) = order(&text, Passes::EAGER);
        assert!(less + MATRIX / 2 <= more, "{less} and {more}: {written:?} and {scheduled:?}");
        assert_eq!(written.len(), scheduled.len());
    }
}
