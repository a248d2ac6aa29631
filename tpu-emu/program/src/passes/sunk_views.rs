//! Views that others undo later are not made: what lies between has the order before the first.
//!
//! Gradients of attention whose queries share keys put scores in another order for what is done
//! element by element, and the gradient of the scores back into the order of the product. Of
//! operations on elements of several arrays none can wait for a view of one of them
//! (`passes/lifted_views`), but all may have the order of what the view shows: other arrays that
//! they read are seen through views, products that read them absorb one, and reductions of rows have
//! these in the other order.
use super::composed_views::{composed, in_rows, seen_through};
use super::lifted_views::{permutation, reduces_rows, rows_turned};
use super::parted::ReadersAndMakers;
use crate::graph::{Graph, Node, NodeKind, Subgraph, ValueId};
use crate::tuning::MAX_SUNK_NODES;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeSet;
use std::sync::Arc;
use tpu_base::tensor::Shape;
use tpu_kernels::movement::strided_view::Access;
use tpu_ops::{Absorbed, Kernel};

/// Leaves out views of so many bytes that others undo; whether there are some.
pub(crate) fn sink(graph: &mut Graph, least: usize) -> bool {
    let mut found = false;
    graph.each_block(&mut |graph, code| {
        let views = code.nodes.iter().filter(|node| turned(graph, node, least).is_some()).count();
        // Each time there are fewer.
        found |= (1..views).take_while(|_| sink_one(graph, code, least)).count() > 0;
    });
    found
}

fn sink_one(graph: &mut Graph, code: &mut Subgraph, least: usize) -> bool {
    let turns = |&at: &usize| turned(graph, &code.nodes[at], least).is_some();
    let views: Vec<usize> = (0..code.nodes.len()).filter(turns).collect();
    let uses = ReadersAndMakers::of(code);
    let found = views.into_iter().find_map(|view| SunkView::of(graph, code, &uses, view, least));
    found.map(|found| found.write(graph, code)).is_some()
}

/// The axis of a large view that each axis of what it shows in another order is.
fn turned(graph: &Graph, node: &Node, least: usize) -> Option<Vec<usize>> {
    let (NodeKind::Access(access), [from], &[shown]) =
        (&node.work, &node.shapes[..], &node.results[..])
    else {
        return None;
    };
    let to = &graph.value(shown).shape;
    let places = permutation(access, from, to).filter(|_| to.bytes() >= least)?;
    (!places.is_sorted() && places.last() == to.rank().checked_sub(1).as_ref()).then_some(places)
}

/// A view, and the operations that are to have the order of what it shows.
struct SunkView {
    view: usize,
    /// The axis of the view that each axis of what it shows is, and the other way round.
    places: Vec<usize>,
    axes: Vec<usize>,
    /// What it shows, and the view, as extents.
    before: Shape,
    after: Shape,
    /// The values that get another order.
    members: FxHashSet<ValueId>,
    /// The operations on elements that make them.
    inner: BTreeSet<usize>,
    /// Views of members in the order before, other views of members, and reductions of rows.
    undone: BTreeSet<usize>,
    exits: BTreeSet<usize>,
    rows: BTreeSet<usize>,
    /// Products that read members, with the kernels that read these in the other order.
    products: FxHashMap<usize, Arc<dyn Kernel>>,
}

