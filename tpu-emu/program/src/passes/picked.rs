//! Elements are picked before they are made, where a gather takes few of an elementwise result.
//!
//! A loss looks one probability of each row up in the logarithms of all of them. Looked up in what
//! these are made of, and made afterwards, it is the same number, and the array of all logarithms
//! need not be there.
use crate::graph::{Graph, Node, NodeKind, Subgraph, ValueId};
use crate::tuning::{MAX_PICKED_NODES, MIN_PICKED_PARTS};
use rustc_hash::FxHashMap;
use std::sync::Arc;
use tpu_base::tensor::Shape;
use tpu_kernels::movement::strided_view::Access;
use tpu_ops::Kernel;

/// Lets the gathers of a program take elements of what elementwise results are made of, where
/// these have so many bytes at least.
pub(crate) fn pick(graph: &mut Graph, least: usize) {
    let mut main = std::mem::take(&mut graph.main);
    block(graph, &mut main, least);
    graph.main = main;
}

fn block(graph: &mut Graph, code: &mut Subgraph, least: usize) {
    let mut any = false;
    for node in &mut code.nodes {
        node.work.blocks_mut().for_each(|inner| block(graph, inner, least));
        if let NodeKind::Kernel(kernel) = &node.work {
            any |= kernel.picks().is_some();
        }
    }
    if !any {
        return;
    }
    let is_one = |graph: &Graph, node: &Node| {
        picker(node).is_some()
            && node.shapes[0].bytes() >= least
            && node.shapes[0].elements() / MIN_PICKED_PARTS
                >= graph.value(node.results[0]).shape.elements()
    };
    if !code.nodes.iter().any(|node| is_one(graph, node)) {
        return;
    }
    let mut makers: FxHashMap<ValueId, usize> = FxHashMap::default();
    let mut nodes: Vec<Node> = Vec::with_capacity(code.nodes.len());
    for node in std::mem::take(&mut code.nodes) {
        let picked =
            if is_one(graph, &node) { written(graph, &node, &nodes, &makers) } else { None };
        let new = picked.unwrap_or_else(|| vec![node]);
        for node in new {
            makers.extend(node.results.iter().map(|&result| (result, nodes.len())));
            nodes.push(node);
        }
    }
    code.nodes = nodes;
}

/// The kernel of a node that takes elements of its first operand.
fn picker(node: &Node) -> Option<&Arc<dyn Kernel>> {
    match &node.work {
        NodeKind::Kernel(kernel) if kernel.picks().is_some() => Some(kernel),
        _ => None,
    }
}

/// The nodes that are a gather of an elementwise result; `None` where it stays.
fn written(
    graph: &mut Graph,
    gather: &Node,
    before: &[Node],
    makers: &FxHashMap<ValueId, usize>,
) -> Option<Vec<Node>> {
    let kept = picker(gather)?.picks()?;
    let (&[table, _], [all, _]) = (&gather.operands[..], &gather.shapes[..]) else { return None };
    let NodeKind::Elementwise(_) = before[*makers.get(&table)?].work else { return None };
    let result = graph.value(gather.results[0]).shape.clone();
    let mut work = Picking {
        graph,
        gather,
        before,
        makers,
        all,
        result,
        kept,
        made: FxHashMap::default(),
        nodes: Vec::new(),
    };
    let made = work.value(table, all)?;
    let mut nodes = work.nodes;
    let last = nodes.iter_mut().find(|node| node.results[0] == made)?;
    last.results[0] = gather.results[0];
    // Whoever reads it comes behind, and nothing else of these does.
    Some(nodes)
}

/// A gather that is written anew.
struct Picking<'a> {
    graph: &'a mut Graph,
    gather: &'a Node,
    before: &'a [Node],
    makers: &'a FxHashMap<ValueId, usize>,
    /// What it takes elements of, and the result.
    all: &'a Shape,
    result: Shape,
    /// The axes of the first that the axes of the second run along.
    kept: Vec<Option<usize>>,
    /// The picked elements of values.
    made: FxHashMap<ValueId, ValueId>,
    nodes: Vec<Node>,
}

