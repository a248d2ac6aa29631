//! A loop while it is being built.
use crate::graph::ValueId;
use crate::passes::fuse::{Fused, FusedStep, Load, StepWork};
use std::collections::HashMap;
use std::sync::Arc;
use tpu_base::tensor::DType;
use tpu_kernels::elementwise::program::{LaneConstant, LaneOp, LaneProgram, LaneStep, Register};
use tpu_stablehlo::ir::LocationId;

/// A loop that is being built.
#[derive(Default)]
pub(super) struct Group {
    pub(super) elements: usize,
    pub(super) open: bool,
    /// The node after which it can run.
    pub(super) at: usize,
    pub(super) loads: Vec<Load>,
    pub(super) operands: Vec<ValueId>,
    pub(super) program: LaneProgram,
    /// Registers of the values inside.
    pub(super) registers: HashMap<ValueId, Register>,
    /// Values that others read.
    pub(super) outputs: Vec<ValueId>,
    pub(super) name: Arc<str>,
    pub(super) location: Option<LocationId>,
}

impl Group {
    pub(super) fn operation(&mut self, op: LaneOp, inputs: Vec<Register>) -> Register {
        self.program.steps.push(LaneStep { op, inputs });
        Register::Step(self.program.steps.len() - 1)
    }

    pub(super) fn constant(&mut self, dtype: DType, bytes: &[u8]) -> Register {
        let constants = &mut self.program.constants;
        let constant = LaneConstant { dtype, bytes: bytes.into() };
        let found = constants.iter().position(|known| *known == constant);
        Register::Constant(found.unwrap_or_else(|| {
            constants.push(constant);
            constants.len() - 1
        }))
    }

    /// A load with the numbers that its operands have here.
    pub(super) fn renumbered(&mut self, load: Load, operands: &[ValueId]) -> Load {
        let mut number = |at: usize| push_operand(&mut self.operands, operands[at]);
        match load {
            Load::Dense(at) => Load::Dense(number(at)),
            Load::Map(at, map) => Load::Map(number(at), map),
            Load::All(at, elements) => Load::All(number(at), elements),
            Load::Pieces(pieces) => Load::Pieces(pieces.renumbered(number)),
            Load::Iota(inner, extent) => Load::Iota(inner, extent),
        }
    }

    pub(super) fn parameter(&mut self, load: Load, dtype: DType) -> Register {
        let same = |(known, of): (&Load, &DType)| *known == load && *of == dtype;
        let parameters = &mut self.program.parameters;
        let found = self.loads.iter().zip(parameters.iter()).position(same);
        Register::Parameter(found.unwrap_or_else(|| {
            self.loads.push(load);
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
        elements, loads, operands, mut program, registers, outputs, name, location, ..
    } = group;
    if outputs.is_empty() {
        return None;
    }
    program.results = outputs.iter().map(|output| registers[output]).collect();
    let work = StepWork::Fused(Arc::new(Fused::new(elements, loads, program)));
    let location = location.unwrap_or(LocationId::UNKNOWN);
    Some(FusedStep { work, operands, results: outputs, name, location })
}
