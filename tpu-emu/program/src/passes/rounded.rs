//! Products and rectified layers that only products read, which round them, are rounded where they are made.
//!
//! A product of f32 at the default precision rounds its operands to bf16 before all else. A value that
//! only such products read, in whatever order, needs half the memory in 16 bits, and each of them reads
//! what it would have made of the 32.
//!
//! * A product gives 16 bits at once (`absorbed_work`).
//! * What the plan of one device gathers from others is rounded by each before it is gathered.
//! * The gradient of a rectified layer asks of the value behind it where it was clamped: that is asked
//!   where the layer is made, so that the value behind need not live until then.
//! * So are values of which the plan of one device scatters sums, and those handed on by a barrier.
//! * Other values stay in f32: made in the place of what they are made of, or made again from what is
//!   kept anyway, they need less than 16 bits beside it.
use crate::graph::{Graph, Node, NodeKind, Subgraph, ValueId};
use crate::partition::{is_planned_gather, is_planned_scatter};
use crate::passes::absorbed_work::{Use, each_use};
use crate::passes::clamped::{Clamped, Splats, clamp, comparison};
use crate::passes::{rounded_constants, rounded_stacks, rounded_weights};
use rustc_hash::FxHashMap;
use std::sync::Arc;
use tpu_base::tensor::{DType, Shape};
use tpu_ops::{Absorbed, Kernel, conversion};

/// Rounds the products and clamped values of a program that have so many bytes at least.
pub(crate) fn round(graph: &mut Graph, least: usize) {
    let mut main = std::mem::take(&mut graph.main);
    block(graph, &mut main, least, &mut Splats::default());
    graph.main = main;
}

fn block(graph: &mut Graph, code: &mut Subgraph, least: usize, splats: &mut Splats) {
    rounded_stacks::round(graph, code, least);
    rounded_constants::round(graph, code, least);
    if least < usize::MAX {
        rounded_weights::round(graph, code);
    }
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
    let scatters = code.nodes.iter().any(|node| is_planned_scatter(&node.name));
    let mut changes: Vec<(usize, Vec<Node>)> = Vec::new();
    for at in 0..code.nodes.len() {
        let node = &code.nodes[at];
        let (gathers, clamped) = (is_planned_gather(&node.name), clamp(node, splats));
        let &[made] = &node.results[..] else { continue };
        let stored = graph.handed_on.contains(&made) || node.work.is_product();
        let always = gathers || clamped.is_some() || stored;
        let may = always || scatters && matches!(node.work, NodeKind::Elementwise(_));
        let Some(readers) = may.then(|| work.readers(graph, code, made)).flatten() else {
            continue;
        };
        if !always && !work.are_for_scattered(code, &readers) {
            continue;
        }
        let Some(rounded) = readers.read_rounded(graph, code, (at, made), gathers) else {
            continue;
        };
        if graph.handed_on.remove(&made) {
            graph.handed_on.extend(&rounded.results);
        }
        let mut new = vec![rounded];
        if let Some(clamped) = clamped {
            new.extend(work.masks(code, at, &clamped, splats));
        }
        changes.push((at + usize::from(!gathers), new));
    }
    let mut changes = changes.into_iter().peekable();
    let nodes = std::mem::take(&mut code.nodes);
    for (at, node) in nodes.into_iter().enumerate() {
        while let Some((_, new)) = changes.next_if(|&(place, _)| place == at) {
            code.nodes.extend(new);
        }
        if !work.moved.contains(&at) {
            code.nodes.push(node);
        }
    }
    code.nodes.extend(changes.flat_map(|(_, new)| new));
}

/// What reads a value, also in another order.
#[derive(Default)]
pub(super) struct Readers {
    /// The operands of nodes that are the value.
    operands: Vec<(usize, usize)>,
    /// The products among the nodes, as they are once the value is rounded.
    products: Vec<(usize, Arc<dyn Kernel>)>,
    /// The value in other orders.
    moved: Vec<ValueId>,
}

impl Readers {
    /// Lets them read what node `at` makes, or gathers, as it is once it is rounded; gives the node
    /// that rounds it, or what is gathered.
    pub(super) fn read_rounded(
        mut self,
        graph: &mut Graph,
        code: &mut Subgraph,
        (at, made): (usize, ValueId),
        gathers: bool,
    ) -> Option<Node> {
        let node = &code.nodes[at];
        let value = if gathers { *node.operands.first()? } else { made };
        let rounding = rounding(graph, node, value)?;
        let rounded = rounding.results[0];
        if gathers {
            self.moved.push(made);
            self.operands.push((at, 0));
        }
        self.read(graph, code, (value, rounded));
        Some(rounding)
    }

