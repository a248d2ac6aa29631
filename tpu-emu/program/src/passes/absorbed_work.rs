//! Products and sums read converted operands where these are made from; products do so with
//! transposed ones too, and give results in the order and of the type that is wanted.
//!
//! The panels that a product multiplies are packed anyway, in whatever order and of whatever type
//! the elements lie, so an array that holds them in another order or type first is not needed.
//! Each of these nodes disappears where every reader of its result can do without it:
//!
//! | node | what becomes of it |
//! |---|---|
//! | transpose of an operand | the product reads the array that is transposed |
//! | conversion of an operand | the product, or the sum, reads the array that is converted |
//! | transpose of a result | the operands change places, or an axis of one of them batches |
//! | conversion of a result to fewer bits | the product rounds its sums to them |
//!
//! * A conversion to a narrower type stays unless what is converted is in memory for longer anyway.
//! * A view of a value that is made where it is read stays, and so does what is smaller than
//!   `MIN_ABSORBED_BYTES`.
//! * [`Kernel::absorbing`] says whether a product can do it with the same bits.
use super::lifted_views::{in_order, turned};
use crate::graph::{Graph, Node, NodeKind, Subgraph, ValueId};
use crate::tuning::{MIN_ABSORBED_BYTES, MIN_LIFTED_BYTES};
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;
use tpu_base::tensor::{DType, Shape};
use tpu_kernels::elementwise::kind::ElementwiseKind;
use tpu_kernels::movement::strided_view::AccessMap;
use tpu_ops::{Absorbed, Kernel};

/// Lets the products of a program do what they can beside their own work.
pub(crate) fn absorb(graph: &mut Graph) {
    let mut main = std::mem::take(&mut graph.main);
    block(graph, &mut main, true);
    graph.main = main;
}

fn block(graph: &Graph, block: &mut Subgraph, is_main: bool) {
    for node in &mut block.nodes {
        node.work.blocks_mut().for_each(|inner| self::block(graph, inner, false));
    }
    let large = |&value: &ValueId| graph.bytes(value) >= MIN_ABSORBED_BYTES;
    let may = |node: &Node| {
        product(node).is_some() && node.operands.iter().chain(&node.results).any(large)
    };
    let goes = |node: &&Node| {
        let moves = matches!(node.work, NodeKind::Access(_)) || conversion(node).is_some();
        moves && node.results.iter().any(large)
    };
    let followed: FxHashMap<ValueId, Followed> = (block.nodes.iter().filter(goes))
        .flat_map(|node| node.operands.iter().chain(&node.results))
        .map(|&value| (value, Followed::default()))
        .collect();
    if followed.is_empty() || !block.nodes.iter().any(may) {
        return;
    }
    let mut work = AbsorbingBlock { graph, followed, nodes: std::mem::take(&mut block.nodes) };
    work.follow(&block.results);
    let kept: FxHashSet<ValueId> =
        if is_main { block.parameters.iter().copied().collect() } else { FxHashSet::default() };
    let mut gone = vec![false; work.nodes.len()];
    // A transpose of what is converted, and a conversion of what is transposed.
    for _ in 0..2 {
        for (at, gone) in gone.iter_mut().enumerate() {
            let is_view = matches!(work.nodes[at].work, NodeKind::Access(_));
            *gone = *gone || (is_view && (work.operand(at, &kept) || work.result(at)));
        }
        for (at, gone) in gone.iter_mut().enumerate() {
            let converts = conversion(&work.nodes[at]).is_some();
            *gone = *gone || (converts && (work.operand(at, &kept) || work.result(at)));
        }
    }
    let mut gone = gone.into_iter();
    block.nodes = work.nodes;
    block.nodes.retain(|_| gone.next() != Some(true));
}

/// The kernel of a node that may absorb others.
fn product(node: &Node) -> Option<&Arc<dyn Kernel>> {
    match &node.work {
        NodeKind::Kernel(kernel) if kernel.absorbs() => Some(kernel),
        _ => None,
    }
}

/// The types that a node converts from and to, element by element.
pub(crate) fn conversion(node: &Node) -> Option<(DType, DType)> {
    match (&node.work, &node.operands[..]) {
        (NodeKind::Elementwise(op), [_]) if op.kind == ElementwiseKind::Convert => {
            Some((op.operand, op.result))
        }
        _ => None,
    }
}

