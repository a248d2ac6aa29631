//! Weights of f32 that loops multiply by.
use crate::graph::{Graph, Node, NodeKind, Subgraph, ValueId};
use crate::lifetimes::fullest;
use crate::partition::is_planned_gather;
use crate::passes::absorbed_work::conversion;
use crate::passes::rounded_stacks::reads_part;
use crate::plan::{ArenaSlot, Plan, StoredByChip};
use crate::tuning::MIN_ROUNDED_BYTES;
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;
use tpu_base::tensor::{DType, Shape};
use tpu_stablehlo::ir::LocationId;

/// Arrays that loops take matrices from and do not change. What a product converts to bf16 does not
/// change either, so that a chip converts all of it before the first of these loops, and keeps that to
/// the end of the last one.
#[derive(Debug, Default)]
pub(super) struct Weights {
    /// How many loops there are.
    loops: usize,
    /// The loop in which what was written there is made, if that is one alone.
    only: FxHashMap<LocationId, Option<usize>>,
    all: Vec<Weight>,
}

/// An array that is converted.
#[derive(Debug)]
struct Weight {
    value: ValueId,
    /// The array in 16 bits.
    shape: Shape,
    /// The first and the last loop that read it.
    loops: [usize; 2],
    /// What converts it, and where that was written.
    name: Arc<str>,
    location: LocationId,
}

impl Weights {
    /// Looks at the loops of a program.
    pub(super) fn of(graph: &Graph) -> Self {
        let mut found = Self::default();
        if !graph.main.nodes.iter().any(|node| matches!(node.work, NodeKind::While(..))) {
            return found;
        }
        // Constants are converted once for all runs, and what a loop keeps as it is kept.
        let mut outside: FxHashSet<ValueId> = graph.main.parameters.iter().copied().collect();
        for node in &graph.main.nodes {
            let NodeKind::While(_, body) = &node.work else {
                if !matches!(node.work, NodeKind::Constant(_)) {
                    outside.extend(&node.results);
                }
                continue;
            };
            let mut given: Vec<_> = unchanged(node, body).collect();
            node.each_inner_read(&mut |value| given.push((value, value)));
            given.retain(|(value, _)| outside.contains(value));
            given.sort_unstable();
            given.dedup();
            let number = found.loops;
            for (value, inside) in given {
                let shape = &graph.value(value).shape;
                if shape.dtype != DType::F32 || shape.bytes() / 2 < MIN_ROUNDED_BYTES {
                    continue;
                }
                let Some(reader) = converting(graph, body, inside) else { continue };
                match found.all.iter_mut().find(|of| of.value == value) {
                    Some(known) => known.loops[1] = number,
                    None => found.all.push(Weight {
                        value,
                        shape: shape.with(DType::Bf16),
                        loops: [number; 2],
                        name: Arc::clone(&reader.name),
                        location: reader.location,
                    }),
                }
            }
            written(body, number, &mut found.only);
            found.loops += 1;
        }
        found
    }

    /// What a chip has for them beside the arena of a plan.
    pub(super) fn beside(&self, plan: &Plan) -> Option<StoredByChip> {
        let largest = self.all.iter().max_by_key(|of| of.shape.bytes())?;
        let spans = self.spans(plan);
        let converted =
            |of: &Weight| (spans[of.loops[0]][0], spans[of.loops[1]][1], of.shape.bytes());
        let all = plan.slots.iter().map(ArenaSlot::life).chain(self.all.iter().map(converted));
        let before = fullest(plan.slots.iter().map(ArenaSlot::life)).max(plan.arena);
        let bytes = fullest(all).saturating_sub(before);
        let (first, ..) = converted(largest);
        let beside = |of: &&Weight| (converted(of).0..=converted(of).1).contains(&first);
        (bytes > 0).then(|| StoredByChip {
            bytes,
            others: self.all.iter().filter(beside).count() - 1,
            shape: largest.shape.clone(),
            name: Arc::clone(&largest.name),
            location: largest.location,
        })
    }

    /// The first and the last position where each loop makes something, as what only it makes says; all
    /// positions, if that is nothing.
    fn spans(&self, plan: &Plan) -> Vec<[usize; 2]> {
        let mut spans: Vec<Option<[usize; 2]>> = vec![None; self.loops];
        for slot in &plan.slots {
            if let Some(&Some(of)) = self.only.get(&slot.location) {
                let [first, last] = spans[of].unwrap_or([slot.first; 2]);
                spans[of] = Some([first.min(slot.first), last.max(slot.first)]);
            }
        }
        spans.into_iter().map(|span| span.unwrap_or([0, plan.positions])).collect()
    }
}

/// What a loop is given and gives on in each round as it is, outside and inside of its body.
fn unchanged(node: &Node, body: &Subgraph) -> impl Iterator<Item = (ValueId, ValueId)> {
    let carried = node.operands.iter().zip(&body.parameters).zip(&body.results);
    carried.filter(|((_, inside), made)| inside == made).map(|((&of, &inside), _)| (of, inside))
}