impl SunkView {
    /// What the order of a view goes with, if another view undoes it there.
    fn of(
        graph: &Graph,
        code: &Subgraph,
        uses: &ReadersAndMakers,
        view: usize,
        least: usize,
    ) -> Option<Self> {
        let node = &code.nodes[view];
        let places = turned(graph, node, least)?;
        if graph.value(node.operands[0]).shape.dims != node.shapes[0].dims {
            return None;
        }
        let mut axes = vec![0; places.len()];
        places.iter().enumerate().for_each(|(axis, &place)| axes[place] = axis);
        let mut sunk = Self {
            view,
            places,
            axes,
            before: node.shapes[0].clone(),
            after: graph.value(node.results[0]).shape.clone(),
            members: FxHashSet::default(),
            inner: BTreeSet::new(),
            exits: BTreeSet::new(),
            undone: BTreeSet::new(),
            rows: BTreeSet::new(),
            products: FxHashMap::default(),
        };
        let mut open = vec![node.results[0]];
        while let Some(value) = open.pop() {
            if !sunk.members.insert(value) {
                continue;
            }
            if code.results.contains(&value) || sunk.members.len() > MAX_SUNK_NODES {
                return None;
            }
            let maker = uses.maker(value).filter(|&at| at != view);
            for at in uses.readers(value).iter().copied().chain(maker) {
                open.extend(sunk.join(graph, (code, uses), value, at)?);
            }
        }
        let is_plain = |reader: &usize| code.nodes[*reader].work.blocks().next().is_none();
        let plain = sunk.undone.iter().all(|&at| {
            let shown = code.nodes[at].results[0];
            !code.results.contains(&shown) && uses.readers(shown).iter().all(is_plain)
        });
        (plain && sunk.undone.len() > sunk.others(code, uses)).then_some(sunk)
    }

    /// Takes a node in that makes or reads a member; gives the values that are members with it.
    fn join(
        &mut self,
        graph: &Graph,
        (code, uses): (&Subgraph, &ReadersAndMakers),
        value: ValueId,
        at: usize,
    ) -> Option<Vec<ValueId>> {
        let node = &code.nodes[at];
        let fits = |value: ValueId, seen: &Shape| {
            seen.dims == self.after.dims && graph.value(value).shape.dims == self.after.dims
        };
        let mut reads = node.operands.iter().zip(&node.shapes);
        match &node.work {
            NodeKind::Elementwise(_) => {
                let &[made] = &node.results[..] else { return None };
                let whole =
                    || node.operands.iter().zip(&node.shapes).filter(|of| of.1.elements() != 1);
                let result = &graph.value(made).shape;
                if !fits(made, result) || !whole().all(|(&value, seen)| fits(value, seen)) {
                    return None;
                }
                if !self.inner.insert(at) {
                    return Some(Vec::new());
                }
                let is_inner = |value: &ValueId| {
                    let of = uses.maker(*value).map(|at| &code.nodes[at].work);
                    matches!(of, Some(NodeKind::Elementwise(_)))
                };
                let more = whole().map(|(&value, _)| value).filter(is_inner);
                Some(more.chain([made]).collect())
            }
            NodeKind::Access(access) => {
                let to = &graph.value(node.results[0]).shape;
                let fits = reads.all(|(&of, seen)| fits(of, seen)) && access.offset == 0;
                self.moved(&access.strides, to).filter(|_| fits)?;
                let exits =
                    if self.undoes(access, to) { &mut self.undone } else { &mut self.exits };
                exits.insert(at);
                Some(Vec::new())
            }
            NodeKind::Kernel(_) if reduces_rows(node, &self.after, value) => {
                reads.next().filter(|(of, seen)| fits(**of, seen))?;
                self.rows.insert(at);
                Some(Vec::new())
            }
            NodeKind::Kernel(kernel) if node.work.is_product() => {
                let strides = self.shown().strides;
                let kernel = self.products.get(&at).unwrap_or(kernel);
                let mut kernel = Arc::clone(kernel);
                for (operand, (&of, seen)) in reads.enumerate().filter(|(_, of)| *of.0 == value) {
                    kernel = kernel.absorbing(&Absorbed::View(operand, &strides))?;
                    fits(of, seen).then_some(())?;
                }
                self.products.insert(at, kernel);
                Some(Vec::new())
            }
            _ => None,
        }
    }

    /// How the order of the view shows an array of the order before.
    fn shown(&self) -> Access {
        Access::spread(&self.before, &self.after, &self.places)
    }

