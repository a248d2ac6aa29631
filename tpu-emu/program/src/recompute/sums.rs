//! Sums along residual layers that a chip stores.
//!
//! Of `x + f(x w)` and its like, where what is added is a function of a product, libtpu 0.0.51 stores
//! every second sum that a product reads, and makes those between again from it and from their
//! products. What is added by `tanh` and its like alone is stored with each sum.
use crate::graph::{Graph, Node, NodeKind, Subgraph, ValueId};
use rustc_hash::{FxHashMap, FxHashSet};
use tpu_kernels::elementwise::kind::ElementwiseKind;

/// Axes of rows of features at most, with those of batches; images have more, and a rule of their own
/// (`laid_anew/images.rs`).
const AXES_OF_ROWS: usize = 3;

/// What elementwise operations made a value of, from products and stored sums on.
#[derive(Debug, Clone, Copy, Default)]
struct Chain {
    /// Whether a sum along layers is among them.
    sums: bool,
    /// Whether a function is among those behind the last sum.
    function: bool,
    /// Whether a function that no arithmetic gives made the value.
    costly: bool,
}

/// The sums of a program along its layers.
#[derive(Debug, Default)]
pub(super) struct Sums {
    /// Those that are stored.
    pub(super) stored: FxHashSet<ValueId>,
    /// Those between, also converted, which are not.
    pub(super) between: FxHashSet<ValueId>,
}

impl Sums {
    /// Those of at least `least` bytes.
    pub(super) fn of(graph: &Graph, least: usize) -> Self {
        let mut found = Self::default();
        search(graph, &graph.main, least, &mut found);
        found
    }
}

fn search(graph: &Graph, code: &Subgraph, least: usize, found: &mut Sums) {
    let mut added = false;
    for node in &code.nodes {
        node.work.blocks().for_each(|inner| search(graph, inner, least, found));
        added |= is_sum(graph, node, least);
    }
    if !added {
        return;
    }
    let read = read_by_products(code);
    let mut chains: FxHashMap<ValueId, Chain> = FxHashMap::default();
    for node in &code.nodes {
        let (NodeKind::Elementwise(op), &[result]) = (&node.work, &node.results[..]) else {
            continue;
        };
        let of = |value: &ValueId| chains.get(value).copied().unwrap_or_default();
        let from = |part: fn(Chain) -> bool| node.operands.iter().any(|value| part(of(value)));
        let mut chain = Chain {
            sums: from(|chain| chain.sums),
            function: is_function(op.kind, op.transcendental) || from(|chain| chain.function),
            costly: op.transcendental
                || op.kind == ElementwiseKind::Convert && from(|chain| chain.costly),
        };
        if from(|chain| chain.function) && is_sum(graph, node, least) && read.contains(&result) {
            let keep = chain.sums || from(|chain| chain.costly);
            chain = Chain { sums: !keep, ..Chain::default() };
            if keep { &mut found.stored } else { &mut found.between }.insert(result);
        } else if op.kind == ElementwiseKind::Convert
            && found.between.contains(&node.operands[0])
            && graph.bytes(result) >= least
        {
            found.between.insert(result);
        }
        chains.insert(result, chain);
    }
}

/// Whether a node adds two arrays of rows.
fn is_sum(graph: &Graph, node: &Node, least: usize) -> bool {
    let (NodeKind::Elementwise(op), &[result]) = (&node.work, &node.results[..]) else {
        return false;
    };
    let shape = &graph.value(result).shape;
    op.kind == ElementwiseKind::Add && shape.dims.len() <= AXES_OF_ROWS && shape.bytes() >= least
}

fn is_function(kind: ElementwiseKind, transcendental: bool) -> bool {
    use ElementwiseKind::{Maximum, Minimum, Select};
    transcendental || matches!(kind, Maximum | Minimum | Select)
}

/// The values that products of matrices read, also converted or in another order.
fn read_by_products(code: &Subgraph) -> FxHashSet<ValueId> {
    let mut read = FxHashSet::default();
    for node in code.nodes.iter().rev() {
        let reads = match &node.work {
            NodeKind::Elementwise(op) => {
                op.kind == ElementwiseKind::Convert && read.contains(&node.results[0])
            }
            NodeKind::Access(_) => read.contains(&node.results[0]),
            of => of.is_product(),
        };
        if reads {
            read.extend(&node.operands);
        }
    }
    read
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compile::Passes;
    use crate::differential::graph_of;

    /// Of each sum along four layers, whether it is stored, or between stored ones; neither where it
    /// is no matter. Each layer adds `function` of a product `%p` to what it reads.
    fn sums(rank: usize, function: &str, least: usize) -> Vec<Option<bool>> {
        let batch = "1x".repeat(rank - 2);
        let of = format!("tensor<{batch}64x64xf32>");
        let dot =
            format!("contracting_dims = [{}] x [0] : ({of}, tensor<64x64xf32>) -> {of}", rank - 1);
        let layer = |number: usize| {
            let function = function.replace("%p", &format!("%p{number}"));
            format!(
                "%p{number} = stablehlo.dot_general %x{number}, %w, {dot}
                 %f{number} = {function} : {of}
                 %x{} = stablehlo.add %x{number}, %f{number} : {of}\n",
                number + 1
            )
        };
        let text = format!(
            "func.func public @main(%x0: {of}, %w: tensor<64x64xf32>) -> {of} {{
               %c = stablehlo.constant dense<0.5> : {of}
               {}%r = stablehlo.dot_general %x4, %w, {dot}
               return %r : {of}
             }}",
            (0..4).map(layer).collect::<String>()
        );
        let graph = graph_of(&text, Passes::NONE);
        let found = Sums::of(&graph, least);
        let is_add = |node: &&Node| matches!(&node.work, NodeKind::Elementwise(op) if op.kind == ElementwiseKind::Add);
        let added = graph.main.nodes.iter().filter(is_add).map(|node| node.results[0]);
        let told = |sum| match (found.stored.contains(&sum), found.between.contains(&sum)) {
            (true, false) => Some(true),
            (false, true) => Some(false),
            (false, false) => None,
            (true, true) => panic!("both"),
        };
        added.map(told).collect()
    }

    #[test]
    fn every_second_sum_is_stored_where_functions_of_products_are_added() {
        let [stored, between] = [Some(true), Some(false)];
        let rectified = "stablehlo.maximum %p, %c";
        for rank in [2, 3] {
            assert_eq!(sums(rank, rectified, 1), [between, stored, between, stored]);
        }
        assert_eq!(sums(2, "stablehlo.tanh %p", 1), [stored; 4]);
        assert_eq!(sums(2, "stablehlo.multiply %p, %c", 1), [None; 4], "no function");
        assert_eq!(sums(4, rectified, 1), [None; 4], "images");
        assert_eq!(sums(2, rectified, 64 * 64 * 4 + 1), [None; 4], "small ones");
    }
}
