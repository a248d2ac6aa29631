//! Whether a value is past a bound is asked of what it was clamped to.
//!
//! `max(x, c) > c` is `x > c`, and `min(x, c) < c` is `x < c`, also for what is no number. A rectified
//! layer is kept for the products that read it; then what it was made of need not be kept beside
//! it only to know, in the gradient, where it was rectified.
use crate::graph::{Graph, Node, NodeKind, Subgraph, ValueId};
use rustc_hash::FxHashMap;
use std::sync::Arc;
use tpu_kernels::elementwise::kind::{Direction, ElementwiseKind, Order};

/// Lets comparisons with one number read what was clamped to it before; says whether any does.
pub(crate) fn ask(graph: &mut Graph) -> bool {
    let mut main = std::mem::take(&mut graph.main);
    let changed = block(graph, &mut main, &mut FxHashMap::default());
    graph.main = main;
    changed
}

/// Which side of a bound is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Side {
    Above,
    Below,
}

/// A value, a bound, and the side of it that is kept or asked for.
pub(crate) type Clamped = (ValueId, Arc<[u8]>, Side);

/// The number that a value is everywhere.
pub(crate) type Splats = FxHashMap<ValueId, Arc<[u8]>>;

fn block(graph: &Graph, code: &mut Subgraph, splats: &mut Splats) -> bool {
    let mut changed = false;
    let mut clamped: FxHashMap<Clamped, ValueId> = FxHashMap::default();
    for node in &mut code.nodes {
        for inner in node.work.blocks_mut() {
            changed |= block(graph, inner, splats);
        }
        if let Some(number) = node.only_element(graph) {
            splats.insert(node.results[0], number);
        }
        if let Some((of, bound, side)) = clamp(node, splats) {
            let (result, elements) = (node.results[0], |value| graph.value(value).shape.elements());
            if elements(of) == elements(result) {
                clamped.insert((of, bound, side), result);
            }
        } else if let Some((of, bound, side)) = comparison(node, splats)
            && let Some(&instead) = clamped.get(&(of, bound, side))
        {
            node.operands
                .iter_mut()
                .filter(|value| **value == of)
                .for_each(|value| *value = instead);
            changed = true;
        }
    }
    changed
}

/// The value that a node clamps on one side, and its bound.
pub(crate) fn clamp(node: &Node, splats: &Splats) -> Option<Clamped> {
    let NodeKind::Elementwise(op) = &node.work else { return None };
    let side = match op.kind {
        ElementwiseKind::Maximum => Side::Above,
        ElementwiseKind::Minimum => Side::Below,
        _ => return None,
    };
    let &[one, other] = &node.operands[..] else { return None };
    let bounded = |of, bound| Some((of, Arc::clone(splats.get(bound)?), side));
    bounded(one, &other).or_else(|| bounded(other, &one))
}

/// The value of which a node asks whether it is past a bound.
pub(crate) fn comparison(node: &Node, splats: &Splats) -> Option<Clamped> {
    let NodeKind::Elementwise(op) = &node.work else { return None };
    let ElementwiseKind::Compare(direction, Order::Value) = op.kind else { return None };
    let &[one, other] = &node.operands[..] else { return None };
    let (of, bound, direction) = match (splats.get(&one), splats.get(&other)) {
        (None, Some(bound)) => (one, bound, direction),
        (Some(bound), None) => (other, bound, mirrored(direction)),
        _ => return None,
    };
    let side = match direction {
        Direction::Gt => Side::Above,
        Direction::Lt => Side::Below,
        _ => return None,
    };
    Some((of, Arc::clone(bound), side))
}

/// The direction of a comparison whose operands changed places.
fn mirrored(direction: Direction) -> Direction {
    match direction {
        Direction::Lt => Direction::Gt,
        Direction::Gt => Direction::Lt,
        Direction::Le => Direction::Ge,
        Direction::Ge => Direction::Le,
        same @ (Direction::Eq | Direction::Ne) => same,
    }
}