    /// Lets them read a value that is rounded instead of one that is not.
    pub(super) fn read(
        self,
        graph: &mut Graph,
        code: &mut Subgraph,
        (value, rounded): (ValueId, ValueId),
    ) {
        for (reader, operand) in self.operands {
            let of = &mut code.nodes[reader];
            if of.operands[operand] == value {
                of.operands[operand] = rounded;
            }
            narrow(&mut of.shapes[operand]);
        }
        for (reader, product) in self.products {
            code.nodes[reader].work = NodeKind::Kernel(product);
        }
        self.moved.into_iter().for_each(|moved| narrow(&mut graph.values[moved.index()].shape));
    }
}

/// Makes a type one of 16 bits.
pub(super) fn narrow(shape: &mut Shape) {
    *shape = shape.with(DType::Bf16);
}

/// The node that converts a value to another one, on behalf of a node.
pub(super) fn converting(
    of: &Node,
    (value, shape): (ValueId, Shape),
    (result, to): (ValueId, DType),
) -> Option<Node> {
    Some(Node {
        work: NodeKind::Elementwise(conversion(shape.dtype, to)?),
        operands: vec![value],
        shapes: vec![shape],
        results: vec![result],
        name: Arc::clone(&of.name),
        location: of.location,
        effect: false,
    })
}

/// The node that rounds a value to a new one, on behalf of a node.
pub(super) fn rounding(graph: &mut Graph, of: &Node, value: ValueId) -> Option<Node> {
    let shape = graph.value(value).shape.clone();
    let rounded = graph.add(shape.with(DType::Bf16));
    converting(of, (value, shape), (rounded, DType::Bf16))
}

pub(super) struct Rounding {
    /// Where some values are read: those of f32 that nodes of the block make, and are large.
    uses: FxHashMap<ValueId, Vec<Use>>,
    /// The nodes that stand elsewhere afterwards.
    moved: Vec<usize>,
}

impl Rounding {
    pub(super) fn of(graph: &Graph, code: &Subgraph, least: usize) -> Self {
        let is_large = |&&value: &&ValueId| {
            let shape = &graph.value(value).shape;
            shape.dtype == DType::F32 && shape.bytes() >= least
        };
        Self::among(code, code.nodes.iter().flat_map(|node| &node.results).filter(is_large))
    }

