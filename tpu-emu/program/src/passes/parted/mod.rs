//! Large arrays that one product or reduction makes for the next are made part by part.
//!
//! Scores of which only the greatest of each row is wanted, or the indicators of a class that are
//! multiplied by a table, need not be there as a whole: a chip makes their rows where it reads them.
//! Here the nodes around such an array run several times, each time over equal parts of the first
//! axis of several indices of all arrays that have it, and only what they give to others is stored
//! as a whole.
//!
//! * A node can work so if each index of its result along that axis needs the same index of its
//!   operands, or all of an operand: operations on elements, views, counts along other axes, and the
//!   kernels that say so by [`Kernel::part`](tpu_ops::Kernel::part).
//! * Everything that reads a large array must be among them, or the array is stored anyway.
//! * A chip stores what a product makes for another product, or for two readers, so it is made as a
//!   whole here too: a plan tells what a chip would store. Of scores that are stored in 32 bits it
//!   makes probabilities in 16 bits inside of the product that reads them, pair by pair of matrices;
//!   so too what the product would put in order first, which would be one more array.
//! * Rows that reductions alone work on are left to `fuse/row_fusion`, but for those that reduce
//!   several arrays at once.
//! * Sums have the order of the whole, so the bits are the same.
mod group;
mod write;

use crate::graph::{Graph, Node, NodeKind, Subgraph, ValueId};
use group::Group;
pub(super) use group::ReadersAndMakers;

/// Makes arrays of so many bytes part by part, where that can be done.
pub(crate) fn part(graph: &mut Graph, least: usize) {
    graph.each_block(&mut |graph, code| block(graph, code, least));
}

fn block(graph: &mut Graph, code: &mut Subgraph, least: usize) {
    let mut from = 0;
    loop {
        let mut first =
            (from..code.nodes.len()).filter(|&at| begins(graph, &code.nodes[at], least));
        let Some(at) = first.next() else { return };
        let uses = ReadersAndMakers::of(code);
        let around = |at| Group::around((graph, code, &uses), at, least);
        let Some(group) = std::iter::once(at).chain(first).find_map(around) else { return };
        from = group.write(graph, code) + 1;
    }
}

/// Whether a node reads or makes a large array that may be made part by part.
fn begins(graph: &Graph, node: &Node, least: usize) -> bool {
    let NodeKind::Kernel(kernel) = &node.work else { return false };
    let large = |&value: &ValueId| graph.bytes(value) >= least;
    node.operands.iter().chain(&node.results).any(large)
        && node.shapes.first().is_some_and(|of| !of.dims.is_empty())
        && kernel.part(1, 1).is_some()
}

#[cfg(test)]
pub(crate) mod tests {
    use crate::compile::Passes;
    use crate::differential::{plan_of, plan_under, results_under};
    use tpu_ops::Numerics;

    const PARTED: Passes = Passes { parted_from: 1 << 18, ..Passes::ALL };

