//! Constants of f32 are kept in 16 bits, if only products that round them read them.
//!
//! A product at the default precision rounds its operands to bf16 before all else, so that a constant
//! that only such products read, whole or a part of it in each round of a loop, needs half the memory,
//! and is rounded once for all runs. libtpu keeps such constants so too.
use crate::graph::{Graph, Node, NodeKind, Subgraph, ValueId};
use crate::passes::rounded::{Rounding, narrow};
use crate::passes::rounded_stacks::{take_rounded, takes};
use std::sync::Arc;
use tpu_base::tensor::DType;
use tpu_base::tensor::element::bf16;

/// Rounds the constants of a block that have so many bytes at least.
pub(super) fn round(graph: &mut Graph, code: &mut Subgraph, least: usize) {
    for at in 0..code.nodes.len() {
        let node = &code.nodes[at];
        let (NodeKind::Constant(bytes), &[made]) = (&node.work, &node.results[..]) else {
            continue;
        };
        if graph.value(made).shape.dtype != DType::F32 || bytes.len() < least {
            continue;
        }
        let bytes = Arc::clone(bytes);
        if let Some(rounded) = read_rounded(graph, code, (at, made)) {
            let constant = &mut code.nodes[at];
            constant.results = vec![rounded];
            constant.work = NodeKind::Constant(in_16_bits(&bytes));
        }
    }
}

/// Lets products read the value of node `at` in 16 bits, if nothing else reads it; gives the value
/// that they read.
fn read_rounded(
    graph: &mut Graph,
    code: &mut Subgraph,
    (at, made): (usize, ValueId),
) -> Option<ValueId> {
    let readers = Rounding::of(graph, code, 1).readers(graph, code, made);
    if let Some(readers) = readers {
        let rounding: Node = readers.read_rounded(graph, code, (at, made), false)?;
        return rounding.results.first().copied();
    }
    let mut parts = 0;
    if !takes(graph, code, made, &mut parts) || parts == 0 {
        return None;
    }
    take_rounded(graph, code, made);
    narrow(&mut graph.values[made.index()].shape);
    Some(made)
}

fn in_16_bits(bytes: &[u8]) -> Arc<[u8]> {
    let numbers = bytes.as_chunks().0.iter().map(|&number| f32::from_le_bytes(number));
    numbers.flat_map(|number| bf16::from_f32(number).to_le_bytes()).collect()
}

#[cfg(test)]
mod tests {
    use crate::compile::{Passes, plan};
    use crate::differential::{graph_under, results_under};
    use crate::plan::StorageForm;
    use std::fmt::Write;
    use tpu_base::tensor::Shape;
    use tpu_kernels::simd::at_every_level;
    use tpu_ops::Numerics;

    const ROUNDED: Passes = Passes { rounded_from: 1 << 10, ..Passes::ALL };
    const LAYERS: usize = 4;
    const SIDE: usize = 64;

    /// A constant of some matrices whose elements need more than 16 bits.
    fn constant(matrices: usize) -> String {
        let mut hex = String::new();
        for at in 0..matrices * SIDE * SIDE {
            let number = f32::from(u16::try_from(at * 7919 % 10_007).unwrap()) / 10_007.0 - 0.5;
            for byte in number.to_le_bytes() {
                let _ = write!(hex, "{byte:02X}");
            }
        }
        format!("stablehlo.constant dense<\"0x{hex}\">")
    }

    const ONE: &str = "tensor<64x64xf32>";

    /// Products of `%x` with a constant and its transpose, and what else reads it.
    fn whole(also: &str) -> String {
        format!(
            "func.func public @main(%x: {ONE}) -> ({ONE}, {ONE}) {{
               %c = {} : {ONE}
               %t = stablehlo.transpose %c, dims = [1, 0] : ({ONE}) -> {ONE}
               %a = stablehlo.dot_general %x, %c, contracting_dims = [1] x [0] : ({ONE}, {ONE}) -> {ONE}
               %r = stablehlo.dot_general %a, %t, contracting_dims = [1] x [0] : ({ONE}, {ONE}) -> {ONE}
               %q = {also} : {ONE}
               return %r, %q : {ONE}, {ONE}
             }}",
            constant(1)
        )
    }

    /// A loop of products with the matrices of a constant.
    fn in_a_loop() -> String {
        let (all, index) = (format!("tensor<{LAYERS}x64x64xf32>"), "tensor<i32>");
        format!(
            "func.func public @main(%x: {ONE}) -> ({ONE}, {ONE}) {{
               %c = {} : {all}
               %z = stablehlo.constant dense<0> : {index}
               %f:3 = stablehlo.while(%i = %z, %a = %x, %v = %c) : {index}, {ONE}, {all} cond {{
                 %t = stablehlo.constant dense<{LAYERS}> : {index}
                 %q = stablehlo.compare LT, %i, %t : ({index}, {index}) -> tensor<i1>
                 stablehlo.return %q : tensor<i1>
               }} do {{
                 %o = stablehlo.constant dense<1> : {index}
                 %j = stablehlo.add %i, %o : {index}
                 %p = stablehlo.dynamic_slice %v, %i, %z, %z, sizes = [1, 64, 64] : ({all}, {index}, {index}, {index}) -> tensor<1x64x64xf32>
                 %m = stablehlo.reshape %p : (tensor<1x64x64xf32>) -> {ONE}
                 %h = stablehlo.dot_general %a, %m, contracting_dims = [1] x [0] : ({ONE}, {ONE}) -> {ONE}
                 stablehlo.return %j, %h, %v : {index}, {ONE}, {all}
               }}
               return %f#1, %x : {ONE}, {ONE}
             }}",
            constant(LAYERS)
        )
    }

    /// Bytes of the constants of a program's plan.
    fn kept(text: &str, numerics: Numerics, passes: Passes) -> usize {
        let mut graph = graph_under(numerics, text, passes);
        let outside = StorageForm::Packed { donated: &[None], elsewhere: &[], apart: false };
        plan(&mut graph, outside, passes).constants.iter().map(Shape::bytes).sum()
    }

    #[test]
    fn what_products_round_of_constants_has_half_the_bytes() {
        let bytes = 4 * SIDE * SIDE;
        let texts = [(whole("stablehlo.tanh %x"), bytes), (in_a_loop(), LAYERS * bytes)];
        for (text, all) in &texts {
            assert_eq!(kept(text, Numerics::Tpu, Passes::ALL), *all);
            assert_eq!(kept(text, Numerics::Tpu, ROUNDED), all / 2);
            assert_eq!(kept(text, Numerics::Ieee, ROUNDED), *all);
        }
        let read = whole("stablehlo.tanh %c");
        assert_eq!(kept(&read, Numerics::Tpu, ROUNDED), bytes, "others read it too");
    }

    #[test]
    fn rounded_constants_give_the_bits_of_what_products_round() {
        for text in [whole("stablehlo.tanh %x"), whole("stablehlo.tanh %c"), in_a_loop()] {
            at_every_level(|level| {
                let [found, wanted] = [ROUNDED, Passes::NONE]
                    .map(|passes| results_under(Numerics::Tpu, &text, &[None], passes));
                assert!(found == wanted, "{level:?}");
            });
        }
    }
}
