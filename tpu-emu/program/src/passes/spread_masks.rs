//! Masks that are spread over more axes are made there.
//!
//! `broadcast(and(a, broadcast(b)))` is `and(a, b)` over all axes, with views of what is small; so
//! whoever reads a part of it needs no mask as a whole. What is shown in another order, or spread,
//! before it is spread is spread once.
use super::composed_views::{composed, in_rows};
use crate::graph::{Graph, Node, NodeKind, Subgraph, ValueId};
use rustc_hash::FxHashMap;
use tpu_base::tensor::{DType, Shape};
use tpu_kernels::movement::strided_view::{Access, signed};

/// Makes the masks of a program that have so many bytes where they are spread to.
pub(crate) fn spread(graph: &mut Graph, least: usize) {
    graph.each_block(&mut |graph, code| block(graph, code, least));
}

fn block(graph: &mut Graph, code: &mut Subgraph, least: usize) {
    let large = |node: &Node| {
        matches!(node.work, NodeKind::Access(_))
            && node.results.iter().all(|&value| graph.bytes(value) >= least)
    };
    if !code.nodes.iter().any(large) {
        return;
    }
    let mut makers: FxHashMap<ValueId, usize> = FxHashMap::default();
    let mut nodes: Vec<Node> = Vec::with_capacity(code.nodes.len());
    for node in std::mem::take(&mut code.nodes) {
        for node in made_anew(graph, (&nodes, &makers), &node, least).unwrap_or_else(|| vec![node])
        {
            makers.extend(node.results.iter().map(|&value| (value, nodes.len())));
            nodes.push(node);
        }
    }
    code.nodes = nodes;
}

/// The nodes that make what a view shows from what is viewed there.
fn made_anew(
    graph: &mut Graph,
    (nodes, makers): (&[Node], &FxHashMap<ValueId, usize>),
    view: &Node,
    least: usize,
) -> Option<Vec<Node>> {
    let maker = |value: &ValueId| makers.get(value).and_then(|&at| nodes.get(at));
    let (NodeKind::Access(access), [seen], [from], &[shown]) =
        (&view.work, &view.operands[..], &view.shapes[..], &view.results[..])
    else {
        return None;
    };
    let of = maker(seen).filter(|_| graph.bytes(shown) >= least)?;
    let to = graph.value(shown).shape.clone();
    match &of.work {
        NodeKind::Access(_) if of.shapes[0].elements() == 1 => {
            let work = NodeKind::Access(Access { offset: 0, strides: vec![0; to.rank()] });
            let (operands, shapes) = (of.operands.clone(), of.shapes.clone());
            Some(vec![Node { work, operands, shapes, ..view.clone() }])
        }
        NodeKind::Access(_) if from.elements() < to.elements() => {
            let mut view = composed(graph, view, of)?;
            while let Some(further) =
                (view.operands.first()).and_then(|value| composed(graph, &view, maker(value)?))
            {
                view = further;
            }
            Some(in_rows(graph, view))
        }
        NodeKind::Elementwise(_) if to.dtype == DType::Pred => {
            let places = places(access, from, &to)?;
            let mut made = of.clone();
            let mut all = Vec::new();
            for (operand, shape) in made.operands.iter_mut().zip(&mut made.shapes) {
                if shape.elements() == 1 {
                    continue;
                }
                let inner = maker(operand)?;
                let NodeKind::Access(source) = &inner.work else { return None };
                if shape.dims != from.dims {
                    return None;
                }
                let mut strides = vec![0; to.rank()];
                for (&place, &stride) in places.iter().zip(&source.strides) {
                    if let Some(place) = place {
                        strides[place] = stride;
                    }
                }
                let spread = Shape::new(shape.dtype, to.dims.clone());
                let value = graph.add(spread.clone());
                let work = NodeKind::Access(Access { offset: source.offset, strides });
                all.push(Node { work, results: vec![value], ..inner.clone() });
                (*operand, *shape) = (value, spread);
            }
            made.results = vec![shown];
            all.push(made);
            Some(all)
        }
        _ => None,
    }
}

/// The axis of a view that each axis of several indices of an array is, if it shows all of its
/// elements, and in the other axes the same ones again.
fn places(access: &Access, from: &Shape, to: &Shape) -> Option<Vec<Option<usize>>> {
    if access.offset != 0 || from.elements() == 0 {
        return None;
    }
    let mut free: Vec<usize> =
        (0..to.rank()).filter(|&axis| to.dims[axis] != 1 && access.strides[axis] != 0).collect();
    let mut places = Vec::with_capacity(from.rank());
    for (stride, &dim) in from.strides().into_iter().zip(&from.dims) {
        if dim == 1 {
            places.push(None);
            continue;
        }
        let same = |&axis: &usize| to.dims[axis] == dim && access.strides[axis] == signed(stride);
        let at = free.iter().position(same)?;
        places.push(Some(free.remove(at)));
    }
    free.is_empty().then_some(places)
}

