//! Arrays one after another are read where they are by the loops that need them.
use super::loop_fusion::{Fuser, Source};
use crate::graph::{Node, NodeKind, ValueId};
use crate::passes::fuse::StepKind;
use crate::passes::fuse::concat::ConcatView;
use crate::tuning::{
    MAX_CONCAT_OPERANDS, MIN_CONCAT_OPERAND_ELEMENTS, MIN_FUSED_CONCAT_ELEMENTS,
    MIN_JOINED_RUN_BYTES,
};
use std::sync::Arc;
use tpu_kernels::movement::strided_view::Access;
use tpu_kernels::movement::strided_view::AccessMap;
use tpu_ops::{Kernel, views_side_by_side};

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
                    (operand, dense(elements))
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

    /// Makes the array that a view stands for, by the kernel for that; of views of other arrays by one
    /// that reads these.
    pub(super) fn joined(&mut self, node: &Node) {
        let NodeKind::Kernel(kernel) = &node.work else { return };
        if let Some((sources, kernel)) = self.views_joined(node, kernel.as_ref()) {
            sources.iter().for_each(|&source| self.require(source));
            let node = Node { operands: sources, ..node.clone() };
            return self.step(&node, StepKind::Kernel(kernel));
        }
        node.operands.iter().for_each(|&operand| self.require(operand));
        self.step(node, StepKind::Kernel(Arc::clone(kernel)));
    }

    /// The arrays of which a node's operands are views, and the kernel that puts the views side by side.
    fn views_joined(
        &self,
        node: &Node,
        kernel: &dyn Kernel,
    ) -> Option<(Vec<ValueId>, Arc<dyn Kernel>)> {
        let rows = kernel.joins().filter(|&rows| rows > 0)?;
        let width = node.shapes.first()?.dtype.host_bytes();
        let (mut sources, mut views) = (Vec::new(), Vec::new());
        for (&operand, shape) in node.operands.iter().zip(&node.shapes) {
            let elements = shape.elements() / rows;
            let source = self.sources.get(&operand).map(|(source, ..)| source);
            let in_place = |map: &AccessMap| {
                map.innermost().1 * width >= MIN_JOINED_RUN_BYTES
                    && elements > 0
                    && map.in_rows(elements, elements).is_some()
            };
            let (source, map) = match source.filter(|source| source.makes(shape)) {
                Some(Source::Strided(value, map, ..)) if in_place(map) => (*value, map.clone()),
                _ => (operand, dense(shape.elements())),
            };
            sources.push(source);
            views.push((map, elements));
        }
        if sources == node.operands {
            return None;
        }
        Some((sources, views_side_by_side(width, rows, &views)?))
    }
}

/// All elements of an array in order.
fn dense(elements: usize) -> AccessMap {
    AccessMap::new(&Access { offset: 0, strides: vec![1] }, &[elements])
}

#[cfg(test)]
mod tests {
    use crate::compile::Passes;
    use crate::differential::{plan_of, results};

    const WHOLE: &str = "tensor<6x40x300xf32>";

    /// The pieces of an array, as lines that make `%a`, `%b` and so on, joined along an axis.
    fn joined(lines: &str, (names, types): (&str, &str), axis: usize, to: &str) -> String {
        format!(
            "func.func public @main(%x: {WHOLE}) -> {to} {{
            {lines}
            %r = stablehlo.concatenate {names}, dim = {axis} : ({types}) -> {to}
            return %r : {to}
            }}"
        )
    }

    /// An array turned around along an axis: what lies before an index comes last.
    fn rolled(axis: usize, at: usize) -> String {
        let dims = [6, 40, 300];
        let piece = |name: &str, from: usize, to: usize| {
            let part = |of: usize| if of == axis { (from, to) } else { (0, dims[of]) };
            let ranges = (0..3).map(|of| format!("{}:{}", part(of).0, part(of).1));
            let extents = (0..3).map(|of| (part(of).1 - part(of).0).to_string());
            let of = format!("tensor<{}xf32>", extents.collect::<Vec<_>>().join("x"));
            let ranges = ranges.collect::<Vec<_>>().join(", ");
            (format!("%{name} = stablehlo.slice %x [{ranges}] : ({WHOLE}) -> {of}\n"), of)
        };
        let (first, one) = piece("a", at, dims[axis]);
        let (second, two) = piece("b", 0, at);
        joined(&(first + &second), ("%a, %b", &format!("{one}, {two}")), axis, WHOLE)
    }

    /// The array beside itself in another order of its axes or elements.
    fn beside(operation: &str, from: &str, to: &str, axis: usize) -> String {
        let turned = format!("%a = stablehlo.{operation} : {from}\n");
        let cut = format!("%s = stablehlo.slice %x [0:6, 0:40, 0:40] : ({WHOLE}) -> {CUT}\n");
        joined(&(cut + &turned), ("%a, %s", &format!("{CUT}, {CUT}")), axis, to)
    }

    const CUT: &str = "tensor<6x40x40xf32>";

    #[test]
    fn views_side_by_side_are_what_copies_side_by_side_are() {
        let turns = [(0, 2), (1, 13), (1, 39), (2, 1), (2, 100), (2, 299)];
        let mut programs: Vec<String> = turns.map(|(axis, at)| rolled(axis, at)).into();
        for (axis, to) in
            [(0, "tensor<12x40x40xf32>"), (1, "tensor<6x80x40xf32>"), (2, "tensor<6x40x80xf32>")]
        {
            let turned = format!("({CUT}) -> {CUT}");
            programs.push(beside("transpose %s, dims = [0, 2, 1]", &turned, to, axis));
            programs.push(beside("reverse %s, dims = [1]", CUT, to, axis));
            programs.push(beside("reverse %s, dims = [2]", CUT, to, axis));
        }
        for text in programs {
            let wanted = results(&text, &[None], Passes::NONE);
            assert!(results(&text, &[None], Passes::ALL) == wanted, "{text}");
        }
    }

    #[test]
    fn long_pieces_of_an_array_are_not_stored_before_they_are_joined() {
        for (axis, at, most) in [(0, 2, 0), (1, 13, 0), (2, 100, 0), (2, 1, 6 * 40 * 4)] {
            let arena = plan_of(&rolled(axis, at)).arena;
            assert!(arena <= most + 64, "{arena} bytes along axis {axis}");
        }
    }
}
