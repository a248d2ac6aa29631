//! Arrays one after another are read where they are by the loops that need them.
use super::loop_fusion::{Fuser, Source};
use crate::graph::{Node, NodeKind, ValueId};
use crate::passes::fuse::StepKind;
use crate::passes::fuse::concat::ConcatView;
use crate::tuning::{MAX_CONCAT_OPERANDS, MIN_CONCAT_OPERAND_ELEMENTS, MIN_FUSED_CONCAT_ELEMENTS};
use std::sync::Arc;
use tpu_kernels::movement::strided_view::Access;
use tpu_kernels::movement::strided_view::AccessMap;
use tpu_ops::Kernel;

impl Fuser<'_> {
    /// Keeps what a node makes as a view of its operands; says whether it has.
    pub(super) fn concat_view(&mut self, node: &Node, kernel: &dyn Kernel) -> bool {
        let Some(rows) = kernel.joins().filter(|rows| *rows > 0) else { return false };
        self.gather_together(&node.operands);
        let shape = self.graph.value(node.results[0]).shape.clone();
        let elements = shape.elements();
        let count = node.operands.len();
        if elements < MIN_FUSED_CONCAT_ELEMENTS
            || count > MAX_CONCAT_OPERANDS
            || elements / rows / count < MIN_CONCAT_OPERAND_ELEMENTS
        {
            return false;
        }
        let mut values = Vec::with_capacity(count);
        let mut parts = Vec::with_capacity(count);
        for (&operand, shape) in node.operands.iter().zip(&node.shapes) {
            let elements = shape.elements();
            let source = self.sources.get(&operand).map(|(source, ..)| source);
            let (value, map) = match source.filter(|source| source.makes(shape)) {
                Some(Source::Strided(value, map, ..)) => (*value, map.clone()),
                _ => {
                    self.require(operand);
                    let dense = Access { offset: 0, strides: vec![1] };
                    (operand, AccessMap::new(&dense, &[elements]))
                }
            };
            values.push(value);
            parts.push((values.len() - 1, map, elements / rows));
        }
        let Some(view) = ConcatView::new(parts) else { return false };
        let whole = Some(Box::new(node.clone()));
        let made = Source::Concat(values, view, whole, shape.dtype, elements);
        self.sources.insert(node.results[0], (made, Arc::clone(&node.name), node.location));
        true
    }

    /// Makes those loops one that make the values and gather the same elements for them.
    fn gather_together(&mut self, values: &[ValueId]) {
        let made = values.iter().filter_map(|value| self.group_of.get(value).copied());
        let mut loops: Vec<usize> = made.filter(|&index| self.groups[index].open).collect();
        loops.sort_unstable();
        loops.dedup();
        while let Some(index) = loops.pop() {
            for &other in &loops {
                let (one, two) = (&self.groups[index], &self.groups[other]);
                if one.elements == two.elements && one.gathers_like(two) {
                    self.merge(index, other, 0);
                }
            }
            loops.retain(|&other| self.groups[other].open);
        }
    }

    /// Makes the array that a view stands for, by the kernel for that.
    pub(super) fn joined(&mut self, node: &Node) {
        let NodeKind::Kernel(kernel) = &node.work else { return };
        node.operands.iter().for_each(|&operand| self.require(operand));
        self.step(node, StepKind::Kernel(Arc::clone(kernel)));
    }
}
