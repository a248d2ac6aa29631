//! Scores of attention that a chip stores twice.
//!
//! | scores that become probabilities | arrays of f32 |
//! |---|---|
//! | of products of 16 bits that are wanted in 16 bits | none |
//! | wanted in f32, whose probabilities nothing but one more product reads, each a sum of 128 terms or more | two, but where rows of queries that share keys have their greatest taken as they are, and where another order of rows and columns is all that a view makes |
//! | wanted in f32, in rows of 4,096 or more behind a mask, which no view comes between | two |
//! | others | one |
//!
//! Source: what libtpu 0.0.51 says of some 150 forward passes of attention on a v5e.
use super::is_narrow;
use crate::graph::{Graph, Node, NodeKind, ValueId};
use crate::plan::{ArenaSlot, Plan, StoredByChip};
use crate::tuning::{MIN_SCORES_ELEMENTS, MIN_SHRUNK_BYTES, MIN_STORED_QUERY_ELEMENTS};
use std::collections::HashSet;
use std::sync::Arc;
use tpu_base::tensor::{DType, Shape};
use tpu_kernels::elementwise::kind::ElementwiseKind;
use tpu_stablehlo::ir::LocationId;

/// Products of many matrices of 16 bits whose rows become probabilities, and that a chip stores in
/// f32 first and once more as exponentials: as the steps that make them, and the elements of these,
/// in whatever order.
#[derive(Debug, Default)]
pub(super) struct Scores(HashSet<(LocationId, DType, usize)>);

impl Scores {
    /// Looks at a product.
    pub(super) fn look_at(&mut self, graph: &Graph, block: &[Node], node: &Node) {
        let [result] = node.results[..] else { return };
        let shape = &graph.value(result).shape;
        if shape.elements() * size_of::<f32>() < MIN_SHRUNK_BYTES
            || !node.shapes.iter().all(|operand| is_narrow(operand.dtype))
        {
            return;
        }
        let Some(pairs) = Pairs::of(node, shape) else { return };
        let chain = ScoreChain::of(graph, block, result);
        let is_long = chain.length >= MIN_SCORES_ELEMENTS && chain.is_masked;
        let shares = pairs.axes_of_rows > 1;
        let as_they_are = shares && !chain.is_masked && !chain.has_view;
        let turned = !shares && chain.view_is_first;
        let is_read_once = chain.products == 1 && chain.is_divided;
        let is_deep =
            pairs.summed.round() >= MIN_STORED_QUERY_ELEMENTS as f64 && !as_they_are && !turned;
        let deep = is_read_once && is_deep;
        // The greatest, and the sum.
        let stored = deep || (is_long && (!chain.has_view || chain.view_is_first));
        if stored && chain.is_wide && chain.rows >= 2 {
            self.0.insert((node.location, shape.dtype, shape.elements()));
        }
    }

    /// What a chip has for them beside the arena of a plan.
    pub(super) fn beside(&self, plan: &Plan) -> Option<StoredByChip> {
        if self.0.is_empty() {
            return None;
        }
        let stored = plan.slots.iter().filter_map(|slot| {
            let shape = slot.shape.as_ref()?;
            if !self.0.contains(&(slot.location, shape.dtype, shape.elements())) {
                return None;
            }
            let wide = shape.with(DType::F32);
            let bytes = (live_at(&plan.slots, slot.first, |slot| slot.bytes) + 2 * wide.bytes())
                .saturating_sub(plan.arena + slot.bytes);
            let (name, location) = (Arc::clone(&slot.name), slot.location);
            (bytes > 0).then_some(StoredByChip { bytes, others: 0, shape: wide, name, location })
        });
        stored.max_by_key(|stored| stored.bytes)
    }
}

/// The bytes that live at a position, where each slot has as many as `bytes` says.
pub(super) fn live_at(
    slots: &[ArenaSlot],
    position: usize,
    bytes: impl Fn(&ArenaSlot) -> usize,
) -> usize {
    let lives = |slot: &&ArenaSlot| (slot.first..=slot.last).contains(&position);
    slots.iter().filter(lives).map(bytes).sum()
}

