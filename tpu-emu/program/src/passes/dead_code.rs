//! Nodes whose results nobody reads disappear.
use crate::graph::{Graph, NodeKind, Subgraph, ValueId};
use std::collections::HashSet;
use std::sync::Arc;

/// Removes the nodes of a program whose results nobody reads and that do nothing else.
pub(crate) fn eliminate(graph: &mut Graph) {
    prune(&mut graph.main);
}

/// Removes the dead nodes of a block; gives the values that the rest reads.
fn prune(block: &mut Subgraph) -> HashSet<ValueId> {
    let mut used: HashSet<ValueId> = block.results.iter().copied().collect();
    let mut kept = Vec::new();
    for mut node in std::mem::take(&mut block.nodes).into_iter().rev() {
        if !node.effect && !node.results.iter().any(|result| used.contains(result)) {
            continue;
        }
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

/// Keeps the items for which there is a yes.
fn keep<T>(items: &mut Vec<T>, yes: impl Iterator<Item = bool>) {
    let mut yes = yes.chain(std::iter::repeat(true));
    items.retain(|_| yes.next().unwrap_or(true));
}
