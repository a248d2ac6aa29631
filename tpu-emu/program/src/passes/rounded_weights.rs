//! Values from outside of a loop are rounded before it, if in it only products that round them read
//! them.
//!
//! A product at the default precision rounds its operands to bf16 before all else. The weights of a
//! recurrent layer are the same in each iteration: rounded once, they need no rounding in any, and
//! each iteration reads half the bytes.
use crate::graph::{Graph, Node, NodeKind, Subgraph, ValueId};
use crate::passes::rounded::{Rounding, rounding};
use crate::tuning::ROUNDED_WEIGHT_BYTES;
use std::sync::Arc;
use tpu_base::tensor::DType;

/// Rounds what the loops of a block read from outside.
pub(super) fn round(graph: &mut Graph, code: &mut Subgraph) {
    let mut before: Vec<(usize, Node)> = Vec::new();
    for (at, node) in code.nodes.iter_mut().enumerate() {
        let NodeKind::While(_, body) = &node.work else { continue };
        let weights = weights(graph, body);
        if weights.is_empty() {
            continue;
        }
        let own = body.nodes.iter().flat_map(|node| &node.results);
        let uses = Rounding::among(body, own.chain(&weights));
        let rounded = weights.into_iter().filter_map(|value| rounded(graph, node, &uses, value));
        before.extend(rounded.map(|rounding| (at, rounding)));
    }
    for (at, node) in before.into_iter().rev() {
        code.nodes.insert(at, node);
    }
}

/// The values of f32 from outside of a body that its nodes read, if they are as large as weights.
fn weights(graph: &Graph, body: &Subgraph) -> Vec<ValueId> {
    let is_weight = |&&value: &&ValueId| {
        let shape = &graph.value(value).shape;
        shape.dtype == DType::F32 && ROUNDED_WEIGHT_BYTES.contains(&shape.bytes())
    };
    let read = body.nodes.iter().flat_map(|node| &node.operands);
    let mut found: Vec<ValueId> = read.filter(is_weight).copied().collect();
    let own = || body.nodes.iter().flat_map(|node| &node.results).chain(&body.parameters);
    found.sort_unstable();
    found.dedup();
    found.retain(|value| !own().any(|own| own == value));
    found
}

/// Lets the body of a loop read a value rounded; gives the node that rounds it.
fn rounded(graph: &mut Graph, of: &mut Node, uses: &Rounding, value: ValueId) -> Option<Node> {
    let NodeKind::While(_, body) = &of.work else { return None };
    let readers = uses.readers(graph, body, value)?;
    let node = rounding(graph, of, value)?;
    if let NodeKind::While(_, body) = &mut of.work {
        readers.read(graph, Arc::make_mut(body), (value, node.results[0]));
    }
    Some(node)
}

#[cfg(test)]
mod tests {
    use crate::compile::{Passes, plan};
    use crate::differential::{graph_under, results_under};
    use crate::graph::{Node, NodeKind};
    use crate::plan::StorageForm;
    use tpu_base::tensor::DType;
    use tpu_kernels::simd::at_every_level;
    use tpu_ops::Numerics;

    /// A recurrent layer of some rows with a matrix of weights, its transpose, and what else each
    /// iteration makes of the weights.
    fn program(rows: usize, also: &str) -> String {
        let (state, square) = (format!("tensor<{rows}x64xf32>"), "tensor<64x64xf32>");
        let dot = |from: &str| {
            format!(
                "stablehlo.dot_general {from}, contracting_dims = [1] x [0] : ({state}, {square}) -> {state}"
            )
        };
        format!(
            "func.func public @main(%x: {state}, %w: {square}) -> ({state}, {square}) {{
               %z = stablehlo.constant dense<0> : tensor<i32>
               %f:3 = stablehlo.while(%i = %z, %a = %x, %k = %w) : tensor<i32>, {state}, {square} cond {{
                 %t = stablehlo.constant dense<40> : tensor<i32>
                 %q = stablehlo.compare LT, %i, %t : (tensor<i32>, tensor<i32>) -> tensor<i1>
                 stablehlo.return %q : tensor<i1>
               }} do {{
                 %o = stablehlo.constant dense<1> : tensor<i32>
                 %j = stablehlo.add %i, %o : tensor<i32>
                 %v = stablehlo.transpose %w, dims = [1, 0] : ({square}) -> {square}
                 %b = {}
                 %c = stablehlo.tanh %b : {state}
                 %d = {}
                 %e = stablehlo.tanh %d : {state}
                 %m = {also} : {square}
                 stablehlo.return %j, %e, %m : tensor<i32>, {state}, {square}
               }}
               return %f#1, %f#2 : {state}, {square}
             }}",
            dot("%a, %w"),
            dot("%c, %v"),
        )
    }

    /// The types that a node before the loop rounds to, and those of the operands of products.
    fn types(text: &str, numerics: Numerics) -> (Vec<DType>, Vec<DType>) {
        let mut graph = graph_under(numerics, text, Passes::ALL);
        let outside = StorageForm::Packed { donated: &[None; 2], elsewhere: &[], apart: false };
        let _ = plan(&mut graph, outside, Passes::ALL);
        let of = |node: &Node, operand: usize| graph.value(node.operands[operand]).shape.dtype;
        let made = |node: &Node| graph.value(node.results[0]).shape.dtype;
        let elementwise = |node: &&Node| matches!(node.work, NodeKind::Elementwise(_));
        let before = graph.main.nodes.iter().filter(elementwise).map(made).collect();
        let mut body = graph.main.nodes.iter().filter_map(|node| match &node.work {
            NodeKind::While(_, body) => Some(body),
            _ => None,
        });
        let products = body.next().unwrap().nodes.iter().filter(|node| node.work.is_product());
        (before, products.map(|node| of(node, 1)).collect())
    }

    #[test]
    fn weights_that_only_products_read_are_rounded_before_the_loop() {
        let halves = (vec![DType::Bf16], vec![DType::Bf16; 2]);
        let text = program(2, "stablehlo.negate %k");
        assert_eq!(types(&text, Numerics::Tpu), halves);
        assert_eq!(types(&text, Numerics::Ieee), (vec![], vec![DType::F32; 2]));
        let read_as_they_are = program(2, "stablehlo.add %k, %w");
        assert_eq!(types(&read_as_they_are, Numerics::Tpu), (vec![], vec![DType::F32; 2]));
    }

    #[test]
    fn rounded_weights_give_the_bits_of_weights_that_products_round() {
        let without = Passes { rounded_from: usize::MAX, ..Passes::ALL };
        for rows in [1, 2, 17] {
            let text = program(rows, "stablehlo.negate %k");
            at_every_level(|level| {
                let [found, wanted] = [Passes::ALL, without]
                    .map(|passes| results_under(Numerics::Tpu, &text, &[None; 2], passes));
                assert!(found == wanted, "{level:?}: {text}");
            });
        }
    }
}