/// Several pairs of matrices that a product multiplies.
struct Pairs {
    /// Terms of each sum.
    summed: f64,
    /// Axes of the rows that have several indices.
    axes_of_rows: usize,
}

impl Pairs {
    /// Those of a product with this result, if each matrix is multiplied by the other one of its pair.
    fn of(node: &Node, result: &Shape) -> Option<Self> {
        let (NodeKind::Kernel(kernel), [left, right]) = (&node.work, &node.shapes[..]) else {
            return None;
        };
        let elements = [left, right, result].map(|of| of.elements() as f64);
        let summed = kernel.cost().flops / 2.0 / elements[2];
        // Of `b` pairs of `m` by `k` and `n` by `k`.
        let pairs = elements[0] * elements[1] / (elements[2] * summed * summed);
        let mut before = 1.0;
        let rest = result.dims.iter().skip_while(|&&dim| {
            before *= dim as f64;
            before <= pairs * 1.5
        });
        let axes = rest.filter(|&&dim| dim != 1).count();
        (pairs > 1.5).then(|| Self { summed, axes_of_rows: axes.saturating_sub(1) })
    }
}

/// What becomes of scores, element by element.
#[derive(Debug, Default)]
struct ScoreChain {
    /// Whether they have 32 bits before anything is done with them.
    is_wide: bool,
    /// Whether some are chosen by a mask.
    is_masked: bool,
    /// Whether they are divided by what others are.
    is_divided: bool,
    /// Whether they are seen in another order, and whether the product is.
    has_view: bool,
    view_is_first: bool,
    /// Reductions of rows, and the elements of a row.
    rows: usize,
    length: usize,
    /// Others that read what they become.
    products: usize,
}

