//! A scatter of one update to a row, into one element everywhere, becomes a choice.
//!
//! The gradient of a look-up along an axis, as losses have it, is an array of zeros with one update
//! in each row. As a choice by index it is elementwise: loop fusion makes its elements where they
//! are read, and the array need not be there at all.
use crate::graph::{Graph, Node, NodeKind, Subgraph, ValueId};
use rustc_hash::FxHashSet;
use std::sync::Arc;
use tpu_base::tensor::{DType, Shape};
use tpu_ops::OneHot;

/// Makes choices of the scatters of a program that are choices, of arrays of so many bytes at least.
pub(crate) fn choose(graph: &mut Graph, least: usize) {
    let mut main = std::mem::take(&mut graph.main);
    block(graph, &mut main, least);
    graph.main = main;
}

fn block(graph: &mut Graph, code: &mut Subgraph, least: usize) {
    let mut any = false;
    for node in &mut code.nodes {
        node.work.blocks_mut().for_each(|inner| block(graph, inner, least));
        if let NodeKind::Kernel(kernel) = &node.work {
            any |= kernel.one_hot().is_some();
        }
    }
    let is_one = |graph: &Graph, node: &Node| {
        one_hot(node).is_some() && graph.bytes(node.results[0]) >= least
    };
    if !any || !code.nodes.iter().any(|node| is_one(graph, node)) {
        return;
    }
    let mut splats: FxHashSet<ValueId> = FxHashSet::default();
    let mut nodes = Vec::with_capacity(code.nodes.len());
    for node in std::mem::take(&mut code.nodes) {
        if node.only_element(graph).is_some() {
            splats.extend(&node.results);
        }
        if is_one(graph, &node) && splats.contains(&node.operands[0]) {
            choice(graph, &node, &mut nodes);
        } else {
            nodes.push(node);
        }
    }
    code.nodes = nodes;
}

/// The choice that a node is as well.
fn one_hot(node: &Node) -> Option<&OneHot> {
    match &node.work {
        NodeKind::Kernel(kernel) => kernel.one_hot(),
        _ => None,
    }
}

/// Writes a scatter as a choice.
fn choice(graph: &mut Graph, scatter: &Node, into: &mut Vec<Node>) {
    let Some(one) = one_hot(scatter) else { return };
    let &[held, indices, updates] = &scatter.operands[..] else { return };
    let [of_held, of_indices, of_updates] = &scatter.shapes[..] else { return };
    let typed = |dtype: DType| Shape { dtype, dims: of_held.dims.clone() };
    let node = |work, operands: &[ValueId], shapes: Vec<Shape>, result| Node {
        work,
        operands: operands.to_vec(),
        shapes,
        results: vec![result],
        name: Arc::clone(&scatter.name),
        location: scatter.location,
        effect: false,
    };
    let index = typed(one.index);
    let [number, wanted] = [(); 2].map(|()| graph.add(index.clone()));
    into.push(node(NodeKind::Iota(one.axis), &[], vec![], number));
    let access = NodeKind::Access(one.indices.clone());
    into.push(node(access, &[indices], vec![of_indices.clone()], wanted));
    let is_there = graph.add(typed(DType::Pred));
    let equal = NodeKind::Elementwise(one.equal);
    into.push(node(equal, &[number, wanted], vec![index.clone(), index], is_there));
    let mut put = graph.add(of_held.clone());
    let access = NodeKind::Access(one.updates.clone());
    into.push(node(access, &[updates], vec![of_updates.clone()], put));
    if let Some(combine) = one.combine {
        let update = std::mem::replace(&mut put, graph.add(of_held.clone()));
        let shapes = vec![of_held.clone(); 2];
        into.push(node(NodeKind::Elementwise(combine), &[held, update], shapes, put));
    }
    let shapes = vec![typed(DType::Pred), of_held.clone(), of_held.clone()];
    let choose = NodeKind::Elementwise(one.choose);
    into.push(node(choose, &[is_there, put, held], shapes, scatter.results[0]));
}

#[cfg(test)]
pub(crate) mod tests {
    use crate::compile::Passes;
    use crate::differential::{plan_of, results_under};
    use tpu_kernels::simd::at_every_level;
    use tpu_ops::Numerics;

    const WITHOUT: Passes = Passes { one_hot_from: usize::MAX, ..Passes::ALL };

    /// A program that reads an array with one update to each of 64 rows, and the bytes of its
    /// arena: `held` is what the array has elsewhere, `given` what the body gives.
    fn program(dtype: &str, index: &str, held: &str, given: &str) -> String {
        let (table, rows) = (format!("tensor<64x600x{dtype}>"), format!("tensor<64x{dtype}>"));
        let (at, one) = (format!("tensor<64x1x{index}>"), format!("tensor<{dtype}>"));
        format!(
            "func.func public @main(%x: {table}, %u: {rows}, %n: {at}) -> {table} {{
               %e = stablehlo.constant dense<{held}> : {one}
               %z = stablehlo.broadcast_in_dim %e, dims = [] : ({one}) -> {table}
               %i = stablehlo.iota dim = 0 : {at}
               %k = stablehlo.constant dense<9> : {at}
               %l = stablehlo.multiply %i, %k : {at}
               %m = stablehlo.add %n, %l : {at}
               %s = \"stablehlo.scatter\"(%z, %m, %u) ({{
               ^bb0(%a: {one}, %b: {one}):
                 %c = stablehlo.add %a, %b : {one}
                 stablehlo.return {given} : {one}
               }}) {{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 1>}} : ({table}, {at}, {rows}) -> {table}
               %r = stablehlo.multiply %s, %x : {table}
               return %r : {table}
             }}"
        )
    }

    /// Programs whose scatters are choices.
    pub(crate) fn programs() -> Vec<String> {
        vec![
            program("f32", "i32", "0.0", "%c"),
            program("f32", "i32", "-0.5", "%c"),
            program("bf16", "i16", "1.5", "%c"),
            program("f32", "ui32", "0.0", "%b"),
        ]
    }

    #[test]
    fn an_array_with_one_update_to_a_row_is_never_stored() {
        for text in programs() {
            assert_eq!(plan_of(&text).arena, 0, "{text}");
        }
    }

    #[test]
    fn choices_have_the_bits_of_scatters() {
        for text in programs() {
            for numerics in [Numerics::Tpu, Numerics::Ieee] {
                let kept = [None; 3];
                let wanted = results_under(numerics, &text, &kept, WITHOUT);
                at_every_level(|level| {
                    let found = results_under(numerics, &text, &kept, Passes::ALL);
                    assert!(found == wanted, "{level:?}, {numerics:?}: {text}");
                });
            }
        }
    }

    #[test]
    fn what_is_held_by_an_array_of_several_numbers_stays_a_scatter() {
        let text = program("f32", "i32", "0.0", "%c").replace("(%z, %m", "(%x, %m");
        assert!(plan_of(&text).arena > 0);
    }

    #[test]
    fn an_index_type_without_all_numbers_of_the_axis_stays_a_scatter() {
        let text = program("f32", "i8", "0.0", "%c");
        assert!(plan_of(&text).arena > 0);
    }
}
