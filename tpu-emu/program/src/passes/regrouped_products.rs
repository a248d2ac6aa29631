//! Products whose operands would be put in order first give results of other axes instead.
//!
//! Queries that share the keys of a head are axes of their own between other axes, so probabilities
//! are no matrix of one row after the other, and a product would copy them. It may as well batch
//! along such an axis ([`Kernel::regrouped`](tpu_ops::Kernel::regrouped)); then its result, which is
//! smaller, is read through a view.
use crate::graph::{Graph, Node, NodeKind, Subgraph};
use std::sync::Arc;
use tpu_base::tensor::Shape;
use tpu_kernels::movement::strided_view::Access;

/// Lets the products of a program copy less, where they copy so many bytes.
pub(crate) fn regroup(graph: &mut Graph, least: usize) {
    graph.each_block(&mut |graph, code| block(graph, code, least));
}

fn block(graph: &mut Graph, code: &mut Subgraph, least: usize) {
    let mut at = 0;
    while at < code.nodes.len() {
        if let Some((product, view)) = regrouped(graph, &code.nodes[at], least) {
            code.nodes[at] = product;
            code.nodes.insert(at + 1, view);
        }
        at += 1;
    }
}

/// A product that needs less memory, and the view of its result.
fn regrouped(graph: &mut Graph, node: &Node, least: usize) -> Option<(Node, Node)> {
    let (NodeKind::Kernel(kernel), &[made]) = (&node.work, &node.results[..]) else { return None };
    if !kernel.absorbs() || kernel.scratch() < least.max(2 * graph.bytes(made)) {
        return None;
    }
    let result = graph.value(made).shape.clone();
    let of = kernel.regrouped()?;
    if of.kernel.scratch().saturating_add(result.bytes()) > kernel.scratch() {
        return None;
    }
    let mut strides = of.strides.into_iter();
    let strides = result.dims.iter().map(|&dim| if dim == 1 { Some(0) } else { strides.next() });
    let access = Access { offset: 0, strides: strides.collect::<Option<_>>()? };
    let shape = Shape::new(result.dtype, of.dims);
    let value = graph.add(shape.clone());
    let view = Node {
        work: NodeKind::Access(access),
        operands: vec![value],
        shapes: vec![shape],
        results: vec![made],
        name: Arc::clone(&node.name),
        location: node.location,
        effect: false,
    };
    let product = Node { work: NodeKind::Kernel(of.kernel), results: vec![value], ..node.clone() };
    Some((product, view))
}

#[cfg(test)]
mod tests {
    use crate::compile::Passes;
    use crate::differential::{plan_under, results_under};
    use tpu_kernels::simd::at_every_level;
    use tpu_ops::Numerics;

    const ALL: Passes = Passes { lifted_from: 1 << 14, ..Passes::ALL };
    const WITHOUT: Passes = Passes { absorbed_work: false, ..Passes::ALL };

    /// Values of heads by probabilities of queries that share them, as the left operand and as the
    /// right one, and the bytes of the operand that would be put in order.
    fn programs() -> [(String, usize); 2] {
        let (values, rows) = ("tensor<2x320x3x72xf32>", "tensor<4x2x3x80x320xf32>");
        let right = format!(
            "func.func public @main(%v: {values}, %p: {rows}) -> tensor<2x3x72x4x80xf32> {{
               %r = stablehlo.dot_general %v, %p, batching_dims = [0, 2] x [1, 2], \
                 contracting_dims = [1] x [4] : ({values}, {rows}) -> tensor<2x3x72x4x80xf32>
               return %r : tensor<2x3x72x4x80xf32>
             }}"
        );
        let left = format!(
            "func.func public @main(%p: {rows}, %v: {values}) -> tensor<2x3x1x4x80x72xf32> {{
               %s = stablehlo.dot_general %p, %v, batching_dims = [1, 2] x [0, 2], \
                 contracting_dims = [4] x [1] : ({rows}, {values}) -> tensor<2x3x4x80x72xf32>
               %r = stablehlo.reshape %s : (tensor<2x3x4x80x72xf32>) -> tensor<2x3x1x4x80x72xf32>
               return %r : tensor<2x3x1x4x80x72xf32>
             }}"
        );
        let bytes = 4 * 2 * 3 * 80 * 320 * 4;
        [(right, bytes), (left, bytes)]
    }

    #[test]
    fn products_batch_along_axes_between_others_with_the_same_bits() {
        for (text, bytes) in programs() {
            assert!(plan_under(&text, ALL).arena < bytes, "{text}");
            for numerics in [Numerics::Tpu, Numerics::Ieee] {
                let kept = [None; 2];
                let wanted = results_under(numerics, &text, &kept, WITHOUT);
                at_every_level(|level| {
                    let found = results_under(numerics, &text, &kept, ALL);
                    assert!(found == wanted, "{level:?}, {numerics:?}: {text}");
                });
            }
        }
    }
}