    /// That of some values, which may come from outside of the block.
    pub(super) fn among<'v>(code: &Subgraph, values: impl Iterator<Item = &'v ValueId>) -> Self {
        let mut uses: FxHashMap<ValueId, Vec<Use>> =
            values.map(|&value| (value, Vec::new())).collect();
        each_use(&code.nodes, &code.results, &mut |value, by| {
            if let Some(uses) = uses.get_mut(&value) {
                uses.push(by);
            }
        });
        Self { uses, moved: Vec::new() }
    }

    /// Whether there is a product among what reads a value whose sums are scattered over devices: it
    /// goes in steps between which others send theirs, so that its operands are there as a whole.
    fn are_for_scattered(&self, code: &Subgraph, readers: &Readers) -> bool {
        let scatters = |&(reader, _): &Use| {
            code.nodes.get(reader).is_some_and(|node| is_planned_scatter(&node.name))
        };
        readers.products.iter().any(|&(at, _)| {
            let mut uses = code.nodes[at].results.iter().filter_map(|of| self.uses.get(of));
            uses.any(|uses| !uses.is_empty() && uses.iter().all(scatters))
        })
    }

    /// All that reads a value, if that is products that round it.
    pub(super) fn readers(&self, graph: &Graph, code: &Subgraph, made: ValueId) -> Option<Readers> {
        let mut found = Readers::default();
        let mut open = vec![made];
        while let Some(value) = open.pop() {
            let elements = graph.value(value).shape.elements();
            for &(reader, operand) in self.uses.get(&value).filter(|uses| !uses.is_empty())? {
                let (of, operand) = (code.nodes.get(reader)?, operand?);
                match &of.work {
                    NodeKind::Access(_) => {
                        found.moved.extend_from_slice(&of.results);
                        open.extend_from_slice(&of.results);
                    }
                    NodeKind::Kernel(known) => {
                        if !known.rounds(operand) || of.shapes[operand].elements() != elements {
                            return None;
                        }
                        let absorbed = Absorbed::Converted(operand, DType::Bf16);
                        let before = found.products.iter_mut().find(|(at, _)| *at == reader);
                        match before {
                            Some((_, kernel)) => *kernel = kernel.absorbing(&absorbed)?,
                            None => found.products.push((reader, known.absorbing(&absorbed)?)),
                        }
                    }
                    _ => return None,
                }
                found.operands.push((reader, operand));
            }
        }
        Some(found)
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
    use crate::graph::{Graph, Node, NodeKind};
    use crate::plan::StorageForm;
    use tpu_base::tensor::DType;
    use tpu_kernels::simd::at_every_level;
    use tpu_ops::Numerics;

    const WITHOUT: Passes = Passes { rounded_from: usize::MAX, ..Passes::EAGER };

    /// A rectified product, of matrices with so many rows, or convolution of `%x` that others read,
    /// and where it was rectified; the last one reads a product and its transpose in products.
    pub(crate) fn programs(rows: usize) -> [String; 4] {
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
        let in_two_orders = [
            product("%s", ["%x", "%x"]),
            format!("%t = stablehlo.transpose %s, dims = [1, 0] : ({square}) -> {square}"),
            product("%u", ["%t", "%x"]),
            format!("%v = stablehlo.tanh %u : {square}"),
            product("%r", ["%s", "%v"]),
        ];
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
            program(&format!("%x: {square}"), &in_two_orders, square),
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
        for text in [&texts[0], &texts[3]] {
            let [less, before] = [passes, without].map(|of| planned(text, Numerics::Tpu, of).0);
            assert!(less < before, "{less} of {before}: {text}");
        }
    }

    /// The arena of so many products, each of which takes what the one before makes, in matrices of
    /// 16 bits.
    fn chain(products: usize, passes: Passes) -> usize {
        let side = 512;
        let square = format!("tensor<{side}x{side}xf32>");
        let dot = |at: usize| {
            let from = if at == 0 { "%x".to_owned() } else { format!("%p{}", at - 1) };
            format!(
                "%p{at} = stablehlo.dot_general {from}, %w, contracting_dims = [1] x [0] : ({square}, {square}) -> {square}"
            )
        };
        let lines: Vec<String> = (0..products).map(dot).collect();
        let text = format!(
            "func.func public @main(%x: {square}, %w: {square}) -> {square} {{\n{}\n  return %p{} : {square}\n}}",
            lines.join("\n"),
            products - 1
        );
        planned(&text, Numerics::Tpu, passes).0 / (side * side * DType::Bf16.host_bytes())
    }

    #[test]
    fn what_a_product_makes_for_another_one_is_made_in_16_bits_at_once() {
        let passes = Passes { rounded_from: 0, parted_from: 1 << 18, ..Passes::ALL };
        assert_eq!(chain(2, passes), 1);
        assert_eq!(chain(4, passes), 2);
        assert_eq!(chain(4, Passes { rounded_from: usize::MAX, ..passes }), 4);
    }

    /// A program of matrices whose kernels of one operand are exchanges of this name: only
    /// partitioned programs have those.
    fn exchanging(lines: &[&str], name: &str) -> Graph {
        let square = "tensor<192x192xf32>";
        let dot = |from: &str| {
            format!(
                "stablehlo.dot_general {from}, contracting_dims = [1] x [0] : ({square}, {square}) -> {square}"
            )
        };
        let line = |line: &&str| match line.split_once("dot ") {
            Some((to, from)) => format!("{to}{}", dot(from)),
            None => format!("{line} : {square}"),
        };
        let lines: Vec<String> = lines.iter().map(line).collect();
        let text = format!(
            "func.func public @main(%w: {square}, %x: {square}) -> ({square}, {square}) {{\n{}\n\
               return %r, %q : {square}, {square}\n}}",
            lines.join("\n")
        );
        let mut graph = graph_under(Numerics::Tpu, &text, Passes::EAGER);
        for node in &mut graph.main.nodes {
            if matches!(node.work, NodeKind::Kernel(_)) && node.operands.len() == 1 {
                node.name = name.into();
            }
        }
        let outside = StorageForm::Packed { donated: &[None; 2], elsewhere: &[], apart: false };
        let _ = plan(&mut graph, outside, Passes::EAGER);
        graph
    }

    /// The types of what a node takes and makes.
    fn types(graph: &Graph, is_it: impl Fn(&&Node) -> bool) -> [DType; 2] {
        let node = graph.main.nodes.iter().rfind(is_it).unwrap();
        [node.operands[0], node.results[0]].map(|value| graph.value(value).shape.dtype)
    }

    #[test]
    fn what_is_gathered_for_products_is_rounded_before() {
        let gathered = |also: &str| {
            let gather = "%g = stablehlo.cholesky %w, lower = true";
            let lines = [gather, "%r = dot %x, %g", &format!("%q = stablehlo.tanh {also}")];
            let name = "exchange by all_gather";
            types(&exchanging(&lines, name), |node| &*node.name == name)
        };
        assert_eq!(gathered("%x"), [DType::Bf16; 2]);
        assert_eq!(gathered("%g"), [DType::F32; 2], "others read it as it is");
    }

    #[test]
    fn what_is_multiplied_for_sums_that_devices_share_is_rounded() {
        let multiplied = |name: &str| {
            let scatter = "%r = stablehlo.cholesky %d, lower = true";
            let lines =
                ["%t = stablehlo.tanh %w", "%d = dot %t, %x", scatter, "%q = stablehlo.tanh %x"];
            let graph = exchanging(&lines, name);
            types(&graph, |node| {
                matches!(node.work, NodeKind::Kernel(_)) && node.operands.len() == 2
            })
        };
        assert_eq!(multiplied("exchange by reduce_scatter"), [DType::Bf16, DType::F32]);
        assert_eq!(multiplied("exchange by all_reduce"), [DType::F32; 2]);
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
