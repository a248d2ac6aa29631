//! A sum of padded arrays that meet nowhere becomes one array beside the other.
//!
//! The gradient of `x[:, :n]` is an array of zeros around what came back, as long as `x`. Where all
//! of `x` is read in slices, as rotary embeddings and gates do it, the gradients are added up, and
//! each of them would be stored with its zeros.
use crate::graph::{Graph, Node, NodeKind, Subgraph, ValueId};
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;
use tpu_kernels::elementwise::kind::ElementwiseKind;
use tpu_ops::side_by_side;

/// Joins the sums of a program.
pub(crate) fn join(graph: &mut Graph) {
    let mut main = std::mem::take(&mut graph.main);
    block(graph, &mut main, &mut FxHashSet::default());
    graph.main = main;
}

/// A padded array, or a sum of several.
#[derive(Debug)]
struct Sum {
    axis: usize,
    /// First indices along the axis, how many there are, and the nodes that pad.
    parts: Vec<(usize, usize, usize)>,
    /// The nodes that add, the last one at the end.
    adds: Vec<usize>,
}

fn block(graph: &mut Graph, code: &mut Subgraph, zeros: &mut FxHashSet<ValueId>) {
    let mut pads = 0;
    for node in &mut code.nodes {
        node.work.blocks_mut().for_each(|inner| block(graph, inner, zeros));
        if node.only_element(graph).is_some_and(|element| element.iter().all(|&byte| byte == 0)) {
            zeros.extend(&node.results);
        }
        pads += usize::from(padding(node).is_some());
    }
    if pads < 2 {
        return;
    }
    let sums = sums(graph, code, zeros);
    if sums.is_empty() {
        return;
    }
    let mut gone: FxHashSet<usize> = FxHashSet::default();
    let mut roots: FxHashMap<usize, Sum> = FxHashMap::default();
    for mut sum in sums {
        let root = sum.adds.pop();
        gone.extend(sum.parts.iter().map(|part| part.2).chain(sum.adds.drain(..)));
        roots.extend(root.map(|root| (root, sum)));
    }
    let mut pads: FxHashMap<usize, Node> = FxHashMap::default();
    for (index, node) in std::mem::take(&mut code.nodes).into_iter().enumerate() {
        if let Some(sum) = roots.remove(&index) {
            side_by_side_of(graph, &node, sum, &pads, &mut code.nodes);
        } else if gone.contains(&index) {
            pads.insert(index, node);
        } else {
            code.nodes.push(node);
        }
    }
}

/// Along which axis a node pads an array, and from which index on it lies there.
fn padding(node: &Node) -> Option<(usize, usize)> {
    match &node.work {
        NodeKind::Kernel(kernel) => kernel.pads(),
        _ => None,
    }
}

/// The sums of at least two padded arrays, of which nobody reads any before it is added.
fn sums(graph: &Graph, code: &Subgraph, zeros: &FxHashSet<ValueId>) -> Vec<Sum> {
    let mut readers: FxHashMap<ValueId, usize> = FxHashMap::default();
    let reads = code.nodes.iter().flat_map(Node::reads).chain(code.results.iter().copied());
    reads.for_each(|value| *readers.entry(value).or_default() += 1);
    let mut open: FxHashMap<ValueId, Sum> = FxHashMap::default();
    for (index, node) in code.nodes.iter().enumerate() {
        if let Some((axis, first)) = padding(node).filter(|_| zeros.contains(&node.operands[1])) {
            let parts = vec![(first, node.shapes[0].dims[axis], index)];
            open.insert(node.results[0], Sum { axis, parts, adds: Vec::new() });
        }
        let NodeKind::Elementwise(op) = &node.work else { continue };
        let &[a, b] = &node.operands[..] else { continue };
        let whole = &graph.value(node.results[0]).shape;
        let alone = |value: &ValueId| readers.get(value) == Some(&1);
        if op.kind != ElementwiseKind::Add
            || !(alone(&a) && alone(&b))
            || node.shapes.iter().any(|shape| shape != whole)
        {
            continue;
        }
        let (Some(left), Some(right)) = (open.get(&a), open.get(&b)) else { continue };
        if left.axis != right.axis || !meet_nowhere(left, right) {
            continue;
        }
        let (Some(mut sum), Some(other)) = (open.remove(&a), open.remove(&b)) else { continue };
        sum.parts.extend(other.parts);
        sum.adds.extend(other.adds);
        sum.adds.push(index);
        open.insert(node.results[0], sum);
    }
    open.into_values().filter(|sum| !sum.adds.is_empty()).collect()
}

fn meet_nowhere(a: &Sum, b: &Sum) -> bool {
    let apart = |&(first, count, _): &(usize, usize, usize)| {
        b.parts.iter().all(|&(other, more, _)| first + count <= other || other + more <= first)
    };
    a.parts.iter().all(apart)
}