    /// Whether a view of a member shows it in the order before.
    fn undoes(&self, access: &Access, to: &Shape) -> bool {
        let back = permutation(access, &self.after, to);
        to.dims == self.before.dims && back.is_some_and(|back| back == self.axes)
    }

    /// How many large arrays have the order of the view and are read by the operations, beside it.
    fn others(&self, code: &Subgraph, uses: &ReadersAndMakers) -> usize {
        let mut others = FxHashSet::default();
        for node in self.inner.iter().map(|&at| &code.nodes[at]) {
            for (value, seen) in node.operands.iter().zip(&node.shapes) {
                let made = uses.maker(*value).map(|at| &code.nodes[at].work);
                let free = matches!(
                    made,
                    Some(NodeKind::Access(_) | NodeKind::Iota(_) | NodeKind::Splat(_))
                );
                if seen.elements() != 1 && !self.members.contains(value) && !free {
                    others.insert(*value);
                }
            }
        }
        others.len()
    }

    /// The strides of a view along the axes of what is shown, of those along the axes of the view.
    fn in_order(&self, strides: &[isize]) -> Vec<isize> {
        self.places.iter().map(|&place| strides[place]).collect()
    }

    /// Strides in a member of the order before, of those of a view in one of the order of the view.
    fn moved(&self, strides: &[isize], to: &Shape) -> Option<Vec<isize>> {
        seen_through((strides, to), (&self.shown().strides, &self.after))
    }

    /// Lets the operations have the other order.
    fn write(self, graph: &mut Graph, code: &mut Subgraph) {
        let seed = &code.nodes[self.view];
        let (mut renamed, mut entries) = (FxHashMap::default(), FxHashMap::default());
        renamed.insert(seed.results[0], seed.operands[0]);
        let shape = |of: &Shape| Shape::new(of.dtype, self.before.dims.clone());
        let nodes = std::mem::take(&mut code.nodes);
        let makers: FxHashMap<ValueId, Node> = (nodes.iter())
            .filter(|node| matches!(node.work, NodeKind::Access(_) | NodeKind::Iota(_)))
            .flat_map(|node| node.results.iter().map(|&value| (value, node.clone())))
            .collect();
        for (at, mut node) in nodes.into_iter().enumerate() {
            if at == self.view {
                continue;
            }
            if self.inner.contains(&at) {
                for index in 0..node.operands.len() {
                    let (value, seen) = (node.operands[index], node.shapes[index].clone());
                    if seen.elements() == 1 {
                        continue;
                    }
                    node.shapes[index] = shape(&seen);
                    if self.members.contains(&value) {
                        continue;
                    }
                    node.operands[index] = *entries.entry(value).or_insert_with(|| {
                        let to = graph.add(shape(&seen));
                        let mut entry = self.entry(&node, makers.get(&value), (value, &seen), to);
                        while let Some(composed) = (entry.operands.first())
                            .and_then(|value| composed(graph, &entry, makers.get(value)?))
                        {
                            entry = composed;
                        }
                        code.nodes.extend(in_rows(graph, entry));
                        to
                    });
                }
                let made = node.results[0];
                let to = graph.add(shape(&graph.value(made).shape));
                renamed.insert(made, to);
                node.results = vec![to];
            }
            if self.undone.contains(&at) {
                let from = node.operands[0];
                let from = renamed.get(&from).copied().unwrap_or(from);
                renamed.insert(node.results[0], from);
                continue;
            }
            let mut view = None;
            if self.exits.contains(&at)
                && let NodeKind::Access(access) = &mut node.work
                && let Some(strides) =
                    self.moved(&access.strides, &graph.value(node.results[0]).shape)
            {
                access.strides = strides;
                node.shapes[0] = shape(&node.shapes[0]);
            }
            if self.rows.contains(&at) {
                let value = node.operands[0];
                let to = renamed.get(&value).copied().unwrap_or(value);
                view = Some(rows_turned(graph, &mut node, (to, &self.axes)));
            }
            if let Some(kernel) = self.products.get(&at) {
                node.work = NodeKind::Kernel(Arc::clone(kernel));
                for (operand, seen) in node.operands.iter().zip(&mut node.shapes) {
                    if self.members.contains(operand) {
                        *seen = Shape::new(seen.dtype, self.before.dims.clone());
                    }
                }
            }
            for operand in &mut node.operands {
                *operand = renamed.get(operand).copied().unwrap_or(*operand);
            }
            code.nodes.push(node);
            code.nodes.extend(view);
        }
    }

