//! What a chip stores of a program that a run here leaves out.
//!
//! Losses look one probability of each row up. Here the array of all of them is never there
//! (`passes/picked`), nor is the array of its gradient (`passes/one_hot`); the chip's compiler
//! stores the first of them, often at the end of the program. A program that fits without it here
//! may not fit there: it is planned once more without these passes, and what that needs more is
//! told, and charged by whoever runs the program. That plan is never run.
use crate::graph::{Graph, Node, NodeKind, Subgraph};
use crate::plan::{Plan, StoredByChip};
use crate::tuning::MIN_SHRUNK_BYTES;
use std::sync::Arc;
use tpu_base::tensor::Shape;
use tpu_stablehlo::ir::LocationId;

/// A program as a chip has it.
#[derive(Debug)]
pub(crate) struct ChipProgram {
    graph: Graph,
    /// The largest array that is left out here.
    largest: LeftOut,
}

/// An array that is left out here.
#[derive(Debug)]
struct LeftOut {
    shape: Shape,
    /// The step that reads or makes it, and where that was written.
    name: Arc<str>,
    location: LocationId,
    /// Whether it is what elements are picked of.
    is_picked: bool,
}

impl ChipProgram {
    /// The program, where large arrays may be left out of it.
    pub(crate) fn of(graph: &Graph) -> Option<Self> {
        let mut found = None;
        search(graph, &graph.main, &mut found);
        found.map(|largest| Self { graph: graph.clone(), largest })
    }

    /// What a chip has beside the arena of the plan that runs here; `None` where that is nothing.
    /// `whole` makes a plan of the program without these passes.
    pub(crate) fn beside(
        mut self,
        plan: &Plan,
        whole: impl FnOnce(&mut Graph) -> Plan,
    ) -> Option<StoredByChip> {
        let whole = whole(&mut self.graph);
        let LeftOut { shape, name, location, is_picked } = self.largest;
        // A result's memory serves for it here, where a chip writes it and the result at once.
        let least = if is_picked { shape.bytes() } else { 0 };
        let bytes = whole.arena.max(least).checked_sub(plan.arena).filter(|&bytes| bytes > 0)?;
        Some(StoredByChip { bytes, shape, name, location })
    }
}

/// Looks for the largest array of a block that is left out.
fn search(graph: &Graph, code: &Subgraph, found: &mut Option<LeftOut>) {
    for (at, node) in code.nodes.iter().enumerate() {
        let kernel = match &node.work {
            NodeKind::While(condition, body) => {
                search(graph, condition, found);
                search(graph, body, found);
                continue;
            }
            NodeKind::Branch(blocks) => {
                blocks.iter().for_each(|inner| search(graph, inner, found));
                continue;
            }
            NodeKind::Each(each) => {
                search(graph, &each.body, found);
                continue;
            }
            NodeKind::Kernel(kernel) => kernel,
            _ => continue,
        };
        let is_picked = kernel.picks().is_some();
        let shape = match &node.results[..] {
            _ if is_picked => &node.shapes[0],
            &[result] if kernel.one_hot().is_some() => &graph.value(result).shape,
            _ => continue,
        };
        let least = found.as_ref().map_or(MIN_SHRUNK_BYTES - 1, |known| known.shape.bytes());
        if shape.bytes() <= least || (is_picked && !is_elementwise(&code.nodes[..at], node)) {
            continue;
        }
        let (shape, name, location) = (shape.clone(), Arc::clone(&node.name), node.location);
        *found = Some(LeftOut { shape, name, location, is_picked });
    }
}

/// Whether the first operand of a node is made element by element by one of these.
fn is_elementwise(before: &[Node], node: &Node) -> bool {
    let maker = before.iter().rev().find(|maker| maker.results.contains(&node.operands[0]));
    maker.is_some_and(|maker| matches!(maker.work, NodeKind::Elementwise(_)))
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
}