    /// A program over points and centres, of which `body` gives `%r` out of `%d`, their products.
    fn program(body: &str, result: &str) -> String {
        format!(
            "func.func public @main(%x: tensor<1024x24xf32>, %c: tensor<24x96xf32>, \
             %v: tensor<1024xf32>) -> {result} {{
               %zero = stablehlo.constant dense<0.5> : tensor<f32>
               %d = stablehlo.dot_general %x, %c, contracting_dims = [1] x [0] : \
                 (tensor<1024x24xf32>, tensor<24x96xf32>) -> tensor<1024x96xf32>
               {body}
               return %r : {result}
             }}"
        )
    }

    const SUM: &str = "%r = stablehlo.reduce(%e init: %zero) applies stablehlo.add across \
        dimensions = [1] : (tensor<1024x96xf32>, tensor<f32>) -> tensor<1024xf32>";
    const ROW: &str = "tensor<1024xf32>";

    /// A program whose products are large, and are never read as a whole.
    pub(crate) fn large() -> String {
        let body = format!("%e = stablehlo.exponential %d : tensor<1024x96xf32>\n{SUM}");
        program(&body, ROW).replace("1024", "262144")
    }

    /// Programs around products that need not be there as a whole.
    fn programs() -> Vec<String> {
        let scaled = format!(
            "%b = stablehlo.broadcast_in_dim %v, dims = [0] : (tensor<1024xf32>) -> \
             tensor<1024x96xf32>\n%m = stablehlo.maximum %d, %b : tensor<1024x96xf32>\n\
             %e = stablehlo.exponential %m : tensor<1024x96xf32>\n{SUM}"
        );
        let classes = "%n = stablehlo.iota dim = 1 : tensor<1024x96xi32>\n\
             %i = stablehlo.convert %v : (tensor<1024xf32>) -> tensor<1024xi32>\n\
             %b = stablehlo.broadcast_in_dim %i, dims = [0] : (tensor<1024xi32>) -> \
             tensor<1024x96xi32>\n%q = stablehlo.compare EQ, %b, %n : (tensor<1024x96xi32>, \
             tensor<1024x96xi32>) -> tensor<1024x96xi1>\n\
             %o = stablehlo.convert %q : (tensor<1024x96xi1>) -> tensor<1024x96xf32>\n\
             %w = stablehlo.transpose %c, dims = [1, 0] : (tensor<24x96xf32>) -> tensor<96x24xf32>\n\
             %r = stablehlo.dot_general %o, %w, contracting_dims = [1] x [0] : \
             (tensor<1024x96xf32>, tensor<96x24xf32>) -> tensor<1024x24xf32>";
        let best = "%i = stablehlo.iota dim = 1 : tensor<1024x96xi32>\n\
             %k = stablehlo.constant dense<0> : tensor<i32>\n\
             %q, %r = stablehlo.reduce(%d init: %zero), (%i init: %k) across dimensions = [1] : \
             (tensor<1024x96xf32>, tensor<1024x96xi32>, tensor<f32>, tensor<i32>) -> \
             (tensor<1024xf32>, tensor<1024xi32>)\n\
             reducer(%a: tensor<f32>, %ai: tensor<f32>) (%b: tensor<i32>, %bi: tensor<i32>) {\n\
             %g = stablehlo.compare GT, %a, %ai : (tensor<f32>, tensor<f32>) -> tensor<i1>\n\
             %h = stablehlo.select %g, %a, %ai : tensor<i1>, tensor<f32>\n\
             %j = stablehlo.select %g, %b, %bi : tensor<i1>, tensor<i32>\n\
             stablehlo.return %h, %j : tensor<f32>, tensor<i32>\n}";
        let below = format!(
            "%n = stablehlo.iota dim = 1 : tensor<1024x96xi32>\n%i = stablehlo.iota dim = 0 : \
             tensor<1024x96xi32>\n%q = stablehlo.compare GE, %i, %n : (tensor<1024x96xi32>, \
             tensor<1024x96xi32>) -> tensor<1024x96xi1>\n\
             %y = stablehlo.select %q, %d, %d : tensor<1024x96xi1>, tensor<1024x96xf32>\n\
             %p = stablehlo.convert %i : (tensor<1024x96xi32>) -> tensor<1024x96xf32>\n\
             %e = stablehlo.subtract %y, %p : tensor<1024x96xf32>\n{SUM}"
        );
        vec![
            program(&below, ROW),
            program(&scaled, ROW),
            program(classes, "tensor<1024x24xf32>"),
            program(best, "tensor<1024xi32>"),
        ]
    }

    #[test]
    fn arrays_between_two_kernels_are_made_part_by_part() {
        let whole = 1024 * 96 * 4;
        for text in programs() {
            let arena = plan_under(&text, PARTED).arena;
            assert!(arena < whole / 2, "{arena} of {whole}: {text}");
            assert!(plan_of(&text).arena >= whole, "small arrays are made as a whole: {text}");
        }
    }

    #[test]
    fn parts_have_the_bits_of_the_whole() {
        for text in programs() {
            for numerics in [Numerics::Tpu, Numerics::Ieee] {
                let kept = [None; 3];
                let wanted = results_under(numerics, &text, &kept, Passes::ALL);
                let found = results_under(numerics, &text, &kept, PARTED);
                assert!(found == wanted, "{numerics:?}: {text}");
            }
        }
    }

    /// Attention whose scores have 32 bits and probabilities 16, as `jax.nn` writes it, and the bytes
    /// of the scores.
    fn attention(more: &str, results: &str) -> (String, usize) {
        let (q, v) = ("tensor<4x96x3x24xbf16>", "tensor<4x160x3x24xbf16>");
        let (scores, result) = ("tensor<4x3x96x160xf32>", "tensor<4x3x24x1x96xbf16>");
        let (wide, row) = ("tensor<1x4x3x96x160xf32>", "tensor<1x4x3x96xf32>");
        let narrow = "tensor<1x4x3x96x160xbf16>";
        let rows = format!("across dimensions = [4] : ({wide}, tensor<f32>) -> {row}");
        let spread = |to: &str, of: &str| {
            format!(
                "%{to} = stablehlo.broadcast_in_dim %{of}, dims = [0, 1, 2, 3] : ({row}) -> {wide}"
            )
        };
        let text = format!(
            "func.func public @main(%q: {q}, %k: {v}, %v: {v}) -> ({result}{results}) {{
               %l = stablehlo.constant dense<0xFF800000> : tensor<f32>
               %z = stablehlo.constant dense<0.0> : tensor<f32>
               %g = stablehlo.dot_general %q, %k, batching_dims = [0, 2] x [0, 2], \
                 contracting_dims = [3] x [3] : ({q}, {v}) -> {scores}
               %s = stablehlo.reshape %g : ({scores}) -> {wide}
               %m = stablehlo.reduce(%s init: %l) applies stablehlo.maximum {rows}
               {}
               %d = stablehlo.subtract %s, %n : {wide}
               %e = stablehlo.exponential %d : {wide}
               %t = stablehlo.reduce(%e init: %z) applies stablehlo.add {rows}
               {}
               %p = stablehlo.divide %e, %u : {wide}
               %a = stablehlo.convert %p : ({wide}) -> {narrow}
               %r = stablehlo.dot_general %v, %a, batching_dims = [0, 2] x [1, 2], \
                 contracting_dims = [1] x [4] : ({v}, {narrow}) -> {result}
               return %r{more} : {result}{results}
             }}",
            spread("n", "m"),
            spread("u", "t"),
        );
        (text, 4 * 3 * 96 * 160 * 4)
    }

    #[test]
    fn probabilities_of_fewer_bits_than_scores_are_made_pair_by_pair_of_matrices() {
        let (text, scores) = attention("", "");
        let arena = plan_under(&text, PARTED).arena;
        assert!(arena < scores + scores / 4, "{arena} of {scores}");
        assert!(plan_of(&text).arena >= scores + scores / 2, "small ones are made as a whole");
        for numerics in [Numerics::Tpu, Numerics::Ieee] {
            let wanted = results_under(numerics, &text, &[None; 3], Passes::ALL);
            assert!(results_under(numerics, &text, &[None; 3], PARTED) == wanted, "{numerics:?}");
        }
        // Rows of other lengths than lines of a cache.
        let odd = text.replace("96", "95").replace("160", "157");
        assert!(plan_under(&odd, PARTED).arena < plan_of(&odd).arena);
        let wanted = results_under(Numerics::Tpu, &odd, &[None; 3], Passes::ALL);
        assert!(results_under(Numerics::Tpu, &odd, &[None; 3], PARTED) == wanted);
        // What others read too is stored.
        let (text, scores) = attention(", %a", ", tensor<1x4x3x96x160xbf16>");
        assert_eq!(plan_under(&text, PARTED).arena, plan_of(&text).arena, "{scores}: {text}");
    }

    #[test]
    fn what_a_chip_stores_is_made_as_a_whole() {
        let kept = format!(
            "%e = stablehlo.exponential %d : tensor<1024x96xf32>\n{}\n\
             %r = stablehlo.reverse %e, dims = [0] : tensor<1024x96xf32>",
            SUM.replace("%r", "%s")
        );
        let columns = "%r = stablehlo.reduce(%d init: %zero) applies stablehlo.add across \
             dimensions = [0] : (tensor<1024x96xf32>, tensor<f32>) -> tensor<96xf32>";
        let twice = format!(
            "%t = stablehlo.reduce(%d init: %zero) applies stablehlo.maximum across dimensions = \
             [1] : (tensor<1024x96xf32>, tensor<f32>) -> tensor<1024xf32>\n\
             %b = stablehlo.broadcast_in_dim %t, dims = [0] : (tensor<1024xf32>) -> \
             tensor<1024x96xf32>\n%e = stablehlo.subtract %d, %b : tensor<1024x96xf32>\n{SUM}"
        );
        let again = "%w = stablehlo.transpose %c, dims = [1, 0] : (tensor<24x96xf32>) -> \
             tensor<96x24xf32>\n%e = stablehlo.tanh %d : tensor<1024x96xf32>\n\
             %r = stablehlo.dot_general %e, %w, contracting_dims = [1] x [0] : \
             (tensor<1024x96xf32>, tensor<96x24xf32>) -> tensor<1024x24xf32>";
        let programs = [
            program(&kept, "tensor<1024x96xf32>"),
            program(columns, "tensor<96xf32>"),
            program(&twice, ROW),
            program(again, "tensor<1024x24xf32>"),
        ];
        for text in programs {
            let arena = plan_under(&text, PARTED).arena;
            assert_eq!(arena, plan_of(&text).arena, "{text}");
        }
    }
}