/// Writes a sum as arrays beside each other, with zeros between those that leave room.
fn side_by_side_of(
    graph: &mut Graph,
    add: &Node,
    mut sum: Sum,
    pads: &FxHashMap<usize, Node>,
    into: &mut Vec<Node>,
) {
    let NodeKind::Elementwise(op) = add.work else { return };
    let whole = add.shapes[0].clone();
    sum.parts.sort_unstable();
    let node = |like: &Node, work, operands, shapes, result| Node {
        work,
        operands,
        shapes,
        results: vec![result],
        name: Arc::clone(&like.name),
        location: like.location,
        effect: false,
    };
    let (mut values, mut shapes) = (Vec::new(), Vec::new());
    let mut end = 0;
    let past = (whole.dims[sum.axis], 0, usize::MAX);
    for (first, count, index) in sum.parts.into_iter().chain([past]) {
        if first > end {
            let mut shape = whole.clone();
            shape.dims[sum.axis] = first - end;
            let room = graph.add(shape.clone());
            let zero = vec![0; shape.dtype.host_bytes()].into();
            into.push(node(add, NodeKind::Splat(zero), vec![], vec![], room));
            values.push(room);
            shapes.push(shape);
        }
        end = first + count;
        let Some(pad) = pads.get(&index) else { continue };
        // Zeros are added still: they change the sign of a zero.
        let part = graph.add(pad.shapes[0].clone());
        let work = NodeKind::Elementwise(op);
        into.push(node(pad, work, pad.operands.clone(), pad.shapes.clone(), part));
        values.push(part);
        shapes.push(pad.shapes[0].clone());
    }
    let kernel = side_by_side(&shapes, sum.axis, &whole);
    into.push(node(add, NodeKind::Kernel(kernel), values, shapes, add.results[0]));
}

#[cfg(test)]
pub(crate) mod tests {
    use crate::compile::Passes;
    use crate::differential::{graph_under, results};
    use crate::plan::check::planned;
    use tpu_kernels::simd::at_every_level;
    use tpu_ops::Numerics;

    const WITHOUT: Passes = Passes { joined_pads: false, ..Passes::ALL };

    /// A sum of slices' gradients: the first index and the number of columns of each.
    fn program(element: &str, rows: usize, parts: &[(usize, usize)]) -> String {
        let whole = format!("tensor<{rows}x300x{element}>");
        let zero = if element == "f32" { "0.0" } else { "0" };
        let (mut parameters, mut body) = (String::new(), String::new());
        let mut sum = String::new();
        for (index, (first, count)) in parts.iter().enumerate() {
            let part = format!("tensor<{rows}x{count}x{element}>");
            parameters.push_str(&format!("{}%x{index}: {part}", if index > 0 { ", " } else { "" }));
            body.push_str(&format!(
                "%n{index} = stablehlo.negate %x{index} : {part}
                %p{index} = stablehlo.pad %n{index}, %z, low = [0, {first}], high = [0, {}],
                    interior = [0, 0] : ({part}, tensor<{element}>) -> {whole}\n",
                300 - first - count
            ));
            if index == 0 {
                sum = "%p0".to_owned();
            } else {
                body.push_str(&format!("%s{index} = stablehlo.add {sum}, %p{index} : {whole}\n"));
                sum = format!("%s{index}");
            }
        }
        format!(
            "func.func public @main({parameters}) -> {whole} {{
            %z = stablehlo.constant dense<{zero}> : tensor<{element}>
            {body}%r = stablehlo.multiply {sum}, {sum} : {whole}
            %t = stablehlo.add %r, {sum} : {whole}
            return %t : {whole}
            }}"
        )
    }

    /// Parts that cover all, in order and in another one; with room between them; overlapping; at
    /// both ends.
    pub(crate) fn programs() -> [String; 5] {
        [
            program("f32", 40, &[(0, 100), (100, 200)]),
            program("f32", 40, &[(200, 100), (0, 100), (100, 100)]),
            program("i32", 8, &[(20, 30), (250, 50)]),
            program("f32", 3, &[(0, 200), (100, 200)]),
            program("f32", 3, &[(0, 1), (299, 1)]),
        ]
    }

    #[test]
    fn slices_side_by_side_have_the_bits_of_sums() {
        for text in programs() {
            let kept = vec![None; text.matches("interior = ").count()];
            let wanted = results(&text, &kept, WITHOUT);
            at_every_level(|level| {
                assert!(results(&text, &kept, Passes::ALL) == wanted, "{level:?}: {text}");
            });
        }
    }

    #[test]
    fn padded_arrays_are_not_stored_where_they_meet_nowhere() {
        let arena = |text: &str, passes| {
            let mut graph = graph_under(Numerics::Ieee, text, passes);
            let kept = vec![None; graph.main.parameters.len()];
            planned(&mut graph, &kept, passes).arena
        };
        let whole = 40 * 300 * 4;
        let [apart, overlapping] = [0, 3].map(|index| programs()[index].clone());
        let (joined, stored) = (arena(&apart, Passes::ALL), arena(&apart, WITHOUT));
        assert!(joined < stored && joined <= 2 * whole, "{joined} and {stored} bytes");
        assert_eq!(arena(&overlapping, Passes::ALL), arena(&overlapping, WITHOUT));
    }
}
