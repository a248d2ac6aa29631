//! The order of a block's nodes in which little memory is needed at once: list scheduling, as XLA's.
//!
//! Of the nodes whose operands are made, the one comes next that adds least to what is alive; or
//! others wait ([`ScheduleManner`]). An elementwise node with one reader counts as part of that reader,
//! as it does once loops are fused.
//! What has effects, control flow, and kernels that are no products, reductions or moves keep the order
//! among themselves that they have.
use crate::graph::{Graph, Node, NodeKind, Subgraph, ValueId};
use crate::lifetimes::fullest;
use crate::tuning::{MAX_SCHEDULED_NODES, MAX_TRIED_NODES, SCRATCH_PARTS};
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::iter::successors;
use std::sync::Arc;

/// How nodes are put in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ScheduleManner {
    /// The one comes next that adds least.
    LeastFirst,
    /// So too, but what adds to what is alive waits for its first reader, and what needs much while it
    /// runs comes where least is alive, where less is alive at once then than in that order, and in
    /// long blocks than in the order that they have.
    Waiting,
}

/// Puts the nodes of a program in another order, those of loops and branches too; says whether any
/// moved, or waits.
pub(crate) fn reorder(graph: &mut Graph, manner: ScheduleManner) -> bool {
    if graph.draws {
        return false;
    }
    let mut main = std::mem::take(&mut graph.main);
    let moved = block(graph, &mut main, manner);
    graph.main = main;
    moved
}

fn block(graph: &Graph, code: &mut Subgraph, manner: ScheduleManner) -> bool {
    let mut moved = false;
    for node in &mut code.nodes {
        match &mut node.work {
            NodeKind::While(_, body) => moved |= block(graph, Arc::make_mut(body), manner),
            NodeKind::Branch(blocks) => {
                for code in blocks {
                    moved |= block(graph, code, manner);
                }
            }
            NodeKind::Each(each) => moved |= block(graph, &mut each.body, manner),
            _ => {}
        }
    }
    if code.nodes.len() > MAX_SCHEDULED_NODES {
        return moved;
    }
    let (order, waits) = Scheduler::new(graph, code).scheduled(manner);
    if order.len() != code.nodes.len() || order.is_sorted() {
        return moved;
    }
    let mut nodes: Vec<Option<Node>> =
        std::mem::take(&mut code.nodes).into_iter().map(Some).collect();
    code.nodes.extend(order.into_iter().filter_map(|number| nodes[number].take()));
    moved || waits || manner == ScheduleManner::LeastFirst
}

/// Nodes that run one after the other.
#[derive(Debug, Default)]
struct NodeRun {
    nodes: Vec<usize>,
    /// Values that it reads and does not make, each once.
    reads: Vec<ValueId>,
    /// Bytes by which more is alive behind it than before it.
    growth: i128,
    /// Bytes that it needs while it runs.
    scratch: usize,
    /// Those that read what it makes, or must come behind it.
    behind: Vec<usize>,
    /// How many before it have not run.
    waits_for: usize,
    has_run: bool,
}

/// A value that dies in a block.
#[derive(Debug, Clone)]
struct LivingValue {
    bytes: usize,
    /// The unit that makes it.
    maker: usize,
    /// The units that have still to read it.
    readers: Vec<usize>,
}

impl LivingValue {
    /// The first place and the last one at which it lives, if units have these, and its bytes.
    fn life(&self, place: &[usize]) -> (usize, usize, usize) {
        let last = self.readers.iter().map(|&unit| place[unit]).max();
        (place[self.maker], last.unwrap_or_default(), self.bytes)
    }
}

