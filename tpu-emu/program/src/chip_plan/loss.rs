//! Where a chip makes what a loss looks elements up in.
use super::scores::live_at;
use super::{makers, reductions};
use crate::graph::{Graph, Node, NodeKind, Subgraph, ValueId};
use crate::plan::{ArenaSlot, Plan, StoredByChip};
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;
use tpu_base::tensor::Shape;
use tpu_stablehlo::ir::LocationId;

/// An array of which elements are looked up.
#[derive(Debug, Clone)]
pub(super) struct Loss {
    shape: Shape,
    /// Bytes of the products that it is made of.
    products: usize,
    /// The largest of these, as the step that makes it.
    product: Option<(LocationId, Shape)>,
    /// Whether it is made where it stands, and not at the end: loops come before and after it, or
    /// a loop that reduces each row makes it.
    stays: bool,
    /// Whether it is a loop's own behind that over rows, so that a product of its size is kept.
    follows: bool,
    /// The step that looks up, and where that was written.
    name: Arc<str>,
    location: LocationId,
}

impl Loss {
    /// The largest one of those that the nodes at these positions of a block look up in.
    pub(super) fn largest(
        graph: &Graph,
        code: &Subgraph,
        (at, gathers): (&[usize], bool),
    ) -> Option<Self> {
        let makers = makers(code);
        let is_loop = |node: &Node| matches!(node.work, NodeKind::While(..));
        let first_loop = code.nodes.iter().position(is_loop);
        let last_loop = code.nodes.iter().rposition(is_loop);
        let one = |&at: &usize| {
            let node = &code.nodes[at];
            let (table, shape) = (node.operands[0], &node.shapes[0]);
            let NodeKind::Elementwise(_) = makers.get(&table)?.work else { return None };
            let mut products = Vec::new();
            products_of(graph, &makers, (table, shape), &mut FxHashSet::default(), &mut products);
            let bytes = |&of: &ValueId| graph.value(of).shape.bytes();
            let largest = products.iter().copied().max_by_key(bytes);
            let made =
                |of: ValueId| Some((makers.get(&of)?.location, graph.value(of).shape.clone()));
            let between = first_loop.is_some_and(|first| first < at) && last_loop > Some(at);
            let rows = graph.value(node.results[0]).shape.elements();
            let per_row = |[outer, _, inner]: [usize; 3]| outer * inner == rows;
            let by_rows = reductions::of(graph, &code.nodes, table).into_iter().any(per_row);
            Some(Self {
                shape: shape.clone(),
                products: products.iter().map(bytes).sum(),
                product: largest.and_then(made),
                stays: between || gathers || by_rows,
                follows: gathers && !between && !by_rows,
                name: Arc::clone(&node.name),
                location: node.location,
            })
        };
        at.iter().filter_map(one).max_by_key(Self::bytes)
    }

    /// What it takes with the products that it is made of.
    pub(super) fn bytes(&self) -> usize {
        self.shape.bytes() + self.products
    }

    /// What a chip has for it beside the arena of a plan, of whose values it stores some in more
    /// bytes than the plan, as `stored` says.
    pub(super) fn beside(
        &self,
        plan: &Plan,
        stored: impl Fn(&ArenaSlot) -> usize,
    ) -> Option<StoredByChip> {
        let bytes = if self.stays { self.in_place(plan, stored) } else { self.bytes() };
        let bytes = bytes.saturating_sub(plan.arena);
        let Self { shape, name, location, .. } = self.clone();
        (bytes > 0).then_some(StoredByChip { bytes, others: 0, shape, name, location })
    }

    /// What is there where it is made, if that is where its product stands.
    fn in_place(&self, plan: &Plan, stored: impl Fn(&ArenaSlot) -> usize) -> usize {
        let own = self.shape.bytes();
        if own <= self.products && !self.follows {
            return 0;
        }
        let is_made = |slot: &ArenaSlot| {
            let made = |(at, shape): &(LocationId, Shape)| {
                slot.location == *at && slot.shape.as_ref() == Some(shape)
            };
            self.product.as_ref().is_some_and(made)
        };
        // The array itself is what its product is stored as beside.
        let bytes = |slot: &ArenaSlot| if is_made(slot) { slot.bytes } else { stored(slot) };
        // Made otherwise here, as in f32 at once, it is in the plan as a chip has it.
        let product = plan.slots.iter().find(|slot| is_made(slot));
        product.map_or(self.products, |product| live_at(&plan.slots, product.first, bytes)) + own
    }
}

/// Adds the products, in this block, of whose elements those of a value are made one by one.
pub(super) fn products_of(
    graph: &Graph,
    makers: &FxHashMap<ValueId, &Node>,
    (value, of): (ValueId, &Shape),
    seen: &mut FxHashSet<ValueId>,
    products: &mut Vec<ValueId>,
) {
    if graph.value(value).shape.elements() < of.elements() || !seen.insert(value) {
        return;
    }
    let Some(maker) = makers.get(&value) else { return };
    match maker.work {
        NodeKind::Elementwise(_) | NodeKind::Access(_) => {
            for &from in &maker.operands {
                products_of(graph, makers, (from, of), seen, products);
            }
        }
        NodeKind::Iota(_) | NodeKind::Splat(_) | NodeKind::Constant(_) => {}
        _ => products.push(value),
    }
}

