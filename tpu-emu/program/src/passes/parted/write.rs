//! Nodes over parts of arrays, as one node that runs them.
use super::group::{Group, counts_rows, first_axis, taken_parts};
use crate::graph::{EachRow, Graph, Node, NodeKind, Subgraph, ValueId};
use rustc_hash::FxHashMap;
use std::sync::Arc;
use tpu_base::tensor::Shape;
use tpu_kernels::movement::strided_view::Access;

impl Group {
    /// Writes the nodes as one that runs them for each part; gives its place.
    pub(super) fn write(&self, graph: &mut Graph, code: &mut Subgraph) -> usize {
        let nodes = std::mem::take(&mut code.nodes);
        let mut each = EachRow {
            body: Subgraph::default(),
            runs: self.parts,
            rows: Vec::new(),
            devices: Arc::default(),
        };
        let in_order: Arc<[usize]> = (0..self.parts).collect();
        let mut operands = Vec::new();
        let mut give = |whole: ValueId, part: ValueId| {
            operands.push(whole);
            each.rows.push(Arc::clone(&in_order));
            each.body.parameters.push(part);
        };
        let mut part_of: FxHashMap<ValueId, ValueId> = FxHashMap::default();
        let (mut before, mut inner, mut behind) = (Vec::new(), Vec::new(), Vec::new());
        let last = self.inside.last().copied().unwrap_or_default();
        let name = Arc::clone(&nodes[self.first].name);
        let location = nodes[self.first].location;
        for (at, mut node) in nodes.into_iter().enumerate() {
            if !self.inside.contains(&at) {
                if at < last {
                    before.push(node)
                } else {
                    behind.push(node)
                }
                continue;
            }
            let taken = taken_parts(graph, &node, self.rows);
            for (index, value) in node.operands.iter_mut().enumerate() {
                if !taken.get(index).is_some_and(|&taken| taken) {
                    continue;
                }
                self.take_part(&mut node.shapes[index]);
                *value = *part_of.entry(*value).or_insert_with(|| {
                    let part = graph.add(node.shapes[index].clone());
                    give(*value, part);
                    part
                });
            }
            let of = graph.value(node.results[0]).shape.clone();
            if counts_rows(&node, &of) {
                let [line, part] = [self.rows, self.rows / self.parts]
                    .map(|count| graph.add(Shape::new(of.dtype, [count])));
                let mut strides = vec![0; of.rank()];
                strides[first_axis(&of).unwrap_or_default()] = 1;
                node.shapes = vec![graph.value(part).shape.clone()];
                before.push(Node { results: vec![line], shapes: Vec::new(), ..node.clone() });
                node.work = NodeKind::Access(Access { offset: 0, strides });
                node.operands = vec![part];
                give(line, part);
            }
            for value in &mut node.results {
                let mut shape = graph.value(*value).shape.clone();
                self.take_part(&mut shape);
                let part = graph.add(shape);
                part_of.insert(*value, part);
                *value = part;
            }
            if let NodeKind::Kernel(kernel) = &node.work
                && let Some((part, _)) = kernel.part(self.rows, self.parts)
            {
                node.work = NodeKind::Kernel(part);
            }
            inner.push(node);
        }
        each.body.nodes = inner;
        each.body.results = self.given.iter().map(|value| part_of[value]).collect();
        code.nodes = before;
        let place = code.nodes.len();
        code.nodes.push(Node {
            work: NodeKind::Each(Box::new(each)),
            operands,
            shapes: Vec::new(),
            results: self.given.clone(),
            name,
            location,
            effect: false,
        });
        code.nodes.extend(behind);
        place
    }

    /// Makes the extents of an array those of a part.
    fn take_part(&self, of: &mut Shape) {
        if let Some(axis) = first_axis(of) {
            of.dims[axis] /= self.parts;
        }
    }
}
