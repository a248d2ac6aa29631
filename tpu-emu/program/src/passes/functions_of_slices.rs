//! A function of what a loop takes slice by slice is computed before the loop, of all slices at once.
//!
//! A `scan` over angles computes a sine in each iteration, and a function of one number takes as long
//! as one of a vector of them. Slices are short here, each is read once, and the array is small.
use crate::graph::{Graph, Node, NodeKind, Subgraph, ValueId};
use crate::tuning::{MAX_EARLY_FUNCTION_BYTES, MAX_EARLY_SLICE_BYTES};
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;
use tpu_base::tensor::DType;
use tpu_kernels::elementwise::kind::{Direction, ElementwiseKind};
use tpu_kernels::movement::index::Outside;

/// Takes such functions out of the loops of a program.
pub(crate) fn compute_early(graph: &mut Graph) {
    let has_loops = |of: &Subgraph| of.nodes.iter().any(|node| node.work.blocks().next().is_some());
    if has_loops(&graph.main) {
        graph.each_block(&mut block);
    }
}

fn block(graph: &mut Graph, code: &mut Subgraph) {
    let mut nodes = Vec::with_capacity(code.nodes.len());
    for mut node in std::mem::take(&mut code.nodes) {
        if let NodeKind::While(condition, body) = &mut node.work
            && let Some(iterations) = bound(graph, condition)
        {
            nodes.extend(early(graph, Arc::make_mut(body), iterations));
        }
        nodes.push(node);
    }
    code.nodes = nodes;
}

/// The number that a loop counts below, if it does nothing else to end.
fn bound(graph: &Graph, condition: &Subgraph) -> Option<usize> {
    let [result] = condition.results[..] else { return None };
    let node = condition.nodes.iter().find(|node| node.results == [result])?;
    let NodeKind::Elementwise(op) = &node.work else { return None };
    let &[counted, bound] = &node.operands[..] else { return None };
    let counts = matches!(op.kind, ElementwiseKind::Compare(Direction::Lt, _))
        && op.operand == DType::S32
        && condition.parameters.contains(&counted);
    let known = graph.value(bound).known.as_deref().filter(|_| counts)?;
    usize::try_from(i32::from_le_bytes(known.try_into().ok()?)).ok()
}

/// The functions of slices that a loop's body takes of arrays from outside; the body takes slices of
/// their results.
fn early(graph: &mut Graph, body: &mut Subgraph, iterations: usize) -> Vec<Node> {
    let mut inside: FxHashSet<ValueId> = body.parameters.iter().copied().collect();
    let mut slices: FxHashMap<ValueId, usize> = FxHashMap::default();
    let mut before = Vec::new();
    for at in 0..body.nodes.len() {
        let node = &body.nodes[at];
        if is_slice(node, iterations) && !inside.contains(&node.operands[0]) {
            slices.insert(node.results[0], at);
        } else if let Some(operand) = function(graph, node)
            && let Some(&slice) = slices.get(&operand)
        {
            let slice = &body.nodes[slice];
            let (all, shapes) = (slice.shapes[0].clone(), vec![slice.shapes[0].clone()]);
            let made = graph.add(all);
            let of_all = Node {
                operands: vec![slice.operands[0]],
                shapes,
                results: vec![made],
                ..node.clone()
            };
            let mut one = Node { results: node.results.clone(), ..slice.clone() };
            one.operands[0] = made;
            before.push(of_all);
            body.nodes[at] = one;
        }
        inside.extend(&body.nodes[at].results);
    }
    before
}

/// Whether a node takes one of so many slices of an array, short ones that lie one behind the other.
fn is_slice(node: &Node, iterations: usize) -> bool {
    let (NodeKind::Kernel(kernel), Some(all)) = (&node.work, node.shapes.first()) else {
        return false;
    };
    if all.bytes() > MAX_EARLY_FUNCTION_BYTES || all.dims.first() != Some(&iterations) {
        return false;
    }
    let Some(moves) = kernel.moves(1).filter(|of| !of.into && of.outside == Outside::Clamp) else {
        return false;
    };
    let [slice] = &moves.moves[..] else { return false };
    slice.operand == 0
        && slice.bytes <= MAX_EARLY_SLICE_BYTES
        && slice.bytes.checked_mul(iterations) == Some(all.bytes())
}

/// The operand of a node that is a costly function of each element, with results of the same type.
fn function(graph: &Graph, node: &Node) -> Option<ValueId> {
    let (NodeKind::Elementwise(op), &[operand]) = (&node.work, &node.operands[..]) else {
        return None;
    };
    let made = graph.value(node.results[0]).shape.elements();
    let costly = op.transcendental && op.operand == op.result;
    (costly && node.shapes[0].elements() == made).then_some(operand)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compile::Passes;
    use crate::differential::{graph_of, results};

    /// A sum of cosines of the rows of an array, as many as the loop has iterations.
    fn summed(rows: usize, row: &str, iterations: usize, of: &str) -> String {
        let (all, one) = (format!("tensor<{rows}x{row}xf32>"), format!("tensor<1x{row}xf32>"));
        format!(
            "func.func public @main(%x: {all}, %s: {one}) -> {one} {{
               %z = stablehlo.constant dense<0> : tensor<i32>
               %r:2 = stablehlo.while(%i = %z, %c = %s) : tensor<i32>, {one} cond {{
                 %n = stablehlo.constant dense<{iterations}> : tensor<i32>
                 %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
                 stablehlo.return %p : tensor<i1>
               }} do {{
                 %o = stablehlo.constant dense<1> : tensor<i32>
                 %j = stablehlo.add %i, %o : tensor<i32>
                 %l = stablehlo.dynamic_slice %x, %i, %z, sizes = [1, {row}] : ({all}, tensor<i32>, tensor<i32>) -> {one}
                 %f = stablehlo.cosine %{of} : {one}
                 %d = stablehlo.add %c, %f : {one}
                 stablehlo.return %j, %d : tensor<i32>, {one}
               }}
               return %r#1 : {one}
             }}"
        )
    }

    /// Whether the cosine is computed before the loop.
    fn is_early(rows: usize, row: &str, iterations: usize, of: &str) -> bool {
        let mut graph = graph_of(&summed(rows, row, iterations, of), Passes::ALL);
        crate::passes::loop_invariants::hoist(&mut graph);
        compute_early(&mut graph);
        let cosines =
            |of: &Subgraph| of.nodes.iter().filter(|of| &*of.name == "stablehlo.cosine").count();
        let outside = cosines(&graph.main);
        let mut all = 0;
        graph.each_block(&mut |_, block| all += cosines(block));
        assert_eq!(all, 1);
        outside == 1
    }

    #[test]
    fn functions_of_short_slices_are_computed_before_the_loop() {
        assert!(is_early(40, "3", 40, "l"));
        assert!(!is_early(40, "3", 39, "l"), "slices that are not read");
        assert!(!is_early(40, "3", 40, "c"), "what the loop makes");
        let long = (MAX_EARLY_SLICE_BYTES / 4 + 1).to_string();
        assert!(!is_early(40, &long, 40, "l"), "long slices");
        let many = MAX_EARLY_FUNCTION_BYTES / 4 + 1;
        assert!(!is_early(many, "1", many, "l"), "large arrays");
    }

    #[test]
    fn results_are_those_of_the_loop() {
        let text = summed(40, "3", 40, "l");
        let [early, in_loop] = [Passes::ALL, Passes { loop_invariants: false, ..Passes::ALL }]
            .map(|passes| results(&text, &[None; 2], passes));
        assert_eq!(early, in_loop);
    }
}
