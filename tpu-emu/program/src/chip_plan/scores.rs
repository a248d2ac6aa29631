//! Scores of attention that a chip stores twice.
//!
//! | scores that become probabilities | arrays of f32 |
//! |---|---|
//! | of products of 16 bits that are wanted in 16 bits | none |
//! | wanted in f32, whose probabilities nothing but one more product reads, each a sum of 128 terms or more | two, but where rows of queries that share keys have their greatest taken as they are, and where another order of rows and columns is all that a view makes |
//! | wanted in f32, a sum of 128 terms or more, and whose gradient is made, of queries that share no keys | two |
//! | wanted in f32, in rows of 4,096 or more behind a mask, which no view comes between | two |
//! | wanted in f32, with a mask or a bias of as many elements as a matrix that is an array in memory, but for a bias of queries that share keys | two |
//! | others | one |
//!
//! Source: what libtpu 0.0.51 says of some 200 forward passes and 104 gradients of attention on a v5e.
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
        let chain = ScoreChain::of(graph, block, (result, pairs.mask));
        let is_long = chain.length >= MIN_SCORES_ELEMENTS && chain.is_masked;
        let shares = pairs.axes_of_rows > 1;
        let as_they_are = shares && !chain.is_masked && !chain.has_view;
        let turned = !shares && chain.view_is_first;
        let is_deep =
            pairs.summed.round() >= MIN_STORED_QUERY_ELEMENTS as f64 && !as_they_are && !turned;
        // Of a gradient, the one of values, of queries and of keys.
        let is_read = chain.products == 1 || chain.products == 3 && !shares;
        let deep = is_deep && is_read && chain.is_divided;
        let beside_another = chain.reads_stored && (chain.is_masked || !shares);
        // The greatest, and the sum.
        let stored =
            deep || beside_another || (is_long && (!chain.has_view || chain.view_is_first));
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

/// Queries that share a row of a mask, and of keys, at most: there are models with eight.
const MOST_SHARING_QUERIES: f64 = 8.0;

/// Several pairs of matrices that a product multiplies.
struct Pairs {
    /// Terms of each sum.
    summed: f64,
    /// Axes of the rows that have several indices.
    axes_of_rows: usize,
    /// Elements that a mask for one matrix has at least.
    mask: f64,
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
        let axes_of_rows = rest.filter(|&&dim| dim != 1).count().saturating_sub(1);
        let mask = elements[2] / pairs / MOST_SHARING_QUERIES;
        (pairs > 1.5).then_some(Self { summed, axes_of_rows, mask })
    }
}

/// What becomes of scores, element by element.
#[derive(Debug, Default)]
struct ScoreChain {
    /// Whether they have 32 bits before anything is done with them.
    is_wide: bool,
    /// Whether some are chosen by a mask.
    is_masked: bool,
    /// Whether an array in memory is read with them that has as many elements as a mask of a matrix.
    reads_stored: bool,
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
    fn of(graph: &Graph, block: &[Node], (scores, mask): (ValueId, f64)) -> Self {
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
                    let others = node.operands.iter().filter(|&of| !values.contains(of));
                    found.reads_stored |= found.rows == 0
                        && others.copied().any(|of| is_stored(graph, block, of, mask));
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

/// Whether elements of a value are those of an array in memory with so many elements at least, which
/// operations on elements and views make it of.
fn is_stored(graph: &Graph, block: &[Node], value: ValueId, least: f64) -> bool {
    let mut open = vec![value];
    // Random numbers read what they are made of over and over.
    let mut seen = HashSet::new();
    while let Some(value) = open.pop() {
        if (graph.value(value).shape.elements() as f64) < least || !seen.insert(value) {
            continue;
        }
        let Some(node) = block.iter().find(|node| node.results.contains(&value)) else {
            return true;
        };
        match &node.work {
            NodeKind::Elementwise(_) | NodeKind::Access(_) => open.extend(&node.operands),
            NodeKind::Iota(_) | NodeKind::Splat(_) | NodeKind::Constant(_) => {}
            _ => return true,
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::super::ChipProgram;
    use super::*;
    use crate::compile::{Passes, plan};
    use crate::differential::graph_of;
    use crate::plan::StorageForm;

    /// The arena of a program that makes probabilities of the scores of so many pairs of matrices,
    /// each of which is the sum of so many terms, and what a chip stores beside it. Some are chosen by
    /// a mask that is `counted`, or `given`.
    fn told(
        pairs: &str,
        [rows, columns, terms]: [usize; 3],
        element: &str,
        mask: &str,
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
        let (bits, given) = (all.replace("f32", "i1"), format!("tensor<{rows}x{columns}xi1>"));
        let chosen = match mask {
            "given" => format!(
                "%k = stablehlo.broadcast_in_dim %g, dims = [{inner}, {last}] : ({given}) -> {bits}"
            ),
            _ => {
                let doubled =
                    |n: usize| format!("%i{} = stablehlo.add %i{n}, %i{n} : {all}", n + 1);
                let doubled: Vec<String> = (0..64).map(doubled).collect();
                format!(
                    "%i0 = stablehlo.iota dim = {last} : {all}
               {}
               %k = stablehlo.compare GT, %o, %i64 : ({all}, {all}) -> {bits}",
                    doubled.join("\n")
                )
            }
        };
        let select = match mask {
            "" => format!("%p = stablehlo.abs %o : {all}"),
            _ => format!(
                "{chosen}
               %t = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<f32>) -> {all}
               %p = stablehlo.select %k, %o, %t : {bits}, {all}"
            ),
        };
        let text = format!(
            "func.func public @main(%x: {left}, %y: {right}, %g: {given}) -> {out} {{
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
        let outside = StorageForm::Packed { donated: &[None; 3], elsewhere: &[], apart: false };
        let plan = plan(&mut graph, outside, Passes::ALL);
        (plan.arena, scores.beside(&plan).map_or(0, |stored| stored.bytes))
    }

    #[test]
    fn deep_scores_long_masked_ones_and_those_beside_a_mask_in_memory_are_stored_twice() {
        let (columns, rows) = (MIN_SCORES_ELEMENTS, MIN_SHRUNK_BYTES / MIN_SCORES_ELEMENTS / 4);
        let bytes = 2 * rows * columns * 4;
        for (shape, mask) in [
            ([rows, columns, 8], "counted"),
            ([2 * rows, columns / 2, 128], ""),
            ([2 * rows, columns / 2, 8], "given"),
        ] {
            let (arena, beside) = told("2x", shape, "bf16", mask);
            assert!(arena + beside >= 2 * bytes, "{arena} and {beside} of {bytes}");
            assert!(beside > 0 && beside <= bytes, "{beside}");
        }
        assert_eq!(told("2x", [rows, columns, 8], "bf16", "").1, 0, "without a mask");
        assert_eq!(told("2x", [rows, columns - 1, 8], "bf16", "counted").1, 0, "of shorter rows");
        assert_eq!(told("2x", [rows, columns, 64], "bf16", "").1, 0, "of fewer terms");
        assert_eq!(told("2x", [rows, columns, 128], "f32", "given").1, 0, "products of f32");
        assert_eq!(told("", [2 * rows, columns, 128], "bf16", "given").1, 0, "logits");
        assert_eq!(told("2x", [8, columns, 128], "bf16", "given").1, 0, "small ones");
    }
}
