//! What a chip stores of a program that a run here leaves out.
//!
//! Found by what libtpu says of programs; each moment is one at which a chip's memory may be fullest.
//!
//! | moment | here | on a chip |
//! |---|---|---|
//! | any | 16 bits of a product that only one conversion to f32 reads, and one step that | f32, as its own loop goes on to that step |
//! | the last | elements of an elementwise result are looked up in what it is made of (`passes/picked`) | the loss comes last: the result, and the products that it is made of |
//! | a product that a loss is made of, between two loops or where a reduction of each row reads what is looked up | the same | the loss comes where it stands: the result beside all that lives there, also what is f32 by the first row, in place of the product if that is as large |
//! | a loss by logarithms, which a loop of their own makes, of a program that gathers several arrays from other devices | the same | where it stands too, and beside the product |
//! | all of a program that multiplies nothing, with `log_softmax` of an argument or its like (`differences`) | differences to the greatest are made twice | these, beside all else |
//! | scores of attention of many terms, or in long masked rows (`scores`) | exponentials take the place of scores | both in f32 |
//! | a look-up of many single elements in a loop, as of a binary search | the loop over elements that reads them makes their places and looks them up | the places and what is found, stored |
//! | loops that multiply by matrices of f32 | these, taken from an array that loops do not change | all that they are taken from once more in bf16, from the first of these loops to the last |
//! | any of a program that gathers several arrays of 16 bits from other devices | the gathered array that is read | one more, which arrives meanwhile |
//!
//! A program that fits here may not fit there. What it takes more is told, and charged by whoever
//! runs the program.
mod differences;
mod loss;
mod reductions;
mod scores;
mod weights;

use crate::graph::{Graph, Node, NodeKind, Subgraph, ValueId};
use crate::lifetimes::fullest;
use crate::partition::is_planned_gather;
use crate::passes::absorbed_work::conversion;
use crate::plan::{ArenaSlot, Plan, StoredByChip};
use crate::tuning::{MIN_SHRUNK_BYTES, MIN_WIDENED_BYTES};
use loss::Loss;
use rustc_hash::{FxHashMap, FxHashSet};
use scores::Scores;
use std::sync::Arc;
use tpu_base::tensor::{DType, Shape};
use tpu_stablehlo::ir::LocationId;
use weights::Weights;

/// What a chip stores otherwise than a run here.
#[derive(Debug, Default)]
pub(crate) struct ChipProgram {
    /// The largest loss.
    loss: Option<Loss>,
    /// Products in 16 bits that are kept in f32, as the steps that make them.
    widened: FxHashSet<(LocationId, Shape)>,
    /// Scores of attention that are stored twice.
    scores: Scores,
    /// Weights of f32 that loops multiply by.
    weights: Weights,
    /// All differences of logits to the greatest of their row.
    differences: Option<StoredByChip>,
    /// The largest array that is looked up element by element in a loop.
    looked_up: Option<StoredByChip>,
    /// How many arrays devices gather of each other.
    gathers: usize,
    /// Those of 16 bits.
    gathered: Vec<StoredByChip>,
}

/// The nodes of a block that make its values.
fn makers(code: &Subgraph) -> FxHashMap<ValueId, &Node> {
    let made = code.nodes.iter().flat_map(|node| node.results.iter().map(move |&of| (of, node)));
    made.collect()
}

/// The result of a node, for which a chip stores so many bytes.
fn stored_result(node: &Node, shape: &Shape, bytes: usize) -> StoredByChip {
    let (shape, name, location) = (shape.clone(), Arc::clone(&node.name), node.location);
    StoredByChip { bytes, others: 0, shape, name, location }
}