/// Where a value is read: by the operand of a node, or by something inside of a node.
pub(super) type Use = (usize, Option<usize>);

/// Where a value is made, and where it is read.
#[derive(Default)]
struct Followed {
    maker: Option<usize>,
    uses: Vec<Use>,
}

struct AbsorbingBlock<'g> {
    graph: &'g Graph,
    nodes: Vec<Node>,
    /// The operands and results of nodes that may go.
    followed: FxHashMap<ValueId, Followed>,
}

impl AbsorbingBlock<'_> {
    fn follow(&mut self, results: &[ValueId]) {
        let followed = &mut self.followed;
        let mut read = |value: ValueId, by: Use| {
            if let Some(followed) = followed.get_mut(&value) {
                followed.uses.push(by);
            }
        };
        each_use(&self.nodes, results, &mut read);
        for (at, node) in self.nodes.iter().enumerate() {
            for result in &node.results {
                if let Some(followed) = followed.get_mut(result) {
                    followed.maker = Some(at);
                }
            }
        }
    }

    fn uses(&self, value: ValueId) -> &[Use] {
        self.followed.get(&value).map_or(&[], |of| &of.uses)
    }

    /// Whether all readers of what node `at` makes read what it is made of instead.
    fn operand(&mut self, at: usize, kept: &FxHashSet<ValueId>) -> bool {
        let node = &self.nodes[at];
        let (&[source], &[made], [from]) =
            (&node.operands[..], &node.results[..], &node.shapes[..])
        else {
            return false;
        };
        let to = &self.graph.value(made).shape;
        let readers = self.uses(made);
        if to.bytes() < MIN_ABSORBED_BYTES || from.elements() != to.elements() {
            return false;
        }
        let is_product = |&(reader, operand): &Use| {
            operand.is_some() && self.nodes.get(reader).and_then(product).is_some()
        };
        if readers.is_empty() || !readers.iter().all(is_product) {
            return false;
        }
        let is_view = match &node.work {
            NodeKind::Access(access) => access.offset == 0 && !self.is_made_at_readers(source),
            _ => false,
        };
        let narrows =
            conversion(node).is_some_and(|(from, to)| from.host_bytes() > to.host_bytes());
        let last = readers.iter().map(|&(reader, _)| reader).max().unwrap_or(0);
        let lives = || {
            let after = self.uses(source).iter().any(|&(reader, _)| reader > last);
            kept.contains(&source) || after
        };
        if !is_view && (conversion(node).is_none() || (narrows && !lives())) {
            return false;
        }
        let mut changed: FxHashMap<usize, Arc<dyn Kernel>> = FxHashMap::default();
        for &(reader, operand) in readers {
            let (Some(operand), Some(of)) = (operand, self.nodes.get(reader)) else { return false };
            let seen = &of.shapes[operand];
            let work = match &node.work {
                NodeKind::Access(access) if seen == to => Absorbed::View(operand, &access.strides),
                NodeKind::Elementwise(op) if seen.elements() == to.elements() => {
                    Absorbed::Converted(operand, op.operand)
                }
                _ => return false,
            };
            let kernel = changed.get(&reader).or_else(|| product(of));
            let Some(kernel) = kernel.and_then(|kernel| kernel.absorbing(&work)) else {
                return false;
            };
            changed.insert(reader, kernel);
        }
        let (from, readers) = (from.clone(), readers.to_vec());
        for &(reader, operand) in &readers {
            let (node, Some(operand)) = (&mut self.nodes[reader], operand) else { continue };
            node.operands[operand] = source;
            let dims = if is_view { from.dims.clone() } else { node.shapes[operand].dims.clone() };
            node.shapes[operand] = Shape::new(from.dtype, dims);
            if let Some(kernel) = changed.get(&reader) {
                node.work = NodeKind::Kernel(Arc::clone(kernel));
            }
        }
        self.followed.remove(&made);
        if let Some(source) = self.followed.get_mut(&source) {
            source.uses.retain(|&(reader, _)| reader != at);
            source.uses.extend(readers);
        }
        true
    }

    /// Whether a value is no array in memory where it is read by loops.
    fn is_made_at_readers(&self, value: ValueId) -> bool {
        let maker = self.followed.get(&value).and_then(|of| of.maker);
        maker.is_some_and(|at| {
            let work = &self.nodes[at].work;
            matches!(work, NodeKind::Access(_) | NodeKind::Iota(_) | NodeKind::Splat(_))
        })
    }

    /// Whether the product of which node `at` is a transpose, or a conversion, gives that at once.
    fn result(&mut self, at: usize) -> bool {
        let node = &self.nodes[at];
        let (&[source], &[made]) = (&node.operands[..], &node.results[..]) else { return false };
        let to = &self.graph.value(made).shape;
        let is_only = self.uses(source) == [(at, Some(0))];
        let elements = self.graph.value(source).shape.elements();
        if to.bytes() < MIN_ABSORBED_BYTES || !is_only || to.elements() != elements {
            return false;
        }
        let Some(maker) = self.followed.get(&source).and_then(|of| of.maker) else { return false };
        let of = &self.nodes[maker];
        let Some(kernel) = product(of).filter(|_| of.results[..] == [source]) else { return false };
        let (changed, turns) = match &node.work {
            NodeKind::Access(access) => {
                let wanted = AccessMap::new(access, &to.dims);
                let found = match to.bytes() >= MIN_LIFTED_BYTES {
                    true => in_order(&**kernel, &wanted),
                    false => turned(&**kernel, &wanted),
                };
                found.map_or((None, false), |(kernel, turns)| (Some(kernel), turns))
            }
            NodeKind::Elementwise(op) => (kernel.absorbing(&Absorbed::Narrowed(op.result)), false),
            _ => (None, false),
        };
        let Some(changed) = changed else { return false };
        let node = &mut self.nodes[maker];
        node.work = NodeKind::Kernel(changed);
        node.results = vec![made];
        self.followed.remove(&source);
        if let Some(made) = self.followed.get_mut(&made) {
            made.maker = Some(maker);
        }
        if turns {
            self.turn(maker);
        }
        true
    }

    /// Lets the two operands of a node change places.
    fn turn(&mut self, at: usize) {
        let node = &mut self.nodes[at];
        node.operands.reverse();
        node.shapes.reverse();
        for value in node.operands.clone() {
            let Some(of) = self.followed.get_mut(&value) else { continue };
            for (_, operand) in of.uses.iter_mut().filter(|(reader, _)| *reader == at) {
                *operand = operand.map(|operand| 1 - operand);
            }
        }
    }
}

