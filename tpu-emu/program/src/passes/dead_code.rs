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