#[cfg(test)]
mod tests {
    use crate::compile::Passes;
    use crate::differential::{graph_of, results_under};
    use crate::graph::NodeKind;
    use tpu_ops::Numerics;

    /// A causal mask of scores, as `jax.nn` writes it for queries that share keys.
    const TEXT: &str = "func.func public @main(%s: tensor<2x3x80x96xf32>) -> tensor<4x2x3x80x96xf32> {
           %c = stablehlo.constant dense<true> : tensor<i1>
           %l = stablehlo.constant dense<-1.0> : tensor<f32>
           %a = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i1>) -> tensor<2x3x80x96xi1>
           %i = stablehlo.iota dim = 0 : tensor<80x96xi32>
           %j = stablehlo.iota dim = 1 : tensor<80x96xi32>
           %g = stablehlo.compare GE, %i, %j : (tensor<80x96xi32>, tensor<80x96xi32>) -> tensor<80x96xi1>
           %b = stablehlo.broadcast_in_dim %g, dims = [2, 3] : (tensor<80x96xi1>) -> tensor<2x3x80x96xi1>
           %m = stablehlo.and %a, %b : tensor<2x3x80x96xi1>
           %n = stablehlo.broadcast_in_dim %l, dims = [] : (tensor<f32>) -> tensor<2x3x80x96xf32>
           %o = stablehlo.broadcast_in_dim %m, dims = [1, 2, 3, 4] : (tensor<2x3x80x96xi1>) -> tensor<4x2x3x80x96xi1>
           %p = stablehlo.broadcast_in_dim %n, dims = [1, 2, 3, 4] : (tensor<2x3x80x96xf32>) -> tensor<4x2x3x80x96xf32>
           %q = stablehlo.broadcast_in_dim %s, dims = [1, 2, 3, 4] : (tensor<2x3x80x96xf32>) -> tensor<4x2x3x80x96xf32>
           %r = stablehlo.select %o, %q, %p : tensor<4x2x3x80x96xi1>, tensor<4x2x3x80x96xf32>
           return %r : tensor<4x2x3x80x96xf32>
         }";

    #[test]
    fn a_mask_is_made_over_all_axes_of_what_is_small() {
        let mut graph = graph_of(TEXT, Passes::ALL);
        super::spread(&mut graph, 1 << 14);
        let large = 2 * 3 * 80 * 96;
        let mut views = 0;
        for node in &graph.main.nodes {
            let elements = graph.value(node.results[0]).shape.elements();
            if matches!(node.work, NodeKind::Access(_)) && elements == 4 * large {
                views += 1;
                let from = node.shapes[0].elements();
                assert!(from == 1 || from == 80 * 96 || node.operands == graph.main.parameters);
            }
        }
        // Of both sides of the mask, of the other scores, and of the scores.
        assert_eq!(views, 4);
        let of = |passes| results_under(Numerics::Tpu, TEXT, &[None], passes);
        let all = Passes { lifted_from: 1 << 14, ..Passes::ALL };
        assert!(of(all) == of(Passes { absorbed_work: false, ..Passes::ALL }));
    }

    #[test]
    fn a_mask_in_another_order_is_spread_from_where_it_is_made() {
        let (made, four, turned) =
            ("tensor<2x80x96xi1>", "tensor<2x1x4x80x96xi1>", "tensor<4x2x1x80x96xi1>");
        let (all, numbers) = ("tensor<4x2x3x80x96xi1>", "tensor<2x80x96xi32>");
        let text = format!(
            "func.func public @main(%s: {numbers}, %t: {numbers}) -> {all} {{
               %m = stablehlo.compare GT, %s, %t : ({numbers}, {numbers}) -> {made}
               %a = stablehlo.broadcast_in_dim %m, dims = [0, 3, 4] : ({made}) -> {four}
               %b = stablehlo.transpose %a, dims = [2, 0, 1, 3, 4] : ({four}) -> {turned}
               %r = stablehlo.broadcast_in_dim %b, dims = [0, 1, 2, 3, 4] : ({turned}) -> {all}
               return %r : {all}
             }}"
        );
        let mut graph = graph_of(&text, Passes::ALL);
        super::spread(&mut graph, 1 << 14);
        let maker = |value| graph.main.nodes.iter().find(|node| node.results[..] == [value]);
        let shown = maker(graph.main.results[0]).unwrap();
        assert!(matches!(shown.work, NodeKind::Access(_)));
        assert!(matches!(maker(shown.operands[0]).unwrap().work, NodeKind::Elementwise(_)));
        let of = |passes| results_under(Numerics::Tpu, &text, &[None; 2], passes);
        let all = Passes { lifted_from: 1 << 14, ..Passes::ALL };
        assert!(of(all) == of(Passes { absorbed_work: false, ..Passes::ALL }));
    }
}
