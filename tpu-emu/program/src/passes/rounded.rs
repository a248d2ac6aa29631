//! Rectified layers are rounded where they are made, if only products that round them read them.
//!
//! A product of f32 at the default precision rounds its operands to bf16 before all else. A clamped
//! value that only such products read needs half the memory in 16 bits, and each of them reads what it
//! would have made of the 32. Its gradient asks of the value behind it where it was clamped: that is
//! asked where the layer is made, so that the value behind need not live until then.
//!
//! Other values stay in f32: made in the place of what they are made of, or made again from what is
//! kept anyway, they need less than 16 bits beside it.
use crate::graph::{Graph, Node, NodeKind, Subgraph, ValueId};
use crate::passes::absorbed_work::{Use, each_use};
use crate::passes::clamped::{Clamped, Splats, clamp, comparison};
use std::collections::HashMap;
use std::sync::Arc;
use tpu_base::tensor::{DType, Shape};
use tpu_ops::{Absorbed, Kernel, conversion};

/// Rounds the clamped values of a program that have so many bytes at least.
pub(crate) fn round(graph: &mut Graph, least: usize) {
    let mut main = std::mem::take(&mut graph.main);
    block(graph, &mut main, least, &mut Splats::new());
    graph.main = main;
}

fn block(graph: &mut Graph, code: &mut Subgraph, least: usize, splats: &mut Splats) {
    let mut any = false;
    for node in &mut code.nodes {
        for inner in node.work.blocks_mut() {
            block(graph, inner, least, splats);
        }
        match &node.work {
            NodeKind::Kernel(kernel) => {
                let large = |at: &usize| graph.bytes(node.operands[*at]) >= least;
                any |= (0..node.operands.len()).filter(large).any(|at| kernel.rounds(at));
            }
            _ => {
                if let Some(number) = node.only_element(graph) {
                    splats.insert(node.results[0], number);
                }
            }
        }
    }
    if !any {
        return;
    }
    let mut work = Rounding::of(graph, code, least);
    let mut changes: Vec<(usize, Vec<Node>)> = Vec::new();
    for at in 0..code.nodes.len() {
        let Some(clamped) = clamp(&code.nodes[at], splats) else { continue };
        let Some(rounded) = work.rounded(graph, code, at) else { continue };
        let mut behind = vec![rounded];
        behind.extend(work.masks(code, at, &clamped, splats));
        changes.push((at, behind));
    }
    let mut changes = changes.into_iter().peekable();
    let nodes = std::mem::take(&mut code.nodes);
    for (at, node) in nodes.into_iter().enumerate() {
        if !work.moved.contains(&at) {
            code.nodes.push(node);
        }
        if let Some((_, behind)) = changes.next_if(|&(after, _)| after == at) {
            code.nodes.extend(behind);
        }
    }
}

struct Rounding {
    /// Where the large f32 values of the block are read that nodes of it make.
    uses: HashMap<ValueId, Vec<Use>>,
    /// The nodes that stand elsewhere afterwards.
    moved: Vec<usize>,
}

impl Rounding {
    fn of(graph: &Graph, code: &Subgraph, least: usize) -> Self {
        let is_large = |&&value: &&ValueId| {
            let shape = &graph.value(value).shape;
            shape.dtype == DType::F32 && shape.bytes() >= least
        };
        let made = code.nodes.iter().flat_map(|node| &node.results).filter(is_large);
        let mut uses: HashMap<ValueId, Vec<Use>> = made.map(|&made| (made, Vec::new())).collect();
        each_use(&code.nodes, &code.results, &mut |value, by| {
            if let Some(uses) = uses.get_mut(&value) {
                uses.push(by);
            }
        });
        Self { uses, moved: Vec::new() }
    }

