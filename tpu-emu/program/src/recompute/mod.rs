//! Elementwise values that are kept for long are made again where they are read late.
//!
//! Where the arena is fullest, the values that cross that moment are cut from what is computed
//! later by the cheapest cut (`late`): what it keeps is fewest bytes, and all else that is read
//! later is made again from that, just before it is read, by operations that give each element
//! from those at its place. Loop fusion then joins these with what reads them.
//! A program with them is planned anew, and taken if it needs less. Before that, comparisons are
//! let to read what was clamped (`passes/clamped`), if less is needed then.
mod flow;
mod late;
#[cfg(test)]
pub(crate) mod tests;

use crate::graph::{Graph, Subgraph, ValueId};
use crate::passes::clamped;
use crate::passes::fuse::StepBlock;
use crate::plan::Plan;
use crate::plan::peak::peaks;
use crate::tuning::{
    MAX_PEAK_PLACES, MAX_SHRINKING_ITERATIONS, NARROW_WINDOW_NODES, PEAK_SHARE, SMALL_VALUE_PARTS,
    WIDE_WINDOW_NODES,
};
use late::Manner;
use std::collections::HashSet;

/// What is tried, in this order, as long as a program needs no less: how far readers of one copy are
/// apart, and whether what runs when the arena is fullest reads what was kept.
const TRIES: [(usize, bool); 6] = [
    (WIDE_WINDOW_NODES, false),
    (WIDE_WINDOW_NODES, true),
    (NARROW_WINDOW_NODES, false),
    (NARROW_WINDOW_NODES, true),
    // A copy for each reader.
    (0, false),
    (0, true),
];

/// Makes plans of a program as long as each needs less than the one before; gives the last of
/// these.
/// `plan` makes the steps of the graph and their plan. A test takes each plan that is made.
pub(crate) fn shrink(
    graph: &mut Graph,
    (donated, always): (&[Option<usize>], bool),
    first: (StepBlock, Plan),
    mut plan: impl FnMut(&mut Graph) -> (StepBlock, Plan),
) -> (StepBlock, Plan) {
    let parameters = graph.main.parameters.iter().enumerate();
    let kept: HashSet<ValueId> = parameters
        .filter(|(index, _)| donated.get(*index).copied().flatten().is_none())
        .map(|(_, &parameter)| parameter)
        .collect();
    let need = |plan: &Plan| plan.arena.saturating_add(plan.pool.len());
    let (mut code, mut best) = first;
    let mut main: Subgraph = graph.main.clone();
    let least = need(&best) / SMALL_VALUE_PARTS;
    let mut manner = Manner { kept, least, window: WIDE_WINDOW_NODES, behind: false };
    // Less by a part that is worth having.
    let is_less = |one: &Plan, other: &Plan| need(one) < need(other) - need(other) / 256;
    if clamped::ask(graph) {
        let (steps, planned) = plan(graph);
        if always || is_less(&planned, &best) {
            (code, best) = (steps, planned);
            main.clone_from(&graph.main);
        } else {
            graph.main.clone_from(&main);
        }
    }
    let mut tries = TRIES.iter();
    for _ in 0..MAX_SHRINKING_ITERATIONS {
        let Some(&(window, behind)) = tries.next() else { break };
        (manner.window, manner.behind) = (window, behind);
        let mut changed = false;
        let (share, most) =
            if always { (0, MAX_SHRINKING_ITERATIONS) } else { (PEAK_SHARE, MAX_PEAK_PLACES) };
        for path in &peaks(&code, &best, share, most).0 {
            changed |= late::make_again(graph, path, &manner);
        }
        if !changed {
            continue;
        }
        let (steps, planned) = plan(graph);
        if always || is_less(&planned, &best) {
            (code, best) = (steps, planned);
            main.clone_from(&graph.main);
            if !always {
                tries = TRIES.iter();
            }
        } else {
            graph.main.clone_from(&main);
        }
    }
    (code, best)
}