/// Names each value that nodes of a block, or its end, read, and where.
pub(super) fn each_use(nodes: &[Node], results: &[ValueId], read: &mut impl FnMut(ValueId, Use)) {
    for (at, node) in nodes.iter().enumerate() {
        for (operand, &value) in node.operands.iter().enumerate() {
            read(value, (at, Some(operand)));
        }
        node.each_inner_read(&mut |value| read(value, (at, None)));
    }
    results.iter().for_each(|&value| read(value, (nodes.len(), None)));
}

#[cfg(test)]
pub(crate) mod tests {
    use crate::compile::Passes;
    use crate::differential::{plan_of, results_under};
    use tpu_kernels::simd::at_every_level;
    use tpu_ops::Numerics;

    const WITHOUT: Passes = Passes { absorbed_work: false, ..Passes::ALL };

    fn dot(lhs: &str, rhs: &str, axes: [&str; 2], result: &str) -> String {
        let [left, right] = [lhs, rhs].map(|side| side.split(": ").collect::<Vec<_>>());
        format!(
            "stablehlo.dot_general {}, {}, {} contracting_dims = {} : ({}, {}) -> {result}",
            left[0], right[0], axes[0], axes[1], left[1], right[1]
        )
    }

    /// Products whose operands, results or both are transposed or converted, and the bytes of
    /// temporaries that they need.
    pub(crate) fn programs() -> Vec<(String, usize)> {
        let program = |parameters: &str, lines: &[String], results: &[(&str, &str)]| {
            let [names, types] = [
                results.iter().map(|of| of.0).collect::<Vec<_>>().join(", "),
                results.iter().map(|of| of.1).collect::<Vec<_>>().join(", "),
            ];
            let lines = lines.join("\n");
            format!(
                "func.func public @main({parameters}) -> ({types}) {{\n{lines}\nreturn {names} : {types}\n}}"
            )
        };
        let (square, half) = ("tensor<192x192xf32>", "tensor<192x192xbf16>");
        let turned = |to: &str, from: &str, of: &str| {
            format!("{to} = stablehlo.transpose {from}, dims = [1, 0] : ({of}) -> {of}")
        };
        let convert = |to: &str, from: &str, of: [&str; 2]| {
            format!("{to} = stablehlo.convert {from} : ({}) -> {}", of[0], of[1])
        };
        let plain = ["", "[1] x [0]"];
        let dot = |to: &str, lhs: &str, rhs: &str, result: &str| {
            format!("{to} = {}", dot(lhs, rhs, plain, result))
        };
        let both = program(
            &format!("%a: {square}, %b: {square}"),
            &[
                turned("%t", "%a", square),
                turned("%u", "%b", square),
                dot("%r", &format!("%t: {square}"), &format!("%u: {square}"), square),
            ],
            &[("%r", square)],
        );
        let result = program(
            &format!("%a: {square}, %b: {square}"),
            &[
                dot("%p", &format!("%a: {square}"), &format!("%b: {square}"), square),
                turned("%r", "%p", square),
            ],
            &[("%r", square)],
        );
        let narrowed = program(
            &format!("%a: {square}, %b: {half}"),
            &[
                convert("%c", "%a", [square, half]),
                turned("%t", "%c", half),
                dot("%r", &format!("%c: {half}"), &format!("%b: {half}"), half),
                dot("%q", &format!("%b: {half}"), &format!("%t: {half}"), square),
            ],
            &[("%r", half), ("%q", square)],
        );
        let widened = program(
            &format!("%a: {half}, %b: {square}"),
            &[
                turned("%t", "%a", half),
                convert("%c", "%t", [half, square]),
                dot("%r", &format!("%c: {square}"), &format!("%b: {square}"), square),
            ],
            &[("%r", square)],
        );
        let (batch, swapped) = ("tensor<4x80x3x72xf32>", "tensor<4x3x80x72xf32>");
        let scores = "tensor<4x3x80x80xf32>";
        let batched = program(
            &format!("%a: {batch}, %b: {batch}"),
            &[
                format!(
                    "%t = stablehlo.transpose %a, dims = [0, 2, 1, 3] : ({batch}) -> {swapped}"
                ),
                format!(
                    "%u = stablehlo.transpose %b, dims = [0, 2, 1, 3] : ({batch}) -> {swapped}"
                ),
                format!(
                    "%p = stablehlo.dot_general %t, %u, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [3] : ({swapped}, {swapped}) -> {scores}"
                ),
                format!(
                    "%r = stablehlo.transpose %p, dims = [0, 1, 3, 2] : ({scores}) -> {scores}"
                ),
            ],
            &[("%r", scores)],
        );
        let sum = |to: &str, from: &str, [of, element, row]: [&str; 3]| {
            format!(
                "{to} = stablehlo.reduce({from} init: %z{}) applies stablehlo.add across dimensions = [1] : ({of}, tensor<{element}>) -> {row}",
                &to[1..]
            )
        };
        let zero = |to: &str, element: &str, zero: &str| {
            format!("%z{to} = stablehlo.constant dense<{zero}> : tensor<{element}>")
        };
        let (bytes, words) = ("tensor<192x192xui8>", "tensor<192x192xi32>");
        let (singles, integers) = ("tensor<192xf32>", "tensor<192xi32>");
        let summed = program(
            &format!("%a: {half}, %b: {bytes}"),
            &[
                zero("r", "f32", "0.5"),
                zero("q", "i32", "7"),
                convert("%c", "%a", [half, square]),
                convert("%d", "%b", [bytes, words]),
                sum("%r", "%c", [square, "f32", singles]),
                sum("%q", "%d", [words, "i32", integers]),
            ],
            &[("%r", singles), ("%q", integers)],
        );
        // Totals and partial results of as many columns as go together.
        let scratch = 1024 * (size_of::<f32>() + size_of::<f64>());
        let mut all = vec![(both, 0), (result, 0), (narrowed, 0), (widened, 0), (batched, 0)];
        all.push((summed, scratch));
        // A product of matrices, of few terms and of none, with a vector, and of small matrices.
        let rounded = [
            ("192x192", "192x192", "192x192", plain),
            ("192x1", "1x192", "192x192", plain),
            ("192x0", "0x192", "192x192", plain),
            ("1x24", "24x40000", "1x40000", plain),
            ("40000x24", "24x1", "40000x1", plain),
            ("512x8x9", "512x9x8", "512x8x8", ["batching_dims = [0] x [0],", "[2] x [1]"]),
        ];
        for (lhs, rhs, result, axes) in rounded {
            let [a, b, wide] = [lhs, rhs, result].map(|dims| format!("tensor<{dims}xf32>"));
            let narrow = wide.replace("f32", "bf16");
            let product = self::dot(&format!("%a: {a}"), &format!("%b: {b}"), axes, &wide);
            let lines = [format!("%p = {product}"), convert("%r", "%p", [&wide, &narrow])];
            all.push((program(&format!("%a: {a}, %b: {b}"), &lines, &[("%r", &narrow)]), 0));
        }
        all
    }

