//! Views of views.
use crate::graph::{Graph, Node, NodeKind};
use std::cmp::Reverse;
use tpu_base::tensor::Shape;
use tpu_kernels::movement::strided_view::{Access, signed};

/// Strides in an array, of those of a view `to` some extents of what another view `seen` shows of it,
/// by such strides; nothing where it goes over several axes of that as if they were one.
pub(super) fn seen_through(
    (strides, to): (&[isize], &Shape),
    (lies, seen): (&[isize], &Shape),
) -> Option<Vec<isize>> {
    let dense = seen.strides();
    let through = |(&stride, &dim): (&isize, &usize)| {
        let same = |axis: &usize| {
            let of = seen.dims[*axis];
            of != 1 && dim <= of && signed(dense[*axis]) == stride
        };
        if dim <= 1 || stride == 0 {
            return Some(0);
        }
        (0..dense.len()).find(same).map(|axis| lies[axis])
    };
    strides.iter().zip(&to.dims).map(through).collect()
}

/// A view of what `inner` shows, if that is another view, as a view of what that shows.
pub(super) fn composed(graph: &Graph, view: &Node, inner: &Node) -> Option<Node> {
    let (NodeKind::Access(outer), NodeKind::Access(access)) = (&view.work, &inner.work) else {
        return None;
    };
    let shown = &graph.value(inner.results[0]).shape;
    if outer.offset != 0 || access.offset != 0 || shown.elements() != view.shapes[0].elements() {
        return None;
    }
    let to = &graph.value(view.results[0]).shape;
    let strides = seen_through((&outer.strides, to), (&access.strides, shown))?;
    let work = NodeKind::Access(Access { offset: 0, strides });
    let (operands, shapes) = (inner.operands.clone(), inner.shapes.clone());
    Some(Node { work, operands, shapes, ..view.clone() })
}

/// A view that spreads an array of which it shows axes in another order, as one that spreads the array
/// in its own order: so parts of that are parts of what it is spread to.
pub(super) fn in_rows(graph: &mut Graph, view: Node) -> Vec<Node> {
    let to = graph.value(view.results[0]).shape.clone();
    let NodeKind::Access(access) = &view.work else { return vec![view] };
    let lies = |axis: &usize| access.strides[*axis] != 0 && to.dims[*axis] != 1;
    let axes: Vec<usize> = (0..to.rank()).filter(lies).collect();
    let strides: Vec<isize> = axes.iter().map(|&axis| access.strides[axis]).collect();
    let small = Shape::new(to.dtype, axes.iter().map(|&axis| to.dims[axis]).collect::<Vec<_>>());
    if strides.is_sorted_by_key(|&stride| Reverse(stride)) || small.elements() == to.elements() {
        return vec![view];
    }
    let value = graph.add(small.clone());
    let mut spread = vec![0; to.rank()];
    axes.iter().zip(small.strides()).for_each(|(&axis, stride)| spread[axis] = signed(stride));
    let turned = NodeKind::Access(Access { offset: access.offset, strides });
    let turned = Node { work: turned, results: vec![value], ..view.clone() };
    let work = NodeKind::Access(Access { offset: 0, strides: spread });
    vec![turned, Node { work, operands: vec![value], shapes: vec![small], ..view }]
}
