//! Nodes whose results nobody reads disappear, and so do arrays that sorts need not make or take.
use crate::graph::{Graph, Node, NodeKind, Subgraph, ValueId};
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;
use tpu_base::tensor::DType;

/// Removes the nodes of a program whose results nobody reads and that do nothing else.
pub(crate) fn eliminate(graph: &mut Graph) {
    prune(&mut graph.main);
}

/// Removes the dead nodes of a block; gives the values that the rest reads.
fn prune(block: &mut Subgraph) -> FxHashSet<ValueId> {
    let mut used: FxHashSet<ValueId> = block.results.iter().copied().collect();
    let counts = counts(block);
    let mut kept = Vec::new();
    for mut node in std::mem::take(&mut block.nodes).into_iter().rev() {
        if !node.effect && !node.results.iter().any(|result| used.contains(result)) {
            continue;
        }
        trim_sort(&mut node, &used, &counts);
        if let NodeKind::Each(each) = &mut node.work {
            keep(&mut each.body.results, node.results.iter().map(|one| used.contains(one)));
            node.results.retain(|one| used.contains(one));
            let read = prune(&mut each.body);
            let is_read: Vec<bool> =
                each.body.parameters.iter().map(|one| read.contains(one)).collect();
            keep(&mut node.operands, is_read.iter().copied());
            keep(&mut each.rows, is_read.iter().copied());
            keep(&mut each.body.parameters, is_read.iter().copied());
            used.extend(read);
        }
        used.extend(node.operands.iter().copied());
        match &mut node.work {
            NodeKind::While(condition, body) => {
                for block in [condition, body] {
                    used.extend(prune(Arc::make_mut(block)));
                }
            }
            NodeKind::Branch(blocks) => {
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

/// The axes along which values count, in a block that sorts.
fn counts(block: &Subgraph) -> FxHashMap<ValueId, usize> {
    let sorts = |node: &Node| matches!(&node.work, NodeKind::Kernel(of) if of.sorts().is_some());
    if !block.nodes.iter().any(sorts) {
        return FxHashMap::default();
    }
    let axis = |node: &Node| match node.work {
        NodeKind::Iota(axis) => Some((*node.results.first()?, axis)),
        _ => None,
    };
    block.nodes.iter().filter_map(axis).collect()
}

/// Leaves of a sort the results that are read, and no operand that tells places.
fn trim_sort(node: &mut Node, used: &FxHashSet<ValueId>, counts: &FxHashMap<ValueId, usize>) {
    let NodeKind::Kernel(kernel) = &node.work else { return };
    let Some(sorts) = kernel.sorts() else { return };
    let is_made: Vec<bool> = node.results.iter().map(|of| used.contains(of)).collect();
    let counts = |(operand, of): (usize, &ValueId)| {
        counts.get(of) == Some(&sorts.axis)
            && matches!(node.shapes[operand].dtype, DType::S32 | DType::U32)
            && !sorts.keys.contains(&operand)
    };
    let is_taken: Vec<bool> =
        node.operands.iter().enumerate().map(|place| !counts(place)).collect();
    let numbers = |flags: &[bool], wanted: bool| -> Vec<usize> {
        (0..flags.len()).filter(|&at| flags[at] == wanted).collect()
    };
    let (made, counted) = (numbers(&is_made, true), numbers(&is_taken, false));
    if made.len() == is_made.len() && counted.is_empty() {
        return;
    }
    let Some(kernel) = kernel.sorting(&made, &counted) else { return };
    node.work = NodeKind::Kernel(kernel);
    keep(&mut node.results, is_made.into_iter());
    keep(&mut node.operands, is_taken.iter().copied());
    keep(&mut node.shapes, is_taken.into_iter());
}

/// Keeps the items for which there is a yes.
fn keep<T>(items: &mut Vec<T>, yes: impl Iterator<Item = bool>) {
    let mut yes = yes.chain(std::iter::repeat(true));
    items.retain(|_| yes.next().unwrap_or(true));
}