    /// The node that rounds what node `at` makes, if only products read that which do so: they read
    /// what is rounded then.
    fn rounded(&self, graph: &mut Graph, code: &mut Subgraph, at: usize) -> Option<Node> {
        let node = &code.nodes[at];
        let (NodeKind::Elementwise(_), &[made]) = (&node.work, &node.results[..]) else {
            return None;
        };
        let readers = self.uses.get(&made).filter(|uses| !uses.is_empty())?;
        let shape = graph.value(made).shape.clone();
        let mut kernels: HashMap<usize, Arc<dyn Kernel>> = HashMap::new();
        for &(reader, operand) in readers {
            let (of, operand) = (code.nodes.get(reader)?, operand?);
            let NodeKind::Kernel(known) = &of.work else { return None };
            let kernel = kernels.get(&reader).unwrap_or(known);
            if !known.rounds(operand) || of.shapes[operand].elements() != shape.elements() {
                return None;
            }
            let rounding = kernel.absorbing(&Absorbed::Converted(operand, DType::Bf16))?;
            kernels.insert(reader, rounding);
        }
        let op = conversion(DType::F32, DType::Bf16)?;
        let rounded = graph.add(shape.with(DType::Bf16));
        let (name, location) = (Arc::clone(&node.name), node.location);
        for &(reader, operand) in readers {
            let (of, operand) = (&mut code.nodes[reader], operand?);
            of.operands[operand] = rounded;
            of.shapes[operand] = Shape::new(DType::Bf16, of.shapes[operand].dims.clone());
            if let Some(kernel) = kernels.remove(&reader) {
                of.work = NodeKind::Kernel(kernel);
            }
        }
        Some(Node {
            work: NodeKind::Elementwise(op),
            operands: vec![made],
            shapes: vec![shape],
            results: vec![rounded],
            name,
            location,
            effect: false,
        })
    }