/// What is stored for a look-up in a loop, if it is of one number a place, and large: what is found,
/// and as many places of 32 bits.
fn stored_look_up(graph: &Graph, node: &Node) -> Option<StoredByChip> {
    let NodeKind::Kernel(kernel) = &node.work else { return None };
    let shape = &graph.value(*node.results.first()?).shape;
    let single = kernel.lookup().is_some() && node.shapes[1].elements() >= shape.elements();
    let is_large = single && shape.bytes() >= MIN_SHRUNK_BYTES;
    let bytes = shape.bytes() + shape.with(DType::S32).bytes();
    is_large.then(|| stored_result(node, shape, bytes))
}

impl ChipProgram {
    /// What is stored otherwise of an imported program.
    pub(crate) fn of(graph: &Graph) -> Self {
        let differences = differences::all(graph, &graph.main);
        let mut found = Self { weights: Weights::of(graph), differences, ..Self::default() };
        found.search(graph, &graph.main);
        found
    }

    fn search(&mut self, graph: &Graph, code: &Subgraph) {
        let mut losses = Vec::new();
        let mut products = Vec::new();
        let is_halved = |&result: &ValueId| {
            let shape = &graph.value(result).shape;
            is_narrow(shape.dtype) && shape.bytes() >= MIN_WIDENED_BYTES
        };
        for (at, node) in code.nodes.iter().enumerate() {
            match &node.work {
                NodeKind::While(condition, body) => {
                    self.search(graph, condition);
                    self.search(graph, body);
                    let found = body.nodes.iter().filter_map(|node| stored_look_up(graph, node));
                    let all = self.looked_up.take().into_iter().chain(found);
                    self.looked_up = all.max_by_key(|of| of.shape.bytes());
                }
                NodeKind::Branch(blocks) => {
                    blocks.iter().for_each(|inner| self.search(graph, inner));
                }
                NodeKind::Each(each) => self.search(graph, &each.body),
                NodeKind::Kernel(kernel) => {
                    self.look_at_exchange(graph, node);
                    if kernel.picks().is_some() && node.shapes[0].bytes() >= MIN_SHRUNK_BYTES {
                        losses.push(at);
                    }
                    if kernel.absorbs() {
                        self.scores.look_at(graph, &code.nodes, node);
                        if node.results.iter().all(is_halved) {
                            products.push(node);
                        }
                    }
                }
                _ => {}
            }
        }
        if !losses.is_empty() {
            // Arrays that other devices send arrive where these lie in the program.
            let found = Loss::largest(graph, code, (&losses, self.gathers > 1));
            self.loss = self.loss.take().into_iter().chain(found).max_by_key(Loss::bytes);
        }
        if !products.is_empty() {
            self.look_at_products(graph, code, &products);
        }
    }

    fn look_at_exchange(&mut self, graph: &Graph, node: &Node) {
        let gathers = is_planned_gather(&node.name);
        let [result] = node.results[..] else { return };
        let shape = &graph.value(result).shape;
        self.gathers += usize::from(gathers);
        if gathers && is_narrow(shape.dtype) {
            self.gathered.push(stored_result(node, shape, shape.bytes()));
        }
    }

    fn look_at_products(&mut self, graph: &Graph, code: &Subgraph, products: &[&Node]) {
        let mut readers: FxHashMap<ValueId, Option<&Node>> = FxHashMap::default();
        for node in &code.nodes {
            for (at, &operand) in node.operands.iter().enumerate() {
                if !node.operands[..at].contains(&operand) {
                    readers.entry(operand).and_modify(|only| *only = None).or_insert(Some(node));
                }
            }
        }
        let only = |value: ValueId| {
            readers.get(&value).copied().flatten().filter(|_| !code.results.contains(&value))
        };
        let goes_on_in_f32 = |product: &&&Node| {
            let converted = only(product.results[0]).filter(|node| is_conversion_to_f32(node));
            let next = converted.and_then(|node| only(node.results[0]));
            next.is_some_and(|node| matches!(node.work, NodeKind::Elementwise(_)))
        };
        self.widened.extend(
            products
                .iter()
                .filter(goes_on_in_f32)
                .map(|product| (product.location, graph.value(product.results[0]).shape.clone())),
        );
    }

