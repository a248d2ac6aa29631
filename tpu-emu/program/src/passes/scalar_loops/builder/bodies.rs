//! The operations of loops over elements, once for each element.
use super::Builder;
use crate::graph::ValueId;
use crate::passes::fuse::{FusedLoop, LoopInput};
use crate::tuning::MAX_SCALAR_LOOP_STEPS;
use tpu_base::tensor::DType;
use tpu_kernels::elementwise::program::{ElementwiseProgram, Instr, Register};
use tpu_kernels::jit::reaches;
use tpu_kernels::movement::iota::fill_iota;

impl Builder<'_> {
    /// A loop over elements: its operations, once for each.
    pub(super) fn fused(
        &mut self,
        fused: &FusedLoop,
        operands: &[ValueId],
        values: &[ValueId],
    ) -> Option<()> {
        let program = fused.code.program();
        self.room_for(program, fused.elements)?;
        let constants = self.constants_of(program);
        let mut results = vec![Vec::with_capacity(fused.elements); program.results.len()];
        for element in 0..fused.elements {
            let mut inputs = Vec::with_capacity(fused.inputs.len());
            for (input, &dtype) in fused.inputs.iter().zip(&program.parameters) {
                inputs.push(self.input(input, dtype, element, operands)?);
            }
            for (registers, result) in results.iter_mut().zip(self.run(program, constants, &inputs))
            {
                registers.push(result);
            }
        }
        for ((&value, registers), &result) in values.iter().zip(results).zip(&program.results) {
            self.hold(value, program.dtype(result).host_bytes(), registers)?;
        }
        Some(())
    }

    /// Whether operations can be done for so many elements.
    pub(super) fn room_for(&self, program: &ElementwiseProgram, elements: usize) -> Option<()> {
        let after = elements.checked_mul(program.steps.len())?;
        let typed = |step: &Instr| -> Vec<DType> {
            step.inputs.iter().map(|&input| program.dtype(input)).collect()
        };
        let known = program.steps.iter().all(|step| reaches(&step.op, &typed(step)));
        (known && self.program.steps.len() + after <= MAX_SCALAR_LOOP_STEPS).then_some(())
    }

    /// Adds the constants of a program; gives the number of the first.
    pub(super) fn constants_of(&mut self, program: &ElementwiseProgram) -> usize {
        self.program.constants.extend(program.constants.iter().cloned());
        self.program.constants.len() - program.constants.len()
    }

    /// Does a program's operations on these inputs; its constants are those from a number on. Gives
    /// its results.
    pub(super) fn run(
        &mut self,
        program: &ElementwiseProgram,
        constants: usize,
        inputs: &[Register],
    ) -> Vec<Register> {
        let first = self.program.steps.len();
        let here = |register: &Register| match *register {
            Register::Parameter(index) => inputs[index],
            Register::Constant(index) => Register::Constant(constants + index),
            Register::Step(index) => Register::Step(first + index),
        };
        for step in &program.steps {
            self.operation(step.op, step.inputs.iter().map(here).collect());
        }
        program.results.iter().map(here).collect()
    }

    /// What a loop reads for one of its elements.
    fn input(
        &mut self,
        input: &LoopInput,
        dtype: DType,
        element: usize,
        operands: &[ValueId],
    ) -> Option<Register> {
        let bytes = dtype.host_bytes();
        let (operand, at) = match input {
            LoopInput::Dense(operand) => (*operand, element),
            LoopInput::Strided(operand, map) => (*operand, map.at(element)),
            LoopInput::Concat(view) => view.at(element),
            LoopInput::Table(..) => return None,
            LoopInput::Iota(inner, extent) => {
                let mut number = [0_u64; 1];
                let one = bytemuck::cast_slice_mut(&mut number).get_mut(..bytes)?;
                fill_iota(dtype, element, *inner, *extent, one);
                return Some(self.constant(dtype, one));
            }
        };
        self.element(operands[operand], at * bytes, dtype)
    }
}