struct Scheduler {
    units: Vec<NodeRun>,
    alive: FxHashMap<ValueId, LivingValue>,
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
            units[unit].scratch = units[unit].scratch.max(scratch(graph, node));
            maker.extend(node.results.iter().map(|&result| (result, unit)));
        }
        // Who reads a view reads what it shows.
        let shown: FxHashMap<ValueId, ValueId> = (code.nodes.iter())
            .filter(|node| matches!(node.work, NodeKind::Access(_)))
            .flat_map(|node| node.results.iter().copied().zip(node.operands.iter().copied()))
            .collect();
        let seen = |value: &ValueId| shown.get(value).copied();
        let mut alive: FxHashMap<ValueId, LivingValue> = FxHashMap::default();
        for (number, read) in reads.iter().enumerate() {
            let unit = unit_of[number];
            for value in read.iter().flat_map(|&value| successors(Some(value), seen)) {
                let Some(&from) = maker.get(&value).filter(|&&from| from != unit) else { continue };
                if !units[unit].reads.contains(&value) {
                    units[unit].reads.push(value);
                    let living = LivingValue { bytes: 0, maker: from, readers: Vec::new() };
                    alive.entry(value).or_insert(living).readers.push(unit);
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
            if let Some(living) = alive.get_mut(&result) {
                living.bytes = graph.bytes(result);
                units[living.maker].growth += size(living.bytes);
                if let [only] = living.readers[..] {
                    units[only].growth -= size(living.bytes);
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

    /// The nodes in their new order, and whether some wait.
    fn scheduled(mut self, manner: ScheduleManner) -> (Vec<usize>, bool) {
        let of = (manner == ScheduleManner::Waiting).then(|| OrderedUnits::of(&self));
        let mut order = self.least_growth_first();
        let mut waits = false;
        if let Some(of) = of {
            let frees: Vec<bool> = self.units.iter().map(|unit| unit.growth < 0).collect();
            let waiting = of.waiting_for_readers(&order, &frees);
            let waiting = of.scratch_where_least_is_alive(waiting);
            let mut least = of.alive(&order);
            // Plans of long programs take long. A unit has the number of its last node.
            if order.len() > MAX_TRIED_NODES {
                let mut written = order.clone();
                written.sort_unstable();
                least = least.min(of.alive(&written));
            }
            waits = of.alive(&waiting) < least;
            if waits {
                order = waiting;
            }
        }
        let nodes = order.into_iter().flat_map(|unit| std::mem::take(&mut self.units[unit].nodes));
        (nodes.collect(), waits)
    }

    /// The units in the order in which the one that adds least comes next.
    fn least_growth_first(&mut self) -> Vec<usize> {
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
            order.push(unit);
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
        let LivingValue { bytes, readers, .. } = self.alive.get_mut(&value)?;
        readers.retain(|&unit| !self.units[unit].has_run);
        let [last] = readers[..] else { return None };
        self.units[last].growth -= size(*bytes);
        Some(last)
    }
}

/// What is known of units in whatever order.
struct OrderedUnits {
    lives: Vec<LivingValue>,
    /// Bytes that each needs while it runs.
    scratch: Vec<usize>,
    /// The units that must be behind each.
    behind: Vec<Vec<usize>>,
}

impl OrderedUnits {
    fn of(scheduler: &Scheduler) -> Self {
        let units = &scheduler.units;
        Self {
            lives: scheduler.alive.values().cloned().collect(),
            scratch: units.iter().map(|unit| unit.scratch).collect(),
            behind: units.iter().map(|unit| unit.behind.clone()).collect(),
        }
    }

    /// An order in which each unit comes right before the first one that must be behind it, but for
    /// one that `frees` more than it makes.
    fn waiting_for_readers(&self, order: &[usize], frees: &[bool]) -> Vec<usize> {
        // From the last one to the first; a unit is as late as the one that it waits for.
        let mut late = vec![usize::MAX; self.behind.len()];
        let mut latest: Vec<(usize, usize)> = Vec::with_capacity(order.len());
        for (at, &unit) in order.iter().enumerate().rev() {
            let first = self.behind[unit].iter().map(|&reader| late[reader]).min();
            late[unit] = first.filter(|_| !frees[unit]).unwrap_or(at);
            latest.push((late[unit], at));
        }
        latest.sort_unstable();
        latest.into_iter().map(|(_, at)| order[at]).collect()
    }

    /// An order in which units that need much while they run come earlier, when less is alive.
    fn scratch_where_least_is_alive(&self, mut order: Vec<usize>) -> Vec<usize> {
        let least = self.alive(&order) / SCRATCH_PARTS;
        let needs = |&unit: &usize| self.scratch[unit] > least;
        for unit in order.clone().into_iter().filter(needs) {
            let place = self.places(&order);
            let is_before = |other: &usize| self.behind[*other].contains(&unit);
            let first = order[..place[unit]].iter().rposition(is_before).map_or(0, |at| at + 1);
            let mut alive = vec![0; order.len() + 1];
            for (from, last, bytes) in self.lives.iter().map(|value| value.life(&place)) {
                alive[from + 1..=last].iter_mut().for_each(|alive| *alive += bytes);
            }
            let best = (first..=place[unit]).min_by_key(|&at| (alive[at], Reverse(at)));
            if let Some(best) = best {
                order[best..=place[unit]].rotate_right(1);
            }
        }
        order
    }

    /// The most bytes that are alive at once in an order.
    fn alive(&self, order: &[usize]) -> usize {
        let place = self.places(order);
        let lives = self.lives.iter().map(|value| value.life(&place));
        let runs = order.iter().enumerate().map(|(at, &unit)| (at, at, self.scratch[unit]));
        fullest(lives.chain(runs))
    }

    /// The place of each unit in an order.
    fn places(&self, order: &[usize]) -> Vec<usize> {
        let mut place = vec![0; self.scratch.len()];
        order.iter().enumerate().for_each(|(at, &unit)| place[unit] = at);
        place
    }
}

/// Bytes that a node needs while it runs.
fn scratch(graph: &Graph, node: &Node) -> usize {
    match &node.work {
        NodeKind::Kernel(kernel) => kernel.scratch(),
        NodeKind::Each(each) => {
            let stored = |node: &Node| match &node.work {
                NodeKind::Kernel(_) => node.results.iter().map(|&value| graph.bytes(value)).sum(),
                _ => 0,
            };
            let nodes = each.body.nodes.iter();
            nodes.map(|node| stored(node) + scratch(graph, node)).max().unwrap_or(0)
        }
        _ => 0,
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
        NodeKind::Each(each) => each.devices.is_empty() && !node.effect && !node.work.has_effect(),
        NodeKind::While(..) | NodeKind::Branch(_) => false,
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

    #[test]
    fn a_product_that_can_be_made_first_waits_for_its_reader() {
        let thin = "contracting_dims = [1] x [0] : \
            (tensor<64x64xf32>, tensor<64x1xf32>) -> tensor<64x1xf32>";
        // What comes between needs a matrix, and is read twice.
        let text = format!(
            "func.func public @main(%x: tensor<64x64xf32>, %v: tensor<64x1xf32>) -> (tensor<64x1xf32>) {{
            %z = stablehlo.constant dense<0.0> : tensor<f32>
            %d = stablehlo.dot_general %x, %x, contracting_dims = [0] x [0] :
              (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
            %a = stablehlo.dot_general %x, %x, {DOT}
            %b = stablehlo.tanh %a : tensor<64x64xf32>
            %f = stablehlo.reduce(%b init: %z) applies stablehlo.add across dimensions = [1] :
              (tensor<64x64xf32>, tensor<f32>) -> tensor<64xf32>
            %g = stablehlo.broadcast_in_dim %f, dims = [0] : (tensor<64xf32>) -> tensor<64x64xf32>
            %h = stablehlo.multiply %b, %g : tensor<64x64xf32>
            %c = stablehlo.dot_general %h, %v, {thin}
            %r = stablehlo.dot_general %d, %c, {thin}
            return %r : tensor<64x1xf32>
          }}"
        );
        let (_, more) = order(&text, Passes { shrunk_from: usize::MAX, ..Passes::ALL });
        let (scheduled, less) = order(&text, Passes::EAGER);
        assert!(less + MATRIX / 2 <= more, "{less} and {more}: {scheduled:?}");
    }
}