    /// What a chip has beside the arena of a program's plan; `None` where that is nothing.
    pub(crate) fn beside(&self, plan: &Plan) -> Option<StoredByChip> {
        let is_widened = |slot: &&ArenaSlot| {
            let shape = slot.shape.as_ref();
            shape.is_some_and(|shape| self.widened.contains(&(slot.location, shape.clone())))
        };
        let twice = |slot: &ArenaSlot| slot.bytes * if is_widened(&slot) { 2 } else { 1 };
        let largest = plan.slots.iter().filter(is_widened).max_by_key(|slot| slot.bytes);
        let wide = largest.and_then(|largest| {
            let wide = plan.slots.iter().map(|slot| (slot.first, slot.last, twice(slot)));
            let bytes = fullest(wide) - fullest(plan.slots.iter().map(ArenaSlot::life));
            let shape = largest.shape.as_ref()?.with(DType::F32);
            let (name, location) = (Arc::clone(&largest.name), largest.location);
            (bytes > 0).then_some(StoredByChip { bytes, others: 0, shape, name, location })
        });
        let last = self.loss.as_ref().and_then(|loss| loss.beside(plan, twice));
        let several = self.gathered.len() > 1;
        let next = self.gathered.iter().max_by_key(|of| of.bytes).filter(|_| several).cloned();
        let [scores, weights] = [self.scores.beside(plan), self.weights.beside(plan)];
        let all = wide.into_iter().chain(last).chain(next).chain(scores).chain(weights);
        let all = all.chain(self.looked_up.clone());
        let largest = all.max_by_key(|stored| stored.bytes);
        let Some(differences) = self.differences.clone() else { return largest };
        let Some(largest) = largest else { return Some(differences) };
        let bytes = largest.bytes + differences.bytes;
        let others = largest.others + 1 + differences.others;
        Some(StoredByChip { bytes, others, ..largest })
    }
}

fn is_narrow(dtype: DType) -> bool {
    matches!(dtype, DType::Bf16 | DType::F16)
}