impl ScoreChain {
    fn of(graph: &Graph, block: &[Node], scores: ValueId) -> Self {
        let shape = &graph.value(scores).shape;
        let mut found = Self { is_wide: shape.dtype == DType::F32, ..Self::default() };
        let mut values = vec![scores];
        for node in block {
            let [result] = node.results[..] else { continue };
            if !node.operands.iter().any(|of| values.contains(of)) {
                continue;
            }
            let first = node.operands.contains(&scores);
            let whole = graph.value(result).shape.elements() == shape.elements();
            match &node.work {
                NodeKind::Elementwise(op) if whole => {
                    found.is_masked |= found.rows == 0 && op.kind == ElementwiseKind::Select;
                    found.is_divided |= op.kind == ElementwiseKind::Divide;
                    let widens = op.kind == ElementwiseKind::Convert && op.result == DType::F32;
                    found.is_wide |= first && widens;
                    values.push(result);
                }
                NodeKind::Access(_) if whole => {
                    if found.rows == 0 {
                        found.has_view = true;
                        found.view_is_first |= first;
                    }
                    values.push(result);
                }
                NodeKind::Kernel(kernel) => match kernel.reduction() {
                    Some(reduced) if reduced.dims[2] == 1 => {
                        (found.rows, found.length) = (found.rows + 1, reduced.dims[1]);
                    }
                    Some(_) => {}
                    None => found.products += 1,
                },
                _ => found.products += 1,
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::super::ChipProgram;
    use super::*;
    use crate::compile::{Passes, plan};
    use crate::differential::graph_of;
    use crate::plan::StorageForm;

    /// The arena of a program that makes probabilities of the scores of so many pairs of matrices,
    /// each of which is the sum of so many terms, and what a chip stores beside it.
    fn told(
        pairs: &str,
        [rows, columns, terms]: [usize; 3],
        element: &str,
        is_masked: bool,
    ) -> (usize, usize) {
        let all = format!("tensor<{pairs}{rows}x{columns}xf32>");
        let sums = format!("tensor<{pairs}{rows}xf32>");
        let (axes, last) = if pairs.is_empty() { ("0", 1) } else { ("0, 1", 2) };
        let batch = if pairs.is_empty() { "" } else { "batching_dims = [0] x [0], " };
        let (left, right) = (
            format!("tensor<{pairs}{rows}x{terms}x{element}>"),
            format!("tensor<{pairs}{columns}x{terms}x{element}>"),
        );
        let narrow = format!("tensor<{pairs}{rows}x{columns}x{element}>");
        let (inner, out) = (last - 1, format!("tensor<{pairs}{rows}x{terms}xf32>"));
        let mask = all.replace("f32", "i1");
        let select = format!(
            "%i = stablehlo.iota dim = {last} : {all}
               %k = stablehlo.compare GT, %o, %i : ({all}, {all}) -> {mask}
               %t = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<f32>) -> {all}
               %p = stablehlo.select %k, %o, %t : {mask}, {all}"
        );
        let select = if is_masked { select } else { format!("%p = stablehlo.abs %o : {all}") };
        let text = format!(
            "func.func public @main(%x: {left}, %y: {right}) -> {out} {{
               %o = stablehlo.dot_general %x, %y, {batch}contracting_dims = [{last}] x [{last}] : ({left}, {right}) -> {all}
               %c = stablehlo.constant dense<0.0> : tensor<f32>
               {select}
               %m = stablehlo.reduce(%p init: %c) applies stablehlo.maximum across dimensions = [{last}] : ({all}, tensor<f32>) -> {sums}
               %b = stablehlo.broadcast_in_dim %m, dims = [{axes}] : ({sums}) -> {all}
               %s = stablehlo.subtract %p, %b : {all}
               %e = stablehlo.exponential %s : {all}
               %z = stablehlo.reduce(%e init: %c) applies stablehlo.add across dimensions = [{last}] : ({all}, tensor<f32>) -> {sums}
               %d = stablehlo.broadcast_in_dim %z, dims = [{axes}] : ({sums}) -> {all}
               %q = stablehlo.divide %e, %d : {all}
               %h = stablehlo.convert %q : ({all}) -> {narrow}
               %r = stablehlo.dot_general %h, %y, {batch}contracting_dims = [{last}] x [{inner}] : ({narrow}, {right}) -> {out}
               return %r : {out}
             }}"
        );
        let mut graph = graph_of(&text, Passes::ALL);
        let scores = ChipProgram::of(&graph).scores;
        let outside = StorageForm::Packed { donated: &[None; 2], elsewhere: &[], apart: false };
        let plan = plan(&mut graph, outside, Passes::ALL);
        (plan.arena, scores.beside(&plan).map_or(0, |stored| stored.bytes))
    }

    #[test]
    fn deep_scores_and_long_masked_ones_are_stored_twice() {
        let (columns, rows) = (MIN_SCORES_ELEMENTS, MIN_SHRUNK_BYTES / MIN_SCORES_ELEMENTS / 4);
        let bytes = 2 * rows * columns * 4;
        for (shape, is_masked) in
            [([rows, columns, 8], true), ([2 * rows, columns / 2, 128], false)]
        {
            let (arena, beside) = told("2x", shape, "bf16", is_masked);
            assert!(arena + beside >= 2 * bytes, "{arena} and {beside} of {bytes}");
            assert!(beside > 0 && beside <= bytes, "{beside}");
        }
        assert_eq!(told("2x", [rows, columns, 8], "bf16", false).1, 0, "without a mask");
        assert_eq!(told("2x", [rows, columns - 1, 8], "bf16", true).1, 0, "made by a product");
        assert_eq!(told("2x", [rows, columns, 64], "bf16", false).1, 0, "of fewer terms");
        assert_eq!(told("2x", [rows, columns, 128], "f32", true).1, 0, "products of f32");
        assert_eq!(told("", [2 * rows, columns, 128], "bf16", true).1, 0, "logits");
        assert_eq!(told("2x", [8, columns, 128], "bf16", true).1, 0, "small ones");
    }
}
