//! Elementwise programs: straight-line code over runs of elements.
//!
//! Fused loops and the regions of reductions, scatters and sorts are programs of this form.
use super::kind::ElementwiseKind;
use tpu_base::tensor::DType;

/// Small numbers that an operation needs besides its operands: widths, the last element.
pub type Immediate = [u32; 2];

/// Applies an operation to runs of elements. Every input has as many elements as the output.
pub type LoopFn = fn(immediate: Immediate, inputs: &[&[u8]], output: &mut [u8]);

/// An elementwise operation on fixed types.
#[derive(Debug, Clone, Copy)]
pub struct ElementwiseOp {
    /// What it computes.
    pub kind: ElementwiseKind,
    /// Element type of the operands (of the last one where they differ, as for `select`).
    pub operand: DType,
    /// Element type of the result.
    pub result: DType,
    /// The loop.
    pub run: LoopFn,
    /// The numbers.
    pub immediate: Immediate,
    /// Whether it counts as a transcendental function.
    pub transcendental: bool,
}

/// Where a step's operand comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Register {
    /// A parameter of the program.
    Parameter(usize),
    /// A constant.
    Constant(usize),
    /// The result of an earlier step.
    Step(usize),
}

/// One operation of a program.
#[derive(Debug, Clone)]
pub struct Instr {
    /// What to do.
    pub op: ElementwiseOp,
    /// On what.
    pub inputs: Vec<Register>,
}

/// A constant of a program: its type and the bytes of one element.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ElementwiseConstant {
    /// Element type.
    pub dtype: DType,
    /// One element.
    pub bytes: Box<[u8]>,
}

/// Straight-line elementwise code.
#[derive(Debug, Clone, Default)]
pub struct ElementwiseProgram {
    /// Element types of the parameters.
    pub parameters: Vec<DType>,
    /// Constants.
    pub constants: Vec<ElementwiseConstant>,
    /// Steps in order.
    pub steps: Vec<Instr>,
    /// The results.
    pub results: Vec<Register>,
}

impl ElementwiseProgram {
    /// The type of a register.
    pub fn dtype(&self, register: Register) -> DType {
        match register {
            Register::Parameter(index) => self.parameters[index],
            Register::Constant(index) => self.constants[index].dtype,
            Register::Step(index) => self.steps[index].op.result,
        }
    }
}
