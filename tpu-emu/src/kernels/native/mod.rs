//! Machine code for elementwise programs, for x86-64 with AVX-512.
//!
//! A run of operations becomes one loop over groups of elements that keeps its values in
//! registers. The results have the bits that the operations' own loops give; only which NaN
//! comes of two is not settled by either. Elsewhere the operations' own loops run.
mod allocate;
mod call;
mod convert;
mod element;
mod encode;
mod job;
mod lower;
#[cfg(all(target_arch = "x86_64", not(tpu_emu_portable)))]
mod memory;
#[cfg(not(all(target_arch = "x86_64", not(tpu_emu_portable))))]
#[path = "no_memory.rs"]
mod memory;
mod micro;
mod rounds;
mod uses;

use super::lanes::{LaneOp, LaneProgram, Register};
use crate::tensor::DType;
use allocate::Emitter;
use lower::Lowerer;
use memory::Function;

pub use element::{Index, Place};
pub(super) use lower::Source;
pub use rounds::{Action, Loop, Rounds};

/// Whether machine code can do an operation.
pub fn knows(op: &LaneOp) -> bool {
    job::job(op).is_some()
}

/// Whether it can, or can let the operation's own loop do it, on operands of these types.
pub fn reaches(op: &LaneOp, inputs: &[DType]) -> bool {
    knows(op) || call::can_call(op, inputs)
}

/// Some operations of a program as machine code.
#[derive(Debug)]
pub(super) struct Native(Function);

/// What becomes machine code.
#[derive(Debug)]
pub(super) struct Part<'p> {
    pub(super) program: &'p LaneProgram,
    /// The operations, in order.
    pub(super) steps: &'p [usize],
    /// Where the registers come from that they do not make.
    pub(super) sources: &'p [(Register, Source)],
    /// The registers that are written, and to which arrays.
    pub(super) stores: &'p [(Register, usize)],
    /// The number of arrays.
    pub(super) arrays: usize,
}

impl Native {
    /// Compiles operations; `None` where the system gives no memory for code.
    pub(super) fn new(part: &Part<'_>) -> Option<Self> {
        let (code, entry) = part.code()?;
        Function::new(&code, entry).map(Self)
    }

    /// The function.
    pub(super) fn function(&self) -> &Function {
        &self.0
    }
}

impl Part<'_> {
    fn code(&self) -> Option<(Vec<u8>, usize)> {
        let wide = |register: Register| self.program.dtype(register).host_bytes() == 8;
        let of = |step: &usize| {
            let step = &self.program.steps[*step];
            step.op.result.host_bytes() == 8 || step.inputs.iter().any(|&input| wide(input))
        };
        let group = if self.steps.iter().any(of) { 8 } else { 16 };
        let mut lowerer = Lowerer::new(group);
        for &(register, source) in self.sources {
            lowerer.source(register, source);
        }
        for &index in self.steps {
            let step = &self.program.steps[index];
            let (job, kind) = job::job(&step.op)?;
            lowerer.step(job, kind, &step.inputs, Register::Step(index));
        }
        for &(register, array) in self.stores {
            let kind = job::Kind::of(self.program.dtype(register))?;
            let value = lowerer.packed(register, kind);
            lowerer.body.stores.push((value, array, kind.width()));
        }
        lowerer.body.prune();
        Some(Emitter::new(&lowerer.body, self.arrays).function())
    }
}
