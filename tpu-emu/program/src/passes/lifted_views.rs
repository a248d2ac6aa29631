//! A product's result in another order, by way of operations on elements, is in that order at once.
//!
//! `transpose(relu(dot(a, b)))` is `relu(transpose(dot(a, b)))`, and what a product makes it may
//! make in the order that is wanted ([`Absorbed::Ordered`], [`Absorbed::Turned`]). So a view of all
//! elements goes before the operations that lead to it from a product, if each of them has one
//! reader, and one operand that is an array in memory; what else they read is one element, or made
//! where it is read. Reductions of rows have them in the other order likewise, and a view behind
//! operations on what another view turns the other way goes with that.
use super::parted::ReadersAndMakers;
use crate::graph::{Graph, Node, NodeKind, Subgraph, ValueId};
use crate::tuning::MIN_ABSORBED_BYTES;
use std::sync::Arc;
use tpu_base::tensor::{DType, Shape};
use tpu_kernels::movement::strided_view::{Access, AccessMap, signed};
use tpu_ops::{Absorbed, Kernel};

/// Puts views of so many bytes next to the products whose results they show; whether there are some.
pub(crate) fn lift(graph: &mut Graph, least: usize) -> bool {
    let mut found = false;
    graph.each_block(&mut |graph, code| {
        // What is small, as the greatest of each row, may follow what is large.
        let follows = [least.min(MIN_ABSORBED_BYTES); ROUNDS];
        let rounds = std::iter::once(least).chain(follows);
        found |= rounds.take_while(|&least| lift_once(graph, code, least)).count() > 0;
    });
    found
}

/// How often what a view was put before is looked at again, as it may be in another view's way.
const ROUNDS: usize = 2;

/// Lifts views of a block that are not in each other's way; whether there are some.
fn lift_once(graph: &mut Graph, code: &mut Subgraph, least: usize) -> bool {
    let large = |&at: &usize| {
        let node: &Node = &code.nodes[at];
        matches!(node.work, NodeKind::Access(_))
            && node.results.iter().all(|&value| graph.bytes(value) >= least)
    };
    let views: Vec<usize> = (0..code.nodes.len()).filter(large).collect();
    if views.is_empty() || !code.nodes.iter().any(|node| node.work.is_product()) {
        return false;
    }
    let uses = ReadersAndMakers::of(code);
    let mut touched = vec![false; code.nodes.len()];
    let mut gone = vec![false; code.nodes.len()];
    // With the node that each comes before.
    let mut lifted: Vec<(usize, Node)> = Vec::new();
    for view in views {
        if let Some(chain) = ViewedChain::of(graph, code, &uses, view)
            && chain.nodes().all(|at| !touched[at])
        {
            chain.nodes().for_each(|at| touched[at] = true);
            gone[view] = true;
            chain.write(graph, (code, &uses), &mut lifted);
        }
    }
    lifted.sort_by_key(|of| of.0);
    let mut lifted = lifted.into_iter().peekable();
    let nodes = std::mem::take(&mut code.nodes);
    for (at, node) in nodes.into_iter().enumerate() {
        while let Some((_, view)) = lifted.next_if(|of| of.0 == at) {
            code.nodes.push(view);
        }
        if !gone[at] {
            code.nodes.push(node);
        }
    }
    code.nodes.extend(lifted.map(|of| of.1));
    gone.contains(&true)
}

/// The kernel that makes a product's result in an order, and whether its operands change places.
pub(super) fn in_order(
    product: &dyn Kernel,
    wanted: &AccessMap,
) -> Option<(Arc<dyn Kernel>, bool)> {
    let ordered = product.absorbing(&Absorbed::Ordered(wanted)).map(|kernel| (kernel, false));
    ordered.or_else(|| turned(product, wanted))
}

/// The kernel that does so with its operands the other way round.
pub(super) fn turned(product: &dyn Kernel, wanted: &AccessMap) -> Option<(Arc<dyn Kernel>, bool)> {
    product.absorbing(&Absorbed::Turned(wanted)).map(|kernel| (kernel, true))
}

/// Where an array in another order comes from.
enum LiftedFrom {
    /// This node, if its kernel is that one, and its operands change places if that is so.
    Product(usize, Arc<dyn Kernel>, bool),
    /// It is what this node shows in another order.
    Value(usize, ValueId),
}