fn is_conversion_to_f32(node: &Node) -> bool {
    conversion(node).is_some_and(|(_, to)| to == DType::F32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compile::{Passes, plan};
    use crate::differential::graph_of;
    use crate::plan::StorageForm;

    /// What a chip stores beside the plan of a program that looks up in the logarithms of so many
    /// columns, and makes another function of these afterwards.
    fn stored(columns: usize, passes: Passes) -> Option<StoredByChip> {
        let (all, rows) = (format!("tensor<64x{columns}xf32>"), "tensor<64xf32>");
        let text = format!(
            "func.func public @main(%x: {all}, %n: tensor<64x1xi32>) -> ({rows}, {all}) {{
               %v = stablehlo.log %x : {all}
               %r = \"stablehlo.gather\"(%v, %n) {{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>}} : ({all}, tensor<64x1xi32>) -> {rows}
               %e = stablehlo.exponential %x : {all}
               return %r, %e : {rows}, {all}
             }}"
        );
        let mut graph = graph_of(&text, passes);
        let outside = StorageForm::Packed { donated: &[None; 2], elsewhere: &[], apart: false };
        plan(&mut graph, outside, passes).stored
    }

    #[test]
    fn a_large_array_that_is_not_there_is_told() {
        let columns = MIN_SHRUNK_BYTES / 64 / 4;
        let found = stored(columns, Passes::ALL).unwrap();
        assert!(found.bytes >= MIN_SHRUNK_BYTES - 1024, "{found:?}");
        assert_eq!((found.shape.bytes(), &*found.name), (MIN_SHRUNK_BYTES, "stablehlo.gather"));
        assert!(stored(columns - 1, Passes::ALL).is_none());
        assert!(stored(columns, Passes::NONE).is_none());
    }

    /// What a chip stores of a program with a product in 16 bits, as `lines` go on with it.
    fn stored_of_product(
        columns: usize,
        lines: &str,
        result: &str,
    ) -> (usize, Option<StoredByChip>) {
        let text = format!(
            "func.func public @main(%x: tensor<64x8xbf16>, %y: tensor<8x{columns}xbf16>, %n: tensor<64x1xi32>) -> {result} {{
               %p = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<64x8xbf16>, tensor<8x{columns}xbf16>) -> tensor<64x{columns}xbf16>
               %f = stablehlo.convert %p : (tensor<64x{columns}xbf16>) -> tensor<64x{columns}xf32>
               {lines}
               return %r : {result}
             }}"
        );
        let mut graph = graph_of(&text, Passes::ALL);
        let outside = StorageForm::Packed { donated: &[None; 3], elsewhere: &[], apart: false };
        let plan = plan(&mut graph, outside, Passes::ALL);
        (plan.arena, plan.stored)
    }

    #[test]
    fn a_product_that_goes_on_in_f32_is_told_in_f32() {
        let told = |columns: usize, first: &str| {
            let all = format!("tensor<64x{columns}xf32>");
            let lines = format!(
                "{first}
                 %c = stablehlo.constant dense<0.0> : tensor<f32>
                 %m = stablehlo.reduce(%s init: %c) applies stablehlo.maximum across dimensions = [1] : ({all}, tensor<f32>) -> tensor<64xf32>
                 %b = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<64xf32>) -> {all}
                 %r = stablehlo.subtract %s, %b : {all}"
            );
            stored_of_product(columns, &lines.replace("ALL", &all), &all).1
        };
        let columns = MIN_WIDENED_BYTES / 64 / 2;
        for scaled in ["%s = stablehlo.negate %f : ALL", "%s = stablehlo.multiply %f, %f : ALL"] {
            let found = told(columns, scaled).unwrap();
            assert_eq!((found.bytes, found.shape.dtype), (MIN_WIDENED_BYTES, DType::F32));
            assert!(told(columns - 1, scaled).is_none());
        }
        // Converted alone it is converted by each reader.
        let converted = told(
            columns,
            "%s = stablehlo.convert %p : (tensor<64xCxbf16>) -> ALL"
                .replace('C', &columns.to_string())
                .as_str(),
        );
        assert!(converted.is_none(), "{converted:?}");
    }

    #[test]
    fn a_loss_is_told_with_the_product_that_it_is_made_of() {
        let columns = MIN_SHRUNK_BYTES / 64 / 4;
        let loss = format!(
            "%v = stablehlo.log %f : tensor<64x{columns}xf32>
             %r = \"stablehlo.gather\"(%v, %n) {{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>}} : (tensor<64x{columns}xf32>, tensor<64x1xi32>) -> tensor<64xf32>"
        );
        let (arena, found) = stored_of_product(columns, &loss, "tensor<64xf32>");
        let found = found.unwrap();
        assert_eq!(arena + found.bytes, MIN_SHRUNK_BYTES + MIN_SHRUNK_BYTES / 2, "{found:?}");
        assert_eq!(&*found.name, "stablehlo.gather");

        // Between loops it is told where it stands.
        let count = |name: &str| {
            format!(
                "%{name} = stablehlo.while(%a = %n) : tensor<64x1xi32> cond {{
                   %k = stablehlo.slice %a [0:1, 0:1] : (tensor<64x1xi32>) -> tensor<1x1xi32>
                   %l = stablehlo.reshape %k : (tensor<1x1xi32>) -> tensor<i32>
                   %t = stablehlo.constant dense<3> : tensor<i32>
                   %q = stablehlo.compare LT, %l, %t : (tensor<i32>, tensor<i32>) -> tensor<i1>
                   stablehlo.return %q : tensor<i1>
                 }} do {{
                   %s = stablehlo.add %a, %a : tensor<64x1xi32>
                   stablehlo.return %s : tensor<64x1xi32>
                 }}"
            )
        };
        let [before, after] = ["before", "after"].map(count);
        let between = format!("{before}\n{loss}\n{after}");
        let found = stored_of_product(columns, &between, "tensor<64xf32>").1.unwrap();
        assert_eq!(found.bytes, MIN_SHRUNK_BYTES);
        let last = format!("{before}\n{loss}");
        let (arena, found) = stored_of_product(columns, &last, "tensor<64xf32>");
        assert_eq!(arena + found.unwrap().bytes, MIN_SHRUNK_BYTES + MIN_SHRUNK_BYTES / 2);
    }

    #[test]
    fn one_more_gathered_array_arrives_while_another_one_is_read() {
        let gathered = |rows: usize| {
            let shape = Shape::new(DType::Bf16, vec![rows, 128]);
            let (name, location) = ("exchange by all_gather".into(), LocationId::UNKNOWN);
            StoredByChip { bytes: shape.bytes(), others: 0, shape, name, location }
        };
        let told = |rows: &[usize]| {
            let gathered = rows.iter().map(|&rows| gathered(rows)).collect();
            let program = ChipProgram { gathered, ..ChipProgram::default() };
            program.beside(&Plan::default()).map(|stored| stored.bytes)
        };
        assert_eq!(told(&[64, 512]), Some(512 * 128 * 2));
        assert_eq!(told(&[512]), None, "nothing else to read meanwhile");
        assert_eq!(told(&[]), None);

        // Differences lie beside that, and are counted.
        let differences = Some(gathered(32));
        let gathered = vec![gathered(64), gathered(512)];
        let program = ChipProgram { gathered, differences, ..ChipProgram::default() };
        let stored = program.beside(&Plan::default()).unwrap();
        assert_eq!((stored.bytes, stored.others), ((512 + 32) * 128 * 2, 1));
    }

    #[test]
    fn places_and_what_is_found_there_are_stored_in_loops() {
        let told = |count: usize, inside: bool| {
            let (all, at) = (format!("tensor<{count}xf32>"), format!("tensor<{count}xi32>"));
            let looked_up = |name: &str| {
                format!(
                    "%t{name} = stablehlo.reshape %{name} : ({at}) -> tensor<{count}x1xi32>
                     %f{name} = \"stablehlo.gather\"(%x, %t{name}) {{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>}} : (tensor<9xf32>, tensor<{count}x1xi32>) -> {all}
                     %d{name} = stablehlo.convert %f{name} : ({all}) -> {at}"
                )
            };
            let (in_loop, outside) = if inside {
                (looked_up("p"), "%r = stablehlo.negate %w#0".to_owned())
            } else {
                let behind = looked_up("q");
                let behind = format!(
                    "%q = stablehlo.negate %w#0 : {at}\n{behind}\n%r = stablehlo.negate %dq"
                );
                (format!("%dp = stablehlo.negate %p : {at}"), behind)
            };
            let text = format!(
                "func.func public @main(%x: tensor<9xf32>, %a: {at}, %n: tensor<i32>) -> {at} {{
                   %w:2 = stablehlo.while(%p = %a, %i = %n) : {at}, tensor<i32> cond {{
                     %c = stablehlo.constant dense<3> : tensor<i32>
                     %z = stablehlo.compare LT, %i, %c : (tensor<i32>, tensor<i32>) -> tensor<i1>
                     stablehlo.return %z : tensor<i1>
                   }} do {{
                     %k = stablehlo.add %i, %i : tensor<i32>
                     {in_loop}
                     stablehlo.return %dp, %k : {at}, tensor<i32>
                   }}
                   {outside} : {at}
                   return %r : {at}
                 }}"
            );
            let mut graph = graph_of(&text, Passes::ALL);
            let outside = StorageForm::Packed { donated: &[None; 3], elsewhere: &[], apart: false };
            plan(&mut graph, outside, Passes::ALL).stored.map(|stored| stored.bytes)
        };
        let count = MIN_SHRUNK_BYTES / 4;
        assert_eq!(told(count, true), Some(2 * MIN_SHRUNK_BYTES));
        assert_eq!(told(count - 1, true), None, "few");
        assert_eq!(told(count, false), None, "behind the loop");
    }
}