    /// What gives an operand of the operations in the order before.
    fn entry(
        &self,
        reader: &Node,
        maker: Option<&Node>,
        (value, seen): (ValueId, &Shape),
        to: ValueId,
    ) -> Node {
        let results = vec![to];
        match maker.map(|of| (of, &of.work)) {
            Some((of, NodeKind::Access(access))) => {
                let strides = self.in_order(&access.strides);
                let work = NodeKind::Access(Access { offset: access.offset, strides });
                Node { work, results, ..of.clone() }
            }
            Some((of, &NodeKind::Iota(axis))) => {
                Node { work: NodeKind::Iota(self.axes[axis]), results, ..of.clone() }
            }
            _ => {
                let work = NodeKind::Access(Access::spread(seen, &self.before, &self.axes));
                let (operands, shapes) = (vec![value], vec![seen.clone()]);
                Node { work, operands, shapes, results, ..reader.clone() }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::compile::Passes;
    use crate::differential::{graph_of, plan_under, results_under};
    use crate::graph::NodeKind;
    use crate::passes::dead_code;
    use crate::plan::PlannedStep;
    use tpu_kernels::simd::at_every_level;
    use tpu_ops::Numerics;

    const SUNK: Passes = Passes { lifted_from: 1 << 14, ..Passes::ALL };
    const WITHOUT: Passes = Passes { absorbed_work: false, ..Passes::ALL };
    /// With probabilities that are made part by part out of what others read too.
    const PARTED: Passes = Passes { parted_from: 1 << 15, ..SUNK };

    /// The gradient of attention whose queries share keys: scores `%s`, seen in another order as
    /// `%t`, and the gradient `%e`, which is seen in the order of the scores again as `%u`.
    fn program(more: &str, results: &str, types: &str) -> String {
        let (q, k, o) =
            ("tensor<2x40x3x4x16xf32>", "tensor<2x48x3x16xf32>", "tensor<2x3x16x4x40xf32>");
        let (scores, seen, rows) =
            ("tensor<2x3x40x4x48xf32>", "tensor<4x2x3x40x48xf32>", "tensor<4x2x3x40xf32>");
        let other = "tensor<2x3x4x40x48xf32>";
        let reduced = format!("across dimensions = [4] : ({seen}, tensor<f32>) -> {rows}");
        format!(
            "func.func public @main(%q: {q}, %k: {k}, %o: {o}) -> ({types}) {{
               %z = stablehlo.constant dense<0.0> : tensor<f32>
               %l = stablehlo.constant dense<0xFF800000> : tensor<f32>
               %s = stablehlo.dot_general %q, %k, batching_dims = [0, 2] x [0, 2], \
                 contracting_dims = [4] x [3] : ({q}, {k}) -> {scores}
               %t = stablehlo.transpose %s, dims = [3, 0, 1, 2, 4] : ({scores}) -> {seen}
               %m = stablehlo.reduce(%t init: %l) applies stablehlo.maximum {reduced}
               %b = stablehlo.broadcast_in_dim %m, dims = [0, 1, 2, 3] : ({rows}) -> {seen}
               %d = stablehlo.subtract %t, %b : {seen}
               %i = stablehlo.iota dim = 3 : {seen}
               %j = stablehlo.add %d, %i : {seen}
               %x = stablehlo.exponential %d : {seen}
               %n = stablehlo.reduce(%x init: %z) applies stablehlo.add {reduced}
               %c = stablehlo.broadcast_in_dim %n, dims = [0, 1, 2, 3] : ({rows}) -> {seen}
               %p = stablehlo.divide %x, %c : {seen}
               %g = stablehlo.dot_general %o, %k, batching_dims = [0, 1] x [0, 2], \
                 contracting_dims = [2] x [3] : ({o}, {k}) -> {other}
               %h = stablehlo.transpose %g, dims = [2, 0, 1, 3, 4] : ({other}) -> {seen}
               %w = stablehlo.multiply %h, %x : {seen}
               %e = stablehlo.add %w, %j : {seen}
               %u = stablehlo.transpose %e, dims = [1, 2, 3, 0, 4] : ({seen}) -> {scores}
               %y = stablehlo.dot_general %u, %k, batching_dims = [0, 1] x [0, 2], \
                 contracting_dims = [4] x [1] : ({scores}, {k}) -> tensor<2x3x40x4x16xf32>
               %v = stablehlo.dot_general %o, %p, batching_dims = [0, 1] x [1, 2], \
                 contracting_dims = [3, 4] x [0, 3] : ({o}, {seen}) -> tensor<2x3x16x48xf32>
               {more}
               return {results} : {types}
             }}"
        )
    }

    const TYPES: &str = "tensor<2x3x40x4x16xf32>, tensor<2x3x16x48xf32>";

    #[test]
    fn operations_between_two_views_have_the_order_before_the_first() {
        let mut graph = graph_of(&program("", "%y, %v", TYPES), Passes::ALL);
        assert!(super::sink(&mut graph, 1 << 14));
        dead_code::eliminate(&mut graph);
        let large = |of: &[usize]| of.iter().product::<usize>() == 2 * 3 * 40 * 4 * 48;
        let mut views = 0;
        for node in &graph.main.nodes {
            let dims = &graph.value(node.results[0]).shape.dims;
            if matches!(node.work, NodeKind::Elementwise(_)) && large(dims) {
                assert_eq!(dims[..], [2, 3, 40, 4, 48]);
            }
            views += usize::from(super::turned(&graph, node, 1 << 14).is_some());
        }
        // Of the other product.
        assert_eq!(views, 1);
        assert!(!super::sink(&mut graph, 1 << 14));
    }

    #[test]
    fn what_others_need_in_the_other_order_stays() {
        let seen = "tensor<4x2x3x40x48xf32>";
        let mut graph = graph_of(
            &program("", "%y, %x", &format!("tensor<2x3x40x4x16xf32>, {seen}")),
            Passes::ALL,
        );
        assert!(!super::sink(&mut graph, 1 << 14));
        let mut graph = graph_of(&program("", "%y, %v", TYPES), Passes::ALL);
        assert!(!super::sink(&mut graph, 1 << 20), "small arrays stay as they are");
    }

    #[test]
    fn results_have_the_same_bits() {
        let rows = "%r = stablehlo.slice %x [1:3, 0:2, 1:2, 3:30, 0:48:2] : \
            (tensor<4x2x3x40x48xf32>) -> tensor<2x2x1x27x24xf32>";
        let more = format!("{TYPES}, tensor<2x2x1x27x24xf32>");
        for text in [program("", "%y, %v", TYPES), program(rows, "%y, %v, %r", &more)] {
            for numerics in [Numerics::Tpu, Numerics::Ieee] {
                at_every_level(|level| {
                    let wanted = results_under(numerics, &text, &[None; 3], WITHOUT);
                    for passes in [SUNK, PARTED] {
                        let found = results_under(numerics, &text, &[None; 3], passes);
                        assert!(found == wanted, "{level:?}, {numerics:?}: {text}");
                    }
                });
            }
        }
        let text = program("", "%y, %v", TYPES);
        let arena = |passes| plan_under(&text, passes).arena;
        assert!(arena(SUNK) < arena(Passes::ALL));
        let parts = plan_under(&text, PARTED).steps;
        assert!(parts.iter().any(|step| matches!(step.kind, PlannedStep::Each(_))));
    }
}