#[cfg(test)]
mod tests {
    use super::super::ChipProgram;
    use super::*;
    use crate::compile::Passes;
    use crate::differential::graph_of;
    use crate::tuning::MIN_SHRUNK_BYTES;
    use tpu_base::tensor::DType;

    /// Whether the array with this name, in which a loss looks up, stays where its product is.
    fn stays(table: &str) -> bool {
        ChipProgram::of(&looked_up(table)).loss.unwrap().stays
    }

    /// A program with a loss that looks up in the array with this name.
    fn looked_up(table: &str) -> Graph {
        let columns = MIN_SHRUNK_BYTES / 64 / 4;
        let (all, rows) = (format!("tensor<64x{columns}xf32>"), "tensor<64xf32>");
        let text = format!(
            "func.func public @main(%x: tensor<64x8xbf16>, %y: tensor<8x{columns}xbf16>, %n: tensor<64x1xi32>) -> ({rows}, {rows}) {{
               %p = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<64x8xbf16>, tensor<8x{columns}xbf16>) -> tensor<64x{columns}xbf16>
               %f = stablehlo.convert %p : (tensor<64x{columns}xbf16>) -> {all}
               %c = stablehlo.constant dense<0.0> : tensor<f32>
               %m = stablehlo.reduce(%f init: %c) applies stablehlo.maximum across dimensions = [1] : ({all}, tensor<f32>) -> {rows}
               %b = stablehlo.broadcast_in_dim %m, dims = [0] : ({rows}) -> {all}
               %s = stablehlo.subtract %f, %b : {all}
               %e = stablehlo.exponential %s : {all}
               %z = stablehlo.reduce(%e init: %c) applies stablehlo.add across dimensions = [1] : ({all}, tensor<f32>) -> {rows}
               %l = stablehlo.log %z : {rows}
               %g = stablehlo.broadcast_in_dim %l, dims = [0] : ({rows}) -> {all}
               %v = stablehlo.subtract %s, %g : {all}
               %r = \"stablehlo.gather\"({table}, %n) {{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>}} : ({all}, tensor<64x1xi32>) -> {rows}
               return %r, %z : {rows}, {rows}
             }}"
        );
        graph_of(&text, Passes::ALL)
    }

    #[test]
    fn what_a_loop_over_rows_makes_stays_where_it_is() {
        assert!(stays("%f"), "logits, of which the greatest is found");
        assert!(stays("%s"), "differences, of which exponentials are summed");
        assert!(!stays("%v"), "logarithms, which need the sum");
        let graph = looked_up("%v");
        let is_pick = |node: &Node| matches!(&node.work, NodeKind::Kernel(kernel) if kernel.picks().is_some());
        let at = graph.main.nodes.iter().position(is_pick).unwrap();
        for gathers in [false, true] {
            let found = Loss::largest(&graph, &graph.main, (&[at], gathers)).unwrap();
            assert_eq!([found.stays, found.follows], [gathers; 2], "beside other devices' arrays");
        }
        // Those are told by name, of whatever type.
        let mut graph = looked_up("%v");
        let sums = graph.main.nodes.iter_mut().filter(|node| node.name.ends_with("reduce"));
        assert_eq!(sums.map(|sum| sum.name = "exchange by all_gather".into()).count(), 2);
        assert!(ChipProgram::of(&graph).loss.unwrap().follows);
    }

    #[test]
    fn it_lies_beside_what_lives_where_its_product_is_made() {
        let shape = |dtype| Shape::new(dtype, vec![64, 128]);
        let slot = |(first, last): (usize, usize), bytes, shape| ArenaSlot {
            offset: 0,
            bytes,
            first,
            last,
            shape,
            name: "step".into(),
            location: LocationId::UNKNOWN,
        };
        let beside = |made: DType, (stays, follows)| {
            let product = shape(made);
            let narrow = shape(if made == DType::F32 { made } else { DType::Bf16 });
            let slots = vec![
                slot((0, 3), 60_000, None),
                slot((2, 5), narrow.bytes(), Some(narrow)),
                slot((6, 7), 90_000, None),
            ];
            let plan = Plan { slots, arena: 90_000, ..Plan::default() };
            let loss = Loss {
                shape: shape(DType::F32),
                products: product.bytes(),
                product: Some((LocationId::UNKNOWN, product)),
                stays,
                follows,
                name: "step".into(),
                location: LocationId::UNKNOWN,
            };
            let once = loss.beside(&plan, |slot| slot.bytes).map(|stored| stored.bytes);
            let twice = loss.beside(&plan, |slot| 2 * slot.bytes).map(|stored| stored.bytes);
            let alone = made == DType::F16 || !follows && made == DType::F32 || !stays;
            assert_eq!(twice, if alone { once } else { once.map(|once| once + 60_000) });
            once
        };
        assert_eq!(beside(DType::Bf16, (true, false)), Some(60_000 + 16_384 + 32_768 - 90_000));
        assert_eq!(beside(DType::Bf16, (false, false)), None, "the product and it alone");
        assert_eq!(
            beside(DType::F16, (true, false)),
            None,
            "a product that the plan has otherwise"
        );
        assert_eq!(beside(DType::F32, (true, false)), None, "in the place of its product");
        assert_eq!(beside(DType::F32, (true, true)), Some(60_000 + 32_768 + 32_768 - 90_000));
    }
}
