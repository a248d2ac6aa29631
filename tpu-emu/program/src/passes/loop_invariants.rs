//! Loops do less in every iteration: values that no iteration changes are read from outside, and small
//! work that no iteration changes is done before. What costs nothing where it is read, such as a mask
//! of one matrix for all heads, is made inside instead of being stored outside.
use crate::graph::{Graph, Node, NodeKind, Subgraph, ValueId};
use crate::tuning::{MAX_HOISTED_BYTES, MIN_SUNK_BYTES};
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;

/// Takes what no iteration of a loop changes out of the loops of a program.
pub(crate) fn hoist(graph: &mut Graph) {
    let mut main = std::mem::take(&mut graph.main);
    Loops { graph, renamed: FxHashMap::default(), free: FxHashMap::default() }.block(&mut main);
    graph.main = main;
}

struct Loops<'g> {
    graph: &'g mut Graph,
    /// What stands for a value now.
    renamed: FxHashMap<ValueId, ValueId>,
    /// The nodes of large values that cost nothing where they are read.
    free: FxHashMap<ValueId, Node>,
}

impl Loops<'_> {
    fn now(&self, value: ValueId) -> ValueId {
        self.renamed.get(&value).copied().unwrap_or(value)
    }

    fn rename(&self, values: &mut [ValueId]) {
        values.iter_mut().for_each(|value| *value = self.now(*value));
    }

    fn block(&mut self, block: &mut Subgraph) {
        let has_loops = block.nodes.iter().any(|node| matches!(node.work, NodeKind::While(..)));
        let mut nodes = Vec::with_capacity(block.nodes.len());
        for mut node in std::mem::take(&mut block.nodes) {
            self.rename(&mut node.operands);
            match &mut node.work {
                NodeKind::While(condition, body) => {
                    let (condition, body) = (Arc::make_mut(condition), Arc::make_mut(body));
                    self.forward(&mut node.operands, &mut node.results, condition, body);
                    self.block(condition);
                    self.block(body);
                    self.sink(body);
                    nodes.extend(self.hoisted(condition));
                    nodes.extend(self.hoisted(body));
                }
                NodeKind::Branch(blocks) => blocks.iter_mut().for_each(|block| self.block(block)),
                NodeKind::Each(each) => self.block(&mut each.body),
                _ => {}
            }
            if has_loops && self.is_free(&node) {
                self.free.insert(node.results[0], node.clone());
            }
            nodes.push(node);
        }
        block.nodes = nodes;
        self.rename(&mut block.results);
    }

    /// Whether a node makes a large value of little, element by element.
    fn is_free(&self, node: &Node) -> bool {
        let little = |&of: &ValueId| self.graph.bytes(of) <= self.graph.bytes(node.results[0]) / 2;
        matches!(node.work, NodeKind::Access(_) | NodeKind::Iota(_) | NodeKind::Splat(_))
            && self.graph.bytes(node.results[0]) >= MIN_SUNK_BYTES
            && node.operands.iter().all(little)
    }

    /// Makes in a loop's body what costs nothing there, if only operations on elements read it.
    fn sink(&mut self, body: &mut Subgraph) {
        if self.free.is_empty() {
            return;
        }
        let mut made: Vec<Node> = Vec::new();
        let mut inside: FxHashMap<ValueId, Option<ValueId>> = FxHashMap::default();
        for node in &body.nodes {
            let by_element = matches!(node.work, NodeKind::Elementwise(_));
            for value in node.reads().into_iter().filter(|value| self.free.contains_key(value)) {
                let sunk = inside.entry(value).or_insert(Some(value));
                *sunk = sunk.filter(|_| by_element);
            }
        }
        let own = body.nodes.iter().flat_map(|node| &node.results);
        for of in own.chain(&body.results) {
            inside.remove(of);
        }
        let mut sunk: Vec<ValueId> = inside.into_values().flatten().collect();
        sunk.sort_unstable();
        let mut inside = FxHashMap::default();
        for value in sunk {
            let Some(node) = self.free.get(&value) else { continue };
            let result = self.graph.add(self.graph.value(value).shape.clone());
            made.push(Node { results: vec![result], ..node.clone() });
            inside.insert(value, result);
        }
        for operand in body.nodes.iter_mut().flat_map(|node| &mut node.operands) {
            *operand = inside.get(operand).copied().unwrap_or(*operand);
        }
        body.nodes.splice(..0, made);
    }

    /// Takes what is carried unchanged out of a loop.
    fn forward(
        &mut self,
        operands: &mut Vec<ValueId>,
        results: &mut Vec<ValueId>,
        condition: &mut Subgraph,
        body: &mut Subgraph,
    ) {
        let changes: Vec<bool> = body
            .results
            .iter()
            .zip(&body.parameters)
            .zip(operands.iter())
            .map(|((made, carried), initial)| {
                let same =
                    made == carried && self.graph.bytes(*initial) == self.graph.bytes(*carried);
                !same
            })
            .collect();
        if !changes.contains(&true) {
            return;
        }
        for (index, _) in changes.iter().enumerate().filter(|(_, changes)| !**changes) {
            let initial = operands[index];
            for value in [condition.parameters[index], body.parameters[index], results[index]] {
                self.renamed.insert(value, initial);
            }
        }
        for values in
            [operands, results, &mut condition.parameters, &mut body.parameters, &mut body.results]
        {
            let mut kept = changes.iter();
            values.retain(|_| kept.next().is_none_or(|kept| *kept));
        }
    }

    /// Takes small work that depends on nothing inside out of a block.
    fn hoisted(&self, block: &mut Subgraph) -> Vec<Node> {
        let mut inside: FxHashSet<ValueId> = block.parameters.iter().copied().collect();
        let mut before = Vec::new();
        let mut kept = Vec::with_capacity(block.nodes.len());
        for node in std::mem::take(&mut block.nodes) {
            if self.moves(&node) && !node.operands.iter().any(|value| inside.contains(value)) {
                before.push(node);
            } else {
                inside.extend(&node.results);
                kept.push(node);
            }
        }
        block.nodes = kept;
        before
    }

    /// Whether a node may be run once, even if its loop has no iteration.
    fn moves(&self, node: &Node) -> bool {
        let small =
            node.results.iter().all(|&result| self.graph.bytes(result) <= MAX_HOISTED_BYTES);
        let total = match &node.work {
            NodeKind::Constant(_) => true,
            NodeKind::Elementwise(_) => small,
            NodeKind::Kernel(kernel) => small && kernel.reduction().is_some(),
            // Accesses, counts and splats cost nothing where they are read.
            _ => false,
        };
        total && !node.effect
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compile::{Passes, plan};
    use crate::differential::graph_of;
    use crate::plan::StorageForm;
    use tpu_base::tensor::{DType, Shape};
    use tpu_kernels::elementwise::loops::lane;
    use tpu_kernels::elementwise::program::ElementwiseOp;
    use tpu_stablehlo::ir::LocationId;

    fn node(work: NodeKind, operands: &[ValueId], results: &[ValueId]) -> Node {
        Node {
            work,
            operands: operands.to_vec(),
            shapes: vec![Shape::scalar(DType::S32); operands.len()],
            results: results.to_vec(),
            name: "test".into(),
            location: LocationId::UNKNOWN,
            effect: false,
        }
    }

    fn sum(operands: [ValueId; 2], result: ValueId) -> Node {
        let op = ElementwiseOp {
            kind: tpu_kernels::elementwise::kind::ElementwiseKind::Add,
            operand: DType::S32,
            result: DType::S32,
            run: lane!(|a: i32, b: i32| a.wrapping_add(b)),
            immediate: [0; 2],
            transcendental: false,
        };
        node(NodeKind::Elementwise(op), &operands, &[result])
    }

    #[test]
    fn what_no_iteration_changes_is_not_carried_and_not_computed_again() {
        let mut graph = Graph::default();
        let mut value = || graph.add(Shape::scalar(DType::S32));
        let [start, step, tested, tested_step, carried, carried_step] = [(); 6].map(|()| value());
        let [more, twice, next, end, same, last] = [(); 6].map(|()| value());
        let condition = Subgraph {
            parameters: vec![tested, tested_step],
            nodes: vec![sum([tested, tested_step], more)],
            results: vec![more],
        };
        let body = Subgraph {
            parameters: vec![carried, carried_step],
            nodes: vec![sum([carried_step, carried_step], twice), sum([carried, twice], next)],
            results: vec![next, carried_step],
        };
        let work = NodeKind::While(Arc::new(condition), Arc::new(body));
        graph.main = Subgraph {
            parameters: vec![start, step],
            nodes: vec![node(work, &[start, step], &[end, same]), sum([end, same], last)],
            results: vec![last, same],
        };
        hoist(&mut graph);
        let [before, looped, after] = &graph.main.nodes[..] else { panic!("{:?}", graph.main) };
        assert_eq!((&before.operands[..], &before.results[..]), (&[step, step][..], &[twice][..]));
        assert_eq!((&looped.operands[..], &looped.results[..]), (&[start][..], &[end][..]));
        let NodeKind::While(condition, body) = &looped.work else { panic!("{looped:?}") };
        assert_eq!(condition.parameters, [tested]);
        assert_eq!(condition.nodes[0].operands, [tested, step]);
        assert_eq!((&body.parameters[..], &body.results[..]), (&[carried][..], &[next][..]));
        assert_eq!(body.nodes.len(), 1);
        assert_eq!(after.operands, [end, step]);
        assert_eq!(graph.main.results, [last, step]);
    }

    /// The arena of a loop that chooses by a mask of one matrix for all of several, made outside,
    /// where `kept` is what it returns besides.
    fn masked(passes: Passes, kept: &str) -> usize {
        let (all, one) = ("tensor<16x64x64xf32>", "tensor<64x64xi1>");
        let flags = all.replace("f32", "i1");
        let text = format!(
            "func.func public @main(%x: {all}, %m: {one}, %n: tensor<i32>) -> {all} {{
               %z = stablehlo.constant dense<-1.0> : tensor<f32>
               %w = stablehlo.broadcast_in_dim %m, dims = [1, 2] : ({one}) -> {flags}
               %f = stablehlo.broadcast_in_dim %z, dims = [] : (tensor<f32>) -> {all}
               %r:4 = stablehlo.while(%i = %n, %a = %x, %b = %w, %c = %f) : tensor<i32>, {all}, {flags}, {all} cond {{
                 %t = stablehlo.constant dense<3> : tensor<i32>
                 %q = stablehlo.compare LT, %i, %t : (tensor<i32>, tensor<i32>) -> tensor<i1>
                 stablehlo.return %q : tensor<i1>
               }} do {{
                 %k = stablehlo.add %i, %i : tensor<i32>
                 %s = stablehlo.select %b, %a, %c : {flags}, {all}
                 %d = stablehlo.dot_general %s, %s, batching_dims = [0] x [0], contracting_dims = [2] x [1] : ({all}, {all}) -> {all}
                 stablehlo.return %k, %d, %b, {kept} : tensor<i32>, {all}, {flags}, {all}
               }}
               return %r#1 : {all}
             }}"
        );
        let mut graph = graph_of(&text, passes);
        let outside = StorageForm::Packed { donated: &[None; 3], elsewhere: &[], apart: false };
        plan(&mut graph, outside, passes).arena
    }

    #[test]
    fn what_costs_nothing_in_a_loop_is_not_stored_outside() {
        let bytes = 16 * 64 * 64 * 4;
        let stored = masked(Passes { loop_invariants: false, ..Passes::ALL }, "%c");
        let made = masked(Passes::ALL, "%c");
        assert!(stored >= made + bytes + bytes / 4, "{stored} and {made}");
        assert!(masked(Passes::ALL, "%a") >= made + bytes, "what changes is stored");
    }
}