impl LiftedFrom {
    /// What a node makes from one extents to others in the order of a view, of which each axis of
    /// what it shows is at some place.
    fn of(
        (at, node): (usize, &Node),
        (access, places): (&Access, &[usize]),
        [from, to]: [&Shape; 2],
    ) -> Option<Self> {
        match &node.work {
            NodeKind::Kernel(kernel) if node.work.is_product() => {
                let (kernel, turns) = in_order(&**kernel, &AccessMap::new(access, &to.dims))?;
                Some(Self::Product(at, kernel, turns))
            }
            NodeKind::Access(other) => {
                let turned = permutation(other, &node.shapes[0], from)?;
                let mut axes = turned.iter().enumerate();
                axes.all(|(axis, &place)| places[place] == axis)
                    .then(|| Self::Value(at, node.operands[0]))
            }
            _ => None,
        }
    }
}

/// A view of what operations on elements make of a product, or of another view.
struct ViewedChain {
    /// What is in the order of the view.
    source: LiftedFrom,
    /// The node of the view.
    view: usize,
    /// The operations, the last one first, and their operand that comes of the product.
    steps: Vec<(usize, usize)>,
    /// The axis of the view that each axis of what it shows is.
    places: Vec<usize>,
    /// Reductions of rows of what it shows, which may as well have those of the view.
    rows: Vec<usize>,
}

impl ViewedChain {
    /// The nodes that it is about.
    fn nodes(&self) -> impl Iterator<Item = usize> {
        let source = match self.source {
            LiftedFrom::Product(at, ..) | LiftedFrom::Value(at, _) => at,
        };
        let steps = self.steps.iter().map(|&(at, _)| at);
        steps.chain(self.rows.iter().copied()).chain([self.view, source])
    }

    fn of(graph: &Graph, code: &Subgraph, uses: &ReadersAndMakers, view: usize) -> Option<Self> {
        let node = &code.nodes[view];
        let (NodeKind::Access(access), &[mut seen], [from], &[shown]) =
            (&node.work, &node.operands[..], &node.shapes[..], &node.results[..])
        else {
            return None;
        };
        let to = &graph.value(shown).shape;
        let places = permutation(access, from, to)?;
        let rows = uses.other_readers(code, seen, view)?;
        let keeps = places.last() == to.rank().checked_sub(1).as_ref();
        if !rows.iter().all(|&at| keeps && reduces_rows(&code.nodes[at], from, seen)) {
            return None;
        }
        let mut steps = Vec::new();
        loop {
            let once = steps.is_empty() || uses.is_read_once(code, seen);
            let maker = uses.maker(seen).filter(|_| once)?;
            let of = &code.nodes[maker];
            if !steps.is_empty()
                && let Some(source) = LiftedFrom::of((maker, of), (access, &places), [from, to])
            {
                return Some(Self { source, view, steps, places, rows });
            }
            let is_whole = |of: &&Shape| of.elements() != 1;
            if !matches!(of.work, NodeKind::Elementwise(_))
                || of.shapes.iter().filter(is_whole).any(|of| of.dims != from.dims)
            {
                return None;
            }
            let operand = only_array(code, uses, of)?;
            steps.push((maker, operand));
            seen = of.operands[operand];
        }
    }

    /// Puts the view before the operations.
    fn write(
        self,
        graph: &mut Graph,
        (code, uses): (&mut Subgraph, &ReadersAndMakers),
        lifted: &mut Vec<(usize, Node)>,
    ) {
        let shown = code.nodes[self.view].results[0];
        let dims = graph.value(shown).shape.dims.clone();
        let first = self.steps.last().map(|&(at, operand)| code.nodes[at].operands[operand]);
        let mut before = match self.source {
            LiftedFrom::Value(_, value) => value,
            LiftedFrom::Product(at, kernel, turns) => {
                let dtype = first.map_or(DType::F32, |first| graph.value(first).shape.dtype);
                let value = graph.add(Shape::new(dtype, dims.clone()));
                let node = &mut code.nodes[at];
                (node.work, node.results) = (NodeKind::Kernel(kernel), vec![value]);
                if turns {
                    node.operands.reverse();
                    node.shapes.reverse();
                }
                value
            }
        };
        for &(at, operand) in self.steps.iter().rev() {
            let mut node = code.nodes[at].clone();
            for index in 0..node.operands.len() {
                let shape = node.shapes[index].clone();
                if shape.elements() == 1 {
                    continue;
                }
                let turned = Shape::new(shape.dtype, dims.clone());
                let access = Access::spread(&shape, &turned, &self.places);
                node.shapes[index] = turned.clone();
                if index == operand {
                    node.operands[index] = before;
                    continue;
                }
                let value = graph.add(turned);
                let seen = std::mem::replace(&mut node.operands[index], value);
                // One element is that in any order.
                let one = uses.maker(seen).map(|at| &code.nodes[at]);
                let one = one.filter(|of| of.shapes.iter().all(|of| of.elements() == 1));
                let (work, operands, shapes) = match one {
                    Some(of) if matches!(of.work, NodeKind::Access(_)) => {
                        let access = Access { offset: 0, strides: vec![0; dims.len()] };
                        (access, of.operands.clone(), of.shapes.clone())
                    }
                    _ => (access, vec![seen], vec![shape]),
                };
                let (name, location) = (node.name.clone(), node.location);
                let (work, results) = (NodeKind::Access(work), vec![value]);
                lifted.push((
                    at,
                    Node { work, operands, shapes, results, name, location, effect: false },
                ));
            }
            let made = graph.value(node.results[0]).shape.dtype;
            let last = self.steps.first().is_some_and(|first| first.0 == at);
            let value = if last { shown } else { graph.add(Shape::new(made, dims.clone())) };
            node.results = vec![value];
            before = value;
            code.nodes[at] = node;
        }
        for &at in &self.rows {
            let view = rows_turned(graph, &mut code.nodes[at], (shown, &self.places));
            lifted.push((at + 1, view));
        }
    }
}