    #[test]
    fn products_and_sums_read_and_write_in_place_with_the_same_bits() {
        for (text, bytes) in programs() {
            assert_eq!(plan_of(&text).arena, bytes, "{text}");
            for numerics in [Numerics::Tpu, Numerics::Ieee] {
                let kept = [None, None];
                let wanted = results_under(numerics, &text, &kept, WITHOUT);
                at_every_level(|level| {
                    let found = results_under(numerics, &text, &kept, Passes::ALL);
                    assert!(found == wanted, "{level:?}, {numerics:?}: {text}");
                });
            }
        }
    }

    #[test]
    fn what_others_read_as_it_is_stays() {
        let (square, half) = ("tensor<192x192xf32>", "tensor<192x192xbf16>");
        let product = format!(
            "stablehlo.dot_general %t, %a, contracting_dims = [1] x [0] : ({square}, {square}) -> {square}"
        );
        // The transpose is a result, too.
        let text = format!(
            "func.func public @main(%a: {square}) -> ({square}, {square}) {{
               %t = stablehlo.transpose %a, dims = [1, 0] : ({square}) -> {square}
               %r = {product}
               return %t, %r : {square}, {square}
             }}"
        );
        let kept = [None];
        let of = |passes| results_under(Numerics::Tpu, &text, &kept, passes);
        assert!(of(Passes::ALL) == of(WITHOUT));
        // A loop starts with the transpose, and with a conversion.
        let text = format!(
            "func.func public @main(%a: {square}, %b: {half}) -> ({square}, {square}, {square}) {{
               %t = stablehlo.transpose %a, dims = [1, 0] : ({square}) -> {square}
               %c = stablehlo.convert %b : ({half}) -> {square}
               %q = {product}
               %s = stablehlo.dot_general %c, %a, contracting_dims = [1] x [0] : ({square}, {square}) -> {square}
               %n = stablehlo.constant dense<0> : tensor<i32>
               %w:3 = stablehlo.while(%i = %n, %x = %t, %y = %c) : tensor<i32>, {square}, {square}
               cond {{
                 %m = stablehlo.constant dense<3> : tensor<i32>
                 %l = stablehlo.compare LT, %i, %m : (tensor<i32>, tensor<i32>) -> tensor<i1>
                 stablehlo.return %l : tensor<i1>
               }} do {{
                 %o = stablehlo.constant dense<1> : tensor<i32>
                 %j = stablehlo.add %i, %o : tensor<i32>
                 %z = stablehlo.add %x, %y : {square}
                 stablehlo.return %j, %z, %y : tensor<i32>, {square}, {square}
               }}
               return %w#1, %q, %s : {square}, {square}, {square}
             }}"
        );
        let kept = [None, None];
        let of = |passes| results_under(Numerics::Tpu, &text, &kept, passes);
        assert!(of(Passes::ALL) == of(WITHOUT));
        // What is converted is nowhere else, and twice as large.
        let text = format!(
            "func.func public @main(%a: {square}, %b: {half}) -> {half} {{
               %p = stablehlo.dot_general %a, %a, contracting_dims = [1] x [0] : ({square}, {square}) -> {square}
               %n = stablehlo.tanh %p : {square}
               %c = stablehlo.convert %n : ({square}) -> {half}
               %r = stablehlo.dot_general %c, %b, contracting_dims = [1] x [0] : ({half}, {half}) -> {half}
               return %r : {half}
             }}"
        );
        let names: Vec<String> = plan_of(&text)
            .slots
            .iter()
            .filter_map(|slot| slot.shape.as_ref())
            .map(|shape| shape.to_string())
            .collect();
        assert!(names.iter().any(|name| name.contains("bf16")), "{names:?}");
    }
}