/// The node of a block that converts a value, or parts of it, to bf16, also as an operand of a product.
fn converting<'g>(graph: &Graph, code: &'g Subgraph, value: ValueId) -> Option<&'g Node> {
    let mut parts = vec![value];
    for node in &code.nodes {
        let read = |of: &ValueId| parts.contains(of);
        let carried = match &node.work {
            NodeKind::While(_, body) => unchanged(node, body)
                .filter(|(outside, _)| read(outside))
                .find_map(|(_, inside)| converting(graph, body, inside)),
            _ => None,
        };
        let mut blocks = node.work.blocks();
        let inner =
            blocks.find_map(|block| parts.iter().find_map(|&of| converting(graph, block, of)));
        if let Some(found) = carried.or(inner) {
            return Some(found);
        }
        let Some(operand) = node.operands.iter().position(read) else { continue };
        match &node.work {
            NodeKind::Access(_) => parts.extend_from_slice(&node.results),
            NodeKind::Elementwise(_)
                if conversion(node).is_some_and(|(_, to)| to == DType::Bf16) =>
            {
                return Some(node);
            }
            NodeKind::Kernel(kernel)
                if kernel.rounds(operand) && has_several_rows(graph, node, operand) =>
            {
                return Some(node);
            }
            // What devices gather for a product is converted before that.
            NodeKind::Kernel(_)
                if is_planned_gather(&node.name) || operand == 0 && reads_part(graph, node) =>
            {
                parts.extend_from_slice(&node.results);
            }
            _ => {}
        }
    }
    None
}

/// Whether a product multiplies more than vectors by the matrices that are its operand with this
/// number: vectors are multiplied in f32.
fn has_several_rows(graph: &Graph, node: &Node, operand: usize) -> bool {
    let elements = |shape: &Shape| shape.elements() as f64;
    let ([left, right], [result]) = (&node.shapes[..], &node.results[..]) else { return false };
    let [own, other] = if operand == 0 { [left, right] } else { [right, left] };
    elements(other) * elements(&graph.value(*result).shape) > elements(own)
}

/// Notes where the nodes of the body of a loop were written.
fn written(code: &Subgraph, number: usize, only: &mut FxHashMap<LocationId, Option<usize>>) {
    for node in &code.nodes {
        if node.location != LocationId::UNKNOWN {
            let known = only.entry(node.location).or_insert(Some(number));
            *known = known.filter(|&known| known == number);
        }
        node.work.blocks().for_each(|block| written(block, number, only));
    }
}

#[cfg(test)]
mod tests {
    use super::super::ChipProgram;
    use super::*;
    use crate::compile::{Passes, plan};
    use crate::differential::graph_under;
    use crate::plan::StorageForm;
    use tpu_ops::Numerics;

    const LAYERS: usize = 4;
    const SIDE: usize = 512;

    /// Bytes that a chip stores beside the plan of a loop over layers, whose matrix `%m` is taken from
    /// weights of `element`; `layer` makes `%h` of `%a`, and the loop gives on `weights`.
    fn told(element: &str, rows: usize, layer: &str, weights: &str) -> usize {
        let one = format!("tensor<{SIDE}x{SIDE}x{element}>");
        let part = format!("tensor<1x{SIDE}x{SIDE}x{element}>");
        let all = format!("tensor<{LAYERS}x{SIDE}x{SIDE}x{element}>");
        let (x, index) = (format!("tensor<{rows}x{SIDE}x{element}>"), "tensor<i32>");
        let layer = layer.replace("ONE", &one).replace("X", &x);
        let text = format!(
            "func.func public @main(%x: {x}, %w: {all}) -> {x} {{
               %z = stablehlo.constant dense<0> : {index}
               %f:3 = stablehlo.while(%i = %z, %a = %x, %v = %w) : {index}, {x}, {all} cond {{
                 %t = stablehlo.constant dense<{LAYERS}> : {index}
                 %q = stablehlo.compare LT, %i, %t : ({index}, {index}) -> tensor<i1>
                 stablehlo.return %q : tensor<i1>
               }} do {{
                 %o = stablehlo.constant dense<1> : {index}
                 %j = stablehlo.add %i, %o : {index}
                 %p = stablehlo.dynamic_slice %v, %i, %z, %z, sizes = [1, {SIDE}, {SIDE}] : ({all}, {index}, {index}, {index}) -> {part}
                 %m = stablehlo.reshape %p : ({part}) -> {one}
                 {layer}
                 %s = stablehlo.add %v, %v : {all}
                 stablehlo.return %j, %h, {weights} : {index}, {x}, {all}
               }}
               return %f#1 : {x}
             }}"
        );
        let mut graph = graph_under(Numerics::Tpu, &text, Passes::ALL);
        let found = Weights::of(&graph);
        assert_eq!(found.all.len(), ChipProgram::of(&graph).weights.all.len());
        let outside = StorageForm::Packed { donated: &[None; 2], elsewhere: &[], apart: false };
        let plan = plan(&mut graph, outside, Passes::ALL);
        // Counters lie in the place of some of it.
        found.beside(&plan).map_or(0, |stored| stored.bytes.next_multiple_of(4096))
    }

    const MULTIPLIED: &str =
        "%h = stablehlo.dot_general %a, %m, contracting_dims = [1] x [0] : (X, ONE) -> X";

    #[test]
    fn all_weights_of_a_loop_are_there_in_16_bits() {
        let all = LAYERS * SIDE * SIDE * 2;
        assert_eq!(told("f32", 64, MULTIPLIED, "%v"), all);
        assert_eq!(told("bf16", 64, MULTIPLIED, "%v"), 0, "nothing to convert");
        assert_eq!(told("f32", 64, MULTIPLIED, "%s"), 0, "weights that change");
        assert_eq!(told("f32", 1, MULTIPLIED, "%v"), 0, "a vector");
        let narrow = "%c = stablehlo.convert %m : (ONE) -> tensor<512x512xbf16>
            %e = stablehlo.convert %c : (tensor<512x512xbf16>) -> ONE
            %k = stablehlo.slice %e [0:1, 0:512] : (ONE) -> tensor<1x512xf32>
            %h = stablehlo.add %a, %k : X";
        assert_eq!(told("f32", 1, narrow, "%v"), all, "converted by the program");
        let added = "%k = stablehlo.slice %m [0:64, 0:512] : (ONE) -> X
            %h = stablehlo.add %a, %k : X";
        assert_eq!(told("f32", 64, added, "%v"), 0, "no product");
    }
}
