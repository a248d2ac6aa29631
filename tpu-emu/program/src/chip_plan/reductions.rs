//! Reductions of what is made of a value, element by element.
use crate::graph::{Graph, Node, NodeKind, ValueId};

/// The extents of reductions, among the nodes of a block, that read a value or what is made of its
/// elements.
pub(super) fn of(graph: &Graph, nodes: &[Node], value: ValueId) -> Vec<[usize; 3]> {
    let elements = graph.value(value).shape.elements();
    let mut values = vec![value];
    let mut found = Vec::new();
    for node in nodes {
        let [result] = node.results[..] else { continue };
        match &node.work {
            NodeKind::Elementwise(_)
                if node.operands.iter().any(|of| values.contains(of))
                    && graph.value(result).shape.elements() == elements =>
            {
                values.push(result);
            }
            NodeKind::Kernel(kernel)
                if node.operands.first().is_some_and(|of| values.contains(of)) =>
            {
                found.extend(kernel.reduction().map(|reduced| reduced.dims));
            }
            _ => {}
        }
    }
    found
}
