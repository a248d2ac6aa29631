//! What is read late is made again just before it is read.
use super::cut::{Cut, Late, Manner};
use super::products::products_made_again;
use crate::graph::{Graph, Node, REMATERIALIZED, Subgraph, ValueId};
use crate::plan::peak::Moment;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeSet;

/// Makes values again that nodes read from a moment on, in each block that the moment is in;
/// says whether there are any. `path` has the steps that run then, from the outermost block inwards.
pub(super) fn make_again(graph: &mut Graph, path: &[Moment], manner: &Manner) -> bool {
    let mut main = std::mem::take(&mut graph.main);
    let changed = block(graph, &mut main, path, manner);
    graph.main = main;
    changed
}

fn block(graph: &mut Graph, code: &mut Subgraph, path: &[Moment], manner: &Manner) -> bool {
    let Some((first, inside)) = path.split_first() else { return false };
    let makes = |node: &Node| node.results.contains(&first.made);
    let Some(at) = code.nodes.iter().position(makes) else { return false };
    let mut changed = false;
    if !inside.is_empty() {
        for code in code.nodes[at].work.blocks_mut() {
            changed |= block(graph, code, inside, manner);
        }
    }
    let is_there = |node: &Node| node.results.iter().any(|value| first.before.contains(value));
    let at = match manner.late {
        // A loop or a branch that goes on reads what it reads.
        _ if !inside.is_empty() => at,
        Late::FirstResult => at,
        Late::Next => at + 1,
        Late::WholeStep => code.nodes[..at].iter().rposition(is_there).map_or(at, |last| last + 1),
    };
    let mut cut = Cut::new(graph, code, at, manner);
    if manner.products {
        cut.products = products_made_again(&cut, manner.excess);
    }
    let products = cut.products.clone();
    let Some(remade) = cut.remade() else { return changed };
    if remade.is_empty() {
        return changed;
    }
    write(graph, code, at, (&remade, &products), manner.window);
    true
}

/// Writes a block anew, with values made again for the nodes from `at` on.
fn write(
    graph: &mut Graph,
    code: &mut Subgraph,
    at: usize,
    (remade, products): (&FxHashSet<ValueId>, &FxHashSet<ValueId>),
    window: usize,
) {
    let late = code.nodes.split_off(at);
    let mut maker: FxHashMap<ValueId, usize> = FxHashMap::default();
    for (number, node) in code.nodes.iter().enumerate() {
        maker.extend(node.results.iter().map(|&result| (result, number)));
    }
    let early = &code.nodes;
    // The copy of each value, and the late node that it was made for.
    let mut made: FxHashMap<ValueId, (ValueId, usize)> = FxHashMap::default();
    let mut written = Vec::with_capacity(late.len());
    for (number, mut node) in late.into_iter().enumerate() {
        let is_made = |made: &FxHashMap<ValueId, (ValueId, usize)>, value: ValueId| {
            made.get(&value).is_some_and(|&(_, at)| number - at <= window)
        };
        let mut open = node.operands.clone();
        let mut wanted = BTreeSet::new();
        while let Some(value) = open.pop() {
            if remade.contains(&value) && !is_made(&made, value) && wanted.insert(maker[&value]) {
                open.extend(&early[maker[&value]].operands);
            }
        }
        let current = |made: &FxHashMap<ValueId, (ValueId, usize)>, value: ValueId| {
            let copy = made.get(&value).filter(|_| remade.contains(&value));
            copy.map_or(value, |&(copy, _)| copy)
        };
        for maker in wanted {
            let mut again = early[maker].clone();
            for operand in &mut again.operands {
                *operand = current(&made, *operand);
            }
            if again.results.iter().any(|result| products.contains(result)) {
                again.name = format!("{}{REMATERIALIZED}", again.name).into();
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
