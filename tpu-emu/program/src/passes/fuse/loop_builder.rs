//! A loop while it is being built.
use crate::graph::ValueId;
use crate::passes::fuse::{FusedLoop, FusedStep, LoopInput, StepKind, StridedCopy};
use crate::tuning::{MAX_FUSED_STEPS, MAX_MIXED_STEPS};
use rustc_hash::FxHashMap;
use std::sync::Arc;
use tpu_base::tensor::DType;
use tpu_kernels::elementwise::program::{
    ElementwiseConstant, ElementwiseOp, ElementwiseProgram, Instr, Register,
};
use tpu_stablehlo::ir::LocationId;

/// A loop that is being built.
#[derive(Default)]
pub(super) struct Group {
    pub(super) elements: usize,
    pub(super) open: bool,
    /// The node after which it can run.
    pub(super) at: usize,
    pub(super) inputs: Vec<LoopInput>,
    pub(super) operands: Vec<ValueId>,
    pub(super) program: ElementwiseProgram,
    /// Registers of the values inside.
    pub(super) registers: FxHashMap<ValueId, Register>,
    /// Values that others read.
    pub(super) outputs: Vec<ValueId>,
    pub(super) name: Arc<str>,
    pub(super) location: Option<LocationId>,
}

impl Group {
    /// The register of an operation, which may be there already.
    pub(super) fn operation(&mut self, op: ElementwiseOp, inputs: Vec<Register>) -> Register {
        let steps = &mut self.program.steps;
        let types = |op: &ElementwiseOp| (op.operand, op.result, op.immediate);
        let same = |of: &Instr| {
            of.op.kind == op.kind && of.inputs == inputs && types(&of.op) == types(&op)
        };
        let found = steps.iter().position(same);
        Register::Step(found.unwrap_or_else(|| {
            steps.push(Instr { op, inputs });
            steps.len() - 1
        }))
    }

    /// Whether one loop of these has room for one more step. A vector has as many elements as it has of
    /// the widest type, so a long loop keeps 64 bits apart from what is narrower.
    pub(super) fn have_room(groups: &[&Self]) -> bool {
        let steps: usize = groups.iter().map(|group| group.program.steps.len()).sum();
        if steps < MAX_MIXED_STEPS {
            return true;
        }
        let is_wide = |group: &Self, wide: bool| {
            let made = group.program.steps.iter().map(|step| step.op.result);
            let mut all = group.program.parameters.iter().copied().chain(made);
            all.any(|of| of != DType::Pred && (of.host_bytes() > size_of::<f32>()) == wide)
        };
        let mixes = [true, false].map(|wide| groups.iter().any(|group| is_wide(group, wide)));
        steps < MAX_FUSED_STEPS && mixes != [true; 2]
    }

    pub(super) fn constant(&mut self, dtype: DType, bytes: &[u8]) -> Register {
        let constants = &mut self.program.constants;
        let constant = ElementwiseConstant { dtype, bytes: bytes.into() };
        let found = constants.iter().position(|known| *known == constant);
        Register::Constant(found.unwrap_or_else(|| {
            constants.push(constant);
            constants.len() - 1
        }))
    }

    /// An input with the numbers that its operands have here.
    pub(super) fn renumbered(&mut self, input: LoopInput, operands: &[ValueId]) -> LoopInput {
        let mut number = |at: usize| push_operand(&mut self.operands, operands[at]);
        match input {
            LoopInput::Dense(at) => LoopInput::Dense(number(at)),
            LoopInput::Strided(at, map) => LoopInput::Strided(number(at), map),
            LoopInput::Table(at, elements) => LoopInput::Table(number(at), elements),
            LoopInput::Concat(view) => LoopInput::Concat(view.renumbered(number)),
            LoopInput::Iota(inner, extent) => LoopInput::Iota(inner, extent),
        }
    }

    /// Whether there are elements that both loops have to gather.
    pub(super) fn gathers_like(&self, other: &Self) -> bool {
        let same = |input: &LoopInput| match input {
            LoopInput::Strided(at, map) if map.run().is_none() && !map.is_one_element() => {
                let value = self.operands[*at];
                other.inputs.iter().any(|input| match input {
                    LoopInput::Strided(at, of) => of == map && other.operands[*at] == value,
                    _ => false,
                })
            }
            _ => false,
        };
        self.inputs.iter().any(same)
    }

    pub(super) fn parameter(&mut self, input: LoopInput, dtype: DType) -> Register {
        let same = |(known, of): (&LoopInput, &DType)| *known == input && *of == dtype;
        let parameters = &mut self.program.parameters;
        let found = self.inputs.iter().zip(parameters.iter()).position(same);
        Register::Parameter(found.unwrap_or_else(|| {
            self.inputs.push(input);
            parameters.push(dtype);
            parameters.len() - 1
        }))
    }
}

pub(super) fn push_operand(operands: &mut Vec<ValueId>, value: ValueId) -> usize {
    operands.iter().position(|&known| known == value).unwrap_or_else(|| {
        operands.push(value);
        operands.len() - 1
    })
}

/// The step of a group; `None` where nobody reads what it makes.
pub(super) fn finish(group: Group) -> Option<FusedStep> {
    let Group {
        elements, inputs, operands, mut program, registers, outputs, name, location, ..
    } = group;
    if outputs.is_empty() {
        return None;
    }
    program.results = outputs.iter().map(|output| registers[output]).collect();
    let kind = match (&inputs[..], &program.results[..]) {
        ([LoopInput::Strided(_, map)], [Register::Parameter(0)]) if program.steps.is_empty() => {
            let (dtype, map) = (program.parameters[0], map.clone());
            StepKind::Copy(Arc::new(StridedCopy { elements, dtype, map }))
        }
        _ => StepKind::Fused(Arc::new(FusedLoop::new(elements, inputs, program))),
    };
    let location = location.unwrap_or(LocationId::UNKNOWN);
    Some(FusedStep { kind, operands, results: outputs, name, location })
}