/// Lets a reduction have the rows of a view, of which each axis of what it shows is one; gives the
/// view of what it makes.
pub(super) fn rows_turned(
    graph: &mut Graph,
    node: &mut Node,
    (shown, places): (ValueId, &[usize]),
) -> Node {
    let rows = places.len().saturating_sub(1);
    node.operands[0] = shown;
    node.shapes[0] = graph.value(shown).shape.clone();
    let made = node.results[0];
    let dtype = graph.value(made).shape.dtype;
    let turned = Shape::new(dtype, &node.shapes[0].dims[..rows]);
    let strides = turned.strides();
    let strides = places[..rows].iter().map(|&place| signed(strides[place])).collect();
    let value = graph.add(turned.clone());
    node.results = vec![value];
    Node {
        work: NodeKind::Access(Access { offset: 0, strides }),
        operands: vec![value],
        shapes: vec![turned],
        results: vec![made],
        ..node.clone()
    }
}

/// Whether a node reduces the rows of a value.
pub(super) fn reduces_rows(node: &Node, of: &Shape, value: ValueId) -> bool {
    let NodeKind::Kernel(kernel) = &node.work else { return false };
    let reduced = kernel.reduction();
    reduced.is_some_and(|reduced| reduced.dims[2] == 1 && of.dims.last() == Some(&reduced.dims[1]))
        && node.operands.iter().position(|&operand| operand == value) == Some(0)
        && node.operands[1..].iter().all(|&operand| operand != value)
}

/// The axis of a view that each axis of an array is, if it shows all elements of it, with its axes
/// in another order.
pub(super) fn permutation(access: &Access, from: &Shape, to: &Shape) -> Option<Vec<usize>> {
    if access.offset != 0 || from.rank() != to.rank() || from.elements() != to.elements() {
        return None;
    }
    let mut free: Vec<usize> = (0..to.rank()).collect();
    let axes = from.strides().into_iter().zip(&from.dims);
    let place = |(stride, &dim): (usize, &usize)| {
        let same = |&axis: &usize| {
            to.dims[axis] == dim && (dim == 1 || access.strides[axis] == signed(stride))
        };
        let at = free.iter().position(same)?;
        Some(free.remove(at))
    };
    axes.map(place).collect()
}

