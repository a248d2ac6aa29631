//! Scores of attention whose rows are longer than a chip's product makes at one time.
use super::is_narrow;
use super::reductions;
use crate::graph::{Graph, Node, NodeKind};
use crate::plan::{ArenaSlot, Plan, StoredByChip};
use crate::tuning::{MIN_SCORES_ELEMENTS, MIN_SHRUNK_BYTES};
use std::collections::HashSet;
use std::sync::Arc;
use tpu_base::tensor::{DType, Shape};
use tpu_stablehlo::ir::LocationId;

/// Products of many matrices of 16 bits whose rows become probabilities, as the steps that make
/// them. Of short rows the product itself makes exponentials; long ones are stored in f32 first,
/// and once more as these.
#[derive(Debug, Default)]
pub(super) struct Scores(HashSet<(LocationId, Shape)>);

impl Scores {
    /// Looks at a product.
    pub(super) fn look_at(&mut self, graph: &Graph, block: &[Node], node: &Node) {
        let [result] = node.results[..] else { return };
        let shape = &graph.value(result).shape;
        if shape.elements() * size_of::<f32>() < MIN_SHRUNK_BYTES
            || shape.dims.last().is_none_or(|&last| last < MIN_SCORES_ELEMENTS)
            || !node.shapes.iter().all(|operand| is_narrow(operand.dtype))
            || !multiplies_many(node, shape)
        {
            return;
        }
        let is_long = |of: &[usize; 3]| of[1] >= MIN_SCORES_ELEMENTS && of[2] == 1;
        let long = reductions::of(graph, block, result).into_iter().filter(is_long);
        // The greatest, and the sum.
        if long.count() > 1 {
            self.0.insert((node.location, shape.clone()));
        }
    }

    /// What a chip has for them beside the arena of a plan.
    pub(super) fn beside(&self, plan: &Plan) -> Option<StoredByChip> {
        if self.0.is_empty() {
            return None;
        }
        let stored = plan.slots.iter().filter_map(|slot| {
            let shape = slot.shape.as_ref()?;
            if !self.0.contains(&(slot.location, shape.clone())) {
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

/// Whether a product multiplies several pairs of matrices, each with each other one of the pair.
fn multiplies_many(node: &Node, result: &Shape) -> bool {
    let (NodeKind::Kernel(kernel), [left, right]) = (&node.work, &node.shapes[..]) else {
        return false;
    };
    let elements = [left, right, result].map(|of| of.elements() as f64);
    let summed = kernel.cost().flops / 2.0 / elements[2];
    // Of `b` pairs of `m` by `k` and `n` by `k`.
    elements[0] * elements[1] > 1.5 * elements[2] * summed * summed
}

#[cfg(test)]
mod tests {
    use super::super::ChipProgram;
    use super::*;
    use crate::compile::{Passes, plan};
    use crate::differential::graph_of;
    use crate::plan::StorageForm;

    /// The arena of a program that makes probabilities of the scores of so many pairs of matrices,
    /// and what a chip stores beside it.
    fn told(pairs: &str, rows: usize, columns: usize, element: &str) -> (usize, usize) {
        let all = format!("tensor<{pairs}{rows}x{columns}xf32>");
        let sums = format!("tensor<{pairs}{rows}xf32>");
        let (axes, last) = if pairs.is_empty() { ("0", 1) } else { ("0, 1", 2) };
        let batch = if pairs.is_empty() { "" } else { "batching_dims = [0] x [0], " };
        let (left, right) = (
            format!("tensor<{pairs}{rows}x8x{element}>"),
            format!("tensor<{pairs}{columns}x8x{element}>"),
        );
        let narrow = format!("tensor<{pairs}{rows}x{columns}x{element}>");
        let (inner, out) = (last - 1, format!("tensor<{pairs}{rows}x8xf32>"));
        let text = format!(
            "func.func public @main(%x: {left}, %y: {right}) -> {out} {{
               %p = stablehlo.dot_general %x, %y, {batch}contracting_dims = [{last}] x [{last}] : ({left}, {right}) -> {all}
               %c = stablehlo.constant dense<0.0> : tensor<f32>
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
    fn long_rows_of_scores_lie_beside_their_exponentials() {
        let (columns, rows) = (MIN_SCORES_ELEMENTS, MIN_SHRUNK_BYTES / MIN_SCORES_ELEMENTS / 4);
        let (arena, beside) = told("2x", rows, columns, "bf16");
        let bytes = 2 * rows * columns * 4;
        assert!(arena + beside >= 2 * bytes, "{arena} and {beside} of {bytes}");
        assert!(beside > 0 && beside <= bytes, "{beside}");
        assert_eq!(told("2x", rows, columns - 1, "bf16").1, 0, "rows that a product makes");
        assert_eq!(told("2x", rows, columns, "f32").1, 0, "products of f32");
        assert_eq!(told("", 2 * rows, columns, "bf16").1, 0, "logits");
        assert_eq!(told("2x", 8, columns, "bf16").1, 0, "small ones");
    }
}