    /// The comparisons that ask where node `at` clamped its operand, if nothing else reads that
    /// operand later: they go behind the node.
    fn masks(
        &mut self,
        code: &Subgraph,
        at: usize,
        clamped: &Clamped,
        splats: &Splats,
    ) -> Vec<Node> {
        let (node, of) = (&code.nodes[at], clamped.0);
        let uses = self.uses.get(&of).map_or(&[][..], Vec::as_slice);
        let later: Vec<usize> =
            uses.iter().map(|&(reader, _)| reader).filter(|&reader| reader > at).collect();
        let Some(bound) = node.operands.iter().position(|&value| value != of) else {
            return Vec::new();
        };
        let moved = |&reader: &usize| {
            let asking = code.nodes.get(reader)?;
            comparison(asking, splats).filter(|found| found == clamped)?;
            // Its own bound may be made later than the clamp's.
            let mut moved = asking.clone();
            let other = moved.operands.iter().position(|&value| value != of)?;
            moved.operands[other] = node.operands[bound];
            moved.shapes[other] = node.shapes[bound].clone();
            Some(moved)
        };
        let Some(behind) = later.iter().map(moved).collect::<Option<Vec<Node>>>() else {
            return Vec::new();
        };
        self.moved.extend(later);
        behind
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use crate::compile::{Passes, plan};
    use crate::differential::{graph_under, results_under};
    use crate::plan::StorageForm;
    use tpu_base::tensor::DType;
    use tpu_kernels::simd::at_every_level;
    use tpu_ops::Numerics;

    const WITHOUT: Passes = Passes { rounded_from: usize::MAX, ..Passes::EAGER };

    /// A rectified product, of matrices with so many rows, or convolution of `%x` that others read,
    /// and where it was rectified.
    pub(crate) fn programs(rows: usize) -> [String; 3] {
        let (square, image) = (&*format!("tensor<{rows}x{rows}xf32>"), "tensor<2x14x14x32xf32>");
        let product = |to: &str, from: [&str; 2]| {
            format!(
                "{to} = stablehlo.dot_general {}, {}, contracting_dims = [1] x [0] : ({square}, {square}) -> {square}",
                from[0], from[1]
            )
        };
        let windows = |to: &str, from: &str| {
            format!(
                "{to} = stablehlo.convolution({from}, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {{pad = [[1, 1], [1, 1]]}} {{batch_group_count = 1 : i64, feature_group_count = 1 : i64}} : ({image}, tensor<3x3x32x32xf32>) -> {image}"
            )
        };
        let rectified = |all: &str| {
            let (flags, zero) = (all.replace("f32", "i1"), "stablehlo.constant dense<0.0>");
            (
                format!("%z = {zero} : {all}\n%h = stablehlo.maximum %s, %z : {all}"),
                format!(
                    "%o = {zero} : {all}\n%m = stablehlo.compare GT, %s, %o : ({all}, {all}) -> {flags}\n%r = stablehlo.select %m, %g, %o : {flags}, {all}"
                ),
            )
        };
        let (clamp, mask) = rectified(square);
        let of_products = [product("%s", ["%x", "%x"]), clamp, product("%u", ["%h", "%x"])];
        let of_products = [&of_products[..], &[product("%g", ["%u", "%h"]), mask]].concat();
        let (clamp, mask) = rectified(image);
        let of_windows = [windows("%s", "%x"), clamp, windows("%u", "%h")];
        let of_windows = [&of_windows[..], &[windows("%g", "%u"), mask]].concat();
        // Asked before it is clamped, and after that.
        let asked = |name: &str| {
            format!(
                "%o{name} = stablehlo.constant dense<0.0> : {square}\n%{name} = stablehlo.compare GT, %s, %o{name} : ({square}, {square}) -> {}",
                square.replace("f32", "i1")
            )
        };
        let chosen = |to: &str, mask: &str| {
            format!(
                "%{to} = stablehlo.select %{mask}, %x, %s : {}, {square}",
                square.replace("f32", "i1")
            )
        };
        let early =
            [product("%s", ["%x", "%x"]), asked("a"), chosen("b", "a"), rectified(square).0];
        let late = [
            product("%g", ["%h", "%x"]),
            asked("c"),
            format!("%d = stablehlo.add %b, %g : {square}"),
            chosen("e", "c").replace("%s", "%d"),
        ];
        let asked_before =
            [&early[..], &late, &[format!("%r = stablehlo.add %e, %g : {square}")]].concat();
        let program = |parameters: &str, lines: &[String], all: &str| {
            let lines = lines.join("\n");
            format!(
                "func.func public @main({parameters}) -> {all} {{\n{lines}\nreturn %r : {all}\n}}"
            )
        };
        [
            program(&format!("%x: {square}"), &of_products, square),
            program(&format!("%x: {image}, %w: tensor<3x3x32x32xf32>"), &of_windows, image),
            program(&format!("%x: {square}"), &asked_before, square),
        ]
    }

    /// The arena of a program's plan, and whether it has values in 16 bits.
    fn planned(text: &str, numerics: Numerics, passes: Passes) -> (usize, bool) {
        let mut graph = graph_under(numerics, text, passes);
        let donated = vec![None; graph.main.parameters.len()];
        let outside = StorageForm::Packed { donated: &donated, elsewhere: &[], apart: false };
        let arena = plan(&mut graph, outside, passes).arena;
        (arena, graph.values.iter().any(|value| value.shape.dtype == DType::Bf16))
    }

    #[test]
    fn what_products_round_has_half_the_bytes_and_a_mask_a_fourth() {
        let passes = Passes { rounded_from: 0, ..Passes::ALL };
        let without = Passes { rounded_from: usize::MAX, ..Passes::ALL };
        let texts = programs(192);
        for text in &texts {
            assert!(planned(text, Numerics::Tpu, passes).1, "{text}");
            assert!(!planned(text, Numerics::Tpu, without).1, "{text}");
            assert!(!planned(text, Numerics::Ieee, passes).1, "{text}");
        }
        let [less, before] = [passes, without].map(|of| planned(&texts[0], Numerics::Tpu, of).0);
        assert!(less < before, "{less} of {before}");
    }

    #[test]
    fn rounded_values_give_the_bits_of_values_that_products_round() {
        for text in programs(192) {
            let kept = vec![None; if text.contains("%w:") { 2 } else { 1 }];
            at_every_level(|level| {
                let [found, wanted] = [Passes::EAGER, WITHOUT]
                    .map(|passes| results_under(Numerics::Tpu, &text, &kept, passes));
                assert!(found == wanted, "{level:?}: {text}");
            });
        }
    }
}
