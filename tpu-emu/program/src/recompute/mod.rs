//! Elementwise values that are kept for long are made again where they are read late.
//!
//! Where the arena is fullest, the values that cross that moment are cut from what is computed
//! later by the cheapest cut (`cut`): what it keeps is fewest bytes, and all else that is read
//! later is made again from that, just before it is read (`late`), by operations that give each
//! element from those at its place. Small arrays that a plan gathers from other devices are gathered
//! again. Of sums along layers those are kept that a chip stores (`sums`). Loop fusion then joins these with what reads them.
//! A program with them is planned anew, and taken if it needs less. Before that, comparisons are
//! let to read what was clamped (`passes/clamped`), if less is needed then. After it, all this is
//! done once more with the nodes in each of two other orders (`passes/schedule`).
//!
//! A program that does not fit even so makes products and reductions again too (`fit`, `products`),
//! no more of them than it takes to fit.
mod cut;
mod flow;
mod late;
mod products;
mod sums;
#[cfg(test)]
pub(crate) mod tests;

use crate::graph::{Graph, Subgraph};
use crate::lifetimes::fullest;
use crate::passes::fuse::StepBlock;
use crate::passes::schedule::ScheduleManner;
use crate::passes::{clamped, schedule};
use crate::plan::peak::peaks;
use crate::plan::{ArenaSlot, Plan};
use crate::tuning::{
    MAX_PEAK_PLACES, MAX_SHRINKING_ITERATIONS, NARROW_WINDOW_NODES, PEAK_SHARE, WIDE_WINDOW_NODES,
};
use cut::{Late, Manner, Slices};

/// What is tried, in this order, as long as a program needs no less: how far readers of one copy are
/// apart, from where on they read copies, and whether slices are kept.
const TRIES: [(usize, Late, Slices); 8] = [
    (WIDE_WINDOW_NODES, Late::FirstResult, Slices::Kept),
    (WIDE_WINDOW_NODES, Late::Next, Slices::Kept),
    (NARROW_WINDOW_NODES, Late::FirstResult, Slices::Kept),
    (NARROW_WINDOW_NODES, Late::Next, Slices::Kept),
    // A copy for each reader.
    (0, Late::WholeStep, Slices::Kept),
    (0, Late::Next, Slices::Kept),
    (WIDE_WINDOW_NODES, Late::FirstResult, Slices::Remade),
    (WIDE_WINDOW_NODES, Late::Next, Slices::Remade),
];

/// Makes plans of a program as long as each needs less than the one before; gives the least of
/// these.
/// `plan` makes the steps of the graph and their plan. A test takes each plan that is made.
pub(crate) fn shrink(
    graph: &mut Graph,
    (donated, always): (&[Option<usize>], bool),
    first: (StepBlock, Plan),
    mut plan: impl FnMut(&mut Graph) -> (StepBlock, Plan),
) -> (StepBlock, Plan) {
    let mut best = first;
    let main: Subgraph = graph.main.clone();
    if clamped::ask(graph) {
        let other = plan(graph);
        if always || is_less(&other.1, &best.1) {
            best = other;
        } else {
            graph.main = main;
        }
    }
    let mut manner = Manner::new(graph, donated, need(&best.1));
    best = repeat(graph, &mut manner, (always, 0), best, &mut plan);
    let main: Subgraph = graph.main.clone();
    let mut least = None;
    for order in [ScheduleManner::LeastFirst, ScheduleManner::Waiting] {
        graph.main.clone_from(&main);
        if !schedule::reorder(graph, order) {
            continue;
        }
        let mut other = plan(graph);
        // An order that needs a little more may have room for what is made again.
        if need(&other.1) <= need(&best.1) / 8 * 9 {
            other = repeat(graph, &mut manner, (always, 0), other, &mut plan);
        }
        if always || is_less(&other.1, &best.1) {
            best = other;
            least = Some(graph.main.clone());
        }
    }
    graph.main = least.unwrap_or(main);
    best
}

/// Makes products and reductions again too, until a plan takes no more than `room` bytes; gives the
/// least plan that was found. The copies are named as XLA names what it rematerializes.
pub(crate) fn fit(
    graph: &mut Graph,
    (donated, always): (&[Option<usize>], bool),
    room: usize,
    first: (StepBlock, Plan),
    plan: impl FnMut(&mut Graph) -> (StepBlock, Plan),
) -> (StepBlock, Plan) {
    let mut manner = Manner::new(graph, donated, need(&first.1));
    manner.products = true;
    repeat(graph, &mut manner, (always, room), first, plan)
}

/// Bytes that a plan takes on a device, beside what a chip stores.
pub(crate) fn need(plan: &Plan) -> usize {
    plan.arena.saturating_add(plan.pool.len())
}

/// Whether a plan needs less than another by a part that is worth having, or would but for the holes
/// in its arena.
fn is_less(one: &Plan, other: &Plan) -> bool {
    let by_a_part = |one: usize, other: usize| one < other - other / 256;
    let live = |plan: &Plan| fullest(plan.slots.iter().map(ArenaSlot::life));
    by_a_part(need(one), need(other))
        || need(one) <= need(other) && by_a_part(live(one), live(other))
}

/// Makes values again where the arena is fullest, as long as plans need less and more than `room`.
fn repeat(
    graph: &mut Graph,
    manner: &mut Manner,
    (always, room): (bool, usize),
    (mut code, mut best): (StepBlock, Plan),
    mut plan: impl FnMut(&mut Graph) -> (StepBlock, Plan),
) -> (StepBlock, Plan) {
    let mut main: Subgraph = graph.main.clone();
    // What has helped is tried again before what has not.
    let (mut now, mut failed) = (0, 0);
    for _ in 0..MAX_SHRINKING_ITERATIONS {
        if failed == TRIES.len() || need(&best) <= room {
            break;
        }
        let (window, late, slices) = TRIES[now % TRIES.len()];
        (manner.window, manner.late, manner.slices) = (window, late, slices);
        manner.excess = need(&best) - room;
        let mut changed = false;
        let (share, most) =
            if always { (0, MAX_SHRINKING_ITERATIONS) } else { (PEAK_SHARE, MAX_PEAK_PLACES) };
        for path in &peaks(&code, &best, share, most).0 {
            changed |= late::make_again(graph, path, manner);
        }
        let mut helped = false;
        if changed {
            let (steps, planned) = plan(graph);
            helped = always || is_less(&planned, &best);
            if helped {
                (code, best) = (steps, planned);
                main.clone_from(&graph.main);
            } else {
                graph.main.clone_from(&main);
            }
        }
        if helped && !always {
            failed = 0;
        } else {
            failed += 1;
            now += 1;
        }
    }
    (code, best)
}
