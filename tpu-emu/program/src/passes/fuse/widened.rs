//! Parts of what is converted to wider elements are converted by themselves.
//!
//! A part that is read of the narrow elements is there without all of the wide ones.
use super::LoopInput;
use super::loop_fusion::{Fuser, Source};
use crate::graph::Node;
use crate::tuning::MIN_WIDENED_PART_ELEMENTS;
use std::sync::Arc;
use tpu_base::tensor::Shape;
use tpu_kernels::elementwise::kind::ElementwiseKind;
use tpu_kernels::elementwise::program::{ElementwiseOp, Register};
use tpu_kernels::movement::strided_view::AccessMap;

impl Fuser<'_> {
    /// Opens a loop that makes a part of what another loop widens; says whether it has.
    pub(super) fn widens_part(&mut self, node: &Node, map: &AccessMap, part: &Shape) -> bool {
        let (whole, elements) = (&node.shapes[0], part.elements());
        if elements < MIN_WIDENED_PART_ELEMENTS || elements >= whole.elements() {
            return false;
        }
        let Some((source, op)) = self.widened_from(node, map, part) else { return false };
        let index = self.open(elements, Arc::clone(&node.name), node.location);
        let narrow = self.source_input(index, &source);
        let wide = self.groups[index].operation(op, vec![narrow]);
        self.define(index, node, wide);
        true
    }

    /// The part of the narrow elements, and what widens them.
    fn widened_from(
        &self,
        node: &Node,
        map: &AccessMap,
        part: &Shape,
    ) -> Option<(Source, ElementwiseOp)> {
        let operand = node.operands[0];
        let group = &self.groups[*self.group_of.get(&operand)?];
        let Some(&Register::Step(step)) = group.registers.get(&operand) else { return None };
        let made = &group.program.steps[step];
        let &[Register::Parameter(narrow)] = &made.inputs[..] else { return None };
        let op = made.op;
        let widens = op.operand.host_bytes() < op.result.host_bytes();
        let seen = node.shapes[0].dtype == op.result && node.shapes[0].elements() == group.elements;
        if op.kind != ElementwiseKind::Convert || !widens || !seen || part.dtype != op.result {
            return None;
        }
        let (at, map) = match &group.inputs[narrow] {
            LoopInput::Dense(at) => (*at, map.clone()),
            LoopInput::Strided(at, inner) => (*at, map.of(inner)?),
            LoopInput::Iota(..) | LoopInput::Concat(_) | LoopInput::Table(..) => return None,
        };
        Some((Source::Strided(group.operands[at], map, op.operand, part.elements()), op))
    }
}