impl Picking<'_> {
    /// The picked elements of a value that is seen with this shape.
    fn value(&mut self, value: ValueId, seen: &Shape) -> Option<ValueId> {
        // One element serves all.
        if seen.elements() == 1 && self.all.elements() != 1 {
            return Some(value);
        }
        if let Some(&made) = self.made.get(&value) {
            return Some(made);
        }
        let shape = self.graph.value(value).shape.clone();
        if seen.dims != self.all.dims
            || shape.dims != self.all.dims
            || self.nodes.len() >= MAX_PICKED_NODES
        {
            return None;
        }
        let of = self.result.with(shape.dtype);
        let before = self.before;
        let maker = self.makers.get(&value).map(|&maker| &before[maker]);
        let (work, operands, shapes) = match maker.map(|maker| (maker, &maker.work)) {
            Some((maker, NodeKind::Elementwise(op))) => {
                let mut operands = Vec::with_capacity(maker.operands.len());
                let mut shapes = Vec::with_capacity(maker.shapes.len());
                for (&operand, seen) in maker.operands.iter().zip(&maker.shapes) {
                    let made = self.value(operand, seen)?;
                    operands.push(made);
                    shapes.push(if made == operand { seen.clone() } else { of.with(seen.dtype) });
                }
                (NodeKind::Elementwise(*op), operands, shapes)
            }
            Some((maker, NodeKind::Access(access))) => {
                let strides = self.strides(access)?;
                let access = Access { offset: access.offset, strides };
                (NodeKind::Access(access), maker.operands.clone(), maker.shapes.clone())
            }
            Some((_, NodeKind::Splat(element))) => {
                (NodeKind::Splat(Arc::clone(element)), Vec::new(), Vec::new())
            }
            Some((_, NodeKind::Iota(_) | NodeKind::Constant(_))) => return None,
            _ => {
                let kernel = picker(self.gather)?.picking(shape.dtype)?;
                let indices = (self.gather.operands[1], self.gather.shapes[1].clone());
                (NodeKind::Kernel(kernel), vec![value, indices.0], vec![shape, indices.1])
            }
        };
        let made = self.graph.add(of);
        self.nodes.push(Node {
            work,
            operands,
            shapes,
            results: vec![made],
            name: Arc::clone(&self.gather.name),
            location: self.gather.location,
            effect: false,
        });
        self.made.insert(value, made);
        Some(made)
    }

    /// The strides of a view for the picked elements; `None` if the indices move through it.
    fn strides(&self, access: &Access) -> Option<Vec<isize>> {
        let along = |axis: usize| self.kept.contains(&Some(axis)) || access.strides[axis] == 0;
        if !(0..access.strides.len()).all(along) {
            return None;
        }
        Some(self.kept.iter().map(|of| of.map_or(0, |axis| access.strides[axis])).collect())
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use crate::compile::Passes;
    use crate::differential::{plan_of, results_under};
    use tpu_kernels::simd::at_every_level;
    use tpu_ops::Numerics;

    const WITHOUT: Passes = Passes { picked_from: usize::MAX, ..Passes::ALL };

    /// One element of each row of `%v`.
    const ONE_OF_A_ROW: &str = "%r = \"stablehlo.gather\"(%v, %m) {dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>} : (tensor<64x600xf32>, tensor<64x1xi32>) -> tensor<64xf32>";

    /// A program that looks up in a value that these lines make, and gives that too if it says so.
    fn program(lines: &str, also: bool) -> String {
        let (more, types) = if also { (", %v", ", tensor<64x600xf32>") } else { ("", "") };
        format!(
            "func.func public @main(%x: tensor<64x600xf32>, %u: tensor<64xf32>, %n: tensor<64x1xi32>) -> (tensor<64xf32>{types}) {{
               %i = stablehlo.iota dim = 0 : tensor<64x1xi32>
               %k = stablehlo.constant dense<11> : tensor<64x1xi32>
               %l = stablehlo.multiply %i, %k : tensor<64x1xi32>
               %m = stablehlo.remainder %n, %k : tensor<64x1xi32>
               %o = stablehlo.add %m, %l : tensor<64x1xi32>
               {lines}
               {ONE_OF_A_ROW}
               return %r{more} : tensor<64xf32>{types}
             }}"
        )
        .replace("(%v, %m)", "(%v, %o)")
    }

    /// A function of what is read, less a number for each row, and a view along the rows.
    fn lines() -> [String; 3] {
        let all = "tensor<64x600xf32>";
        let spread = |name: &str, of: &str, axis: usize, from: &str| {
            format!(
                "%{name} = stablehlo.broadcast_in_dim %{of}, dims = [{axis}] : ({from}) -> {all}"
            )
        };
        let rows = spread("b", "u", 0, "tensor<64xf32>");
        let exp = format!("%e = stablehlo.exponential %x : {all}");
        let less = format!("%v = stablehlo.subtract %e, %b : {all}");
        let columns = format!(
            "%c = stablehlo.iota dim = 0 : tensor<600xf32>\n{}",
            spread("b", "c", 0, "tensor<600xf32>").replace("dims = [0]", "dims = [1]")
        );
        let narrow = format!(
            "%h = stablehlo.convert %x : ({all}) -> tensor<64x600xbf16>\n\
             %g = stablehlo.reshape %h : (tensor<64x600xbf16>) -> tensor<64x600xbf16>\n\
             %v = stablehlo.convert %g : (tensor<64x600xbf16>) -> {all}"
        );
        [[rows, exp.clone(), less.clone()].join("\n"), [columns, exp, less].join("\n"), narrow]
    }

    /// Programs whose gathers take what their tables are made of.
    pub(crate) fn programs() -> Vec<String> {
        let [rows, _, narrow] = lines();
        vec![program(&rows, false), program(&narrow, false)]
    }

    #[test]
    fn what_is_looked_up_is_not_made_for_all() {
        for text in programs() {
            let arena = plan_of(&text).arena;
            assert!(arena <= 1024, "{arena}: {text}");
        }
    }

    #[test]
    fn a_view_that_indices_move_through_is_stored() {
        let [_, columns, _] = lines();
        assert!(plan_of(&program(&columns, false)).arena >= 64 * 600 * 4);
    }

    #[test]
    fn picked_elements_have_the_bits_of_gathered_ones() {
        for lines in lines() {
            for also in [false, true] {
                let text = program(&lines, also);
                for numerics in [Numerics::Tpu, Numerics::Ieee] {
                    let kept = [None; 3];
                    let wanted = results_under(numerics, &text, &kept, WITHOUT);
                    at_every_level(|level| {
                        let found = results_under(numerics, &text, &kept, Passes::ALL);
                        assert!(found == wanted, "{level:?}, {numerics:?}: {text}");
                    });
                }
            }
        }
    }
}