/// The only operand of a node that is an array in memory, or else the only one that has all elements
/// of an array in another order.
fn only_array(code: &Subgraph, uses: &ReadersAndMakers, node: &Node) -> Option<usize> {
    let maker = |index: usize| uses.maker(node.operands[index]).map(|at| &code.nodes[at]);
    let is_array = |&index: &usize| {
        let made = maker(index).is_some_and(|of| {
            matches!(of.work, NodeKind::Access(_) | NodeKind::Iota(_) | NodeKind::Splat(_))
        });
        node.shapes[index].elements() != 1 && !made
    };
    let is_turned = |&index: &usize| {
        let of = maker(index);
        of.is_some_and(|of| match (&of.work, &of.shapes[..]) {
            (NodeKind::Access(access), [from]) => {
                permutation(access, from, &node.shapes[index]).is_some()
            }
            _ => false,
        })
    };
    let all = 0..node.operands.len();
    let arrays: Vec<usize> = all.clone().filter(is_array).collect();
    match arrays[..] {
        [only] => Some(only),
        [] => all.clone().find(is_turned).filter(|_| all.filter(is_turned).count() == 1),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use crate::compile::Passes;
    use crate::differential::{plan_under, results_under};
    use tpu_kernels::simd::at_every_level;
    use tpu_ops::Numerics;

    const ALL: Passes = Passes { lifted_from: 1 << 14, ..Passes::ALL };
    const WITHOUT: Passes = Passes { absorbed_work: false, ..Passes::ALL };

    /// Programs whose products are read in another order behind operations on elements.
    fn programs() -> Vec<String> {
        let layer = "func.func public @main(%x: tensor<160x192xf32>, %w: tensor<192x224xf32>, \
                       %b: tensor<224xf32>) -> tensor<224x160xf32> {
               %z = stablehlo.constant dense<0.0> : tensor<f32>
               %y = stablehlo.broadcast_in_dim %z, dims = [] : (tensor<f32>) -> tensor<160x224xf32>
               %p = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : \
                 (tensor<160x192xf32>, tensor<192x224xf32>) -> tensor<160x224xf32>
               %c = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<224xf32>) -> tensor<160x224xf32>
               %s = stablehlo.add %c, %p : tensor<160x224xf32>
               %m = stablehlo.maximum %s, %y : tensor<160x224xf32>
               %r = stablehlo.transpose %m, dims = [1, 0] : (tensor<160x224xf32>) -> tensor<224x160xf32>
               return %r : tensor<224x160xf32>
             }";
        // Queries of which several share the keys of a head, as `jax.nn` has them.
        let (heads, shared) = ("tensor<2x3x80x2x96xf32>", "tensor<2x2x3x80x96xf32>");
        let scores = format!(
            "func.func public @main(%q: tensor<2x80x3x2x72xf32>, %k: tensor<2x96x3x72xf32>) -> {shared} {{
               %h = stablehlo.constant dense<0.125> : tensor<f32>
               %p = stablehlo.dot_general %q, %k, batching_dims = [0, 2] x [0, 2], \
                 contracting_dims = [4] x [3] : (tensor<2x80x3x2x72xf32>, tensor<2x96x3x72xf32>) -> {heads}
               %c = stablehlo.broadcast_in_dim %h, dims = [] : (tensor<f32>) -> {heads}
               %s = stablehlo.multiply %p, %c : {heads}
               %r = stablehlo.transpose %s, dims = [3, 0, 1, 2, 4] : ({heads}) -> {shared}
               return %r : {shared}
             }}"
        );
        // The greatest of each row is taken before the rows are in another order.
        let (row, turned) = ("tensor<2x3x80x2xf32>", "tensor<2x2x3x80xf32>");
        let greatest = scores.replace(
            &format!("%r = stablehlo.transpose %s, dims = [3, 0, 1, 2, 4] : ({heads}) -> {shared}"),
            &format!(
                "%z = stablehlo.constant dense<0xFF800000> : tensor<f32>
               %m = stablehlo.reduce(%s init: %z) applies stablehlo.maximum across dimensions = [4] : \
                 ({heads}, tensor<f32>) -> {row}
               %n = stablehlo.transpose %m, dims = [3, 0, 1, 2] : ({row}) -> {turned}
               %o = stablehlo.broadcast_in_dim %n, dims = [0, 1, 2, 3] : ({turned}) -> {shared}
               %t = stablehlo.transpose %s, dims = [3, 0, 1, 2, 4] : ({heads}) -> {shared}
               %r = stablehlo.subtract %t, %o : {shared}"
            ),
        );
        assert_ne!(greatest, scores);
        vec![layer.into(), scores, greatest]
    }

    #[test]
    fn products_are_made_in_the_order_in_which_they_are_read_with_the_same_bits() {
        for text in programs() {
            // Nothing, or the greatest of each row.
            let arena = plan_under(&text, ALL).arena;
            assert!(arena <= 2 * 2 * 2 * 3 * 80 * 4, "{arena}: {text}");
            for numerics in [Numerics::Tpu, Numerics::Ieee] {
                let kept = [None; 3];
                let wanted = results_under(numerics, &text, &kept, WITHOUT);
                at_every_level(|level| {
                    let found = results_under(numerics, &text, &kept, ALL);
                    assert!(found == wanted, "{level:?}, {numerics:?}: {text}");
                });
            }
        }
    }
}
