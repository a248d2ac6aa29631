//! Machine code for elementwise programs is written for x86-64 with AVX-512 or AVX2.
//!
//! A run of operations becomes one loop over groups of elements that keeps its values in registers.
//! The results have the bits that the operations' own loops give; only which NaN comes of two is
//! not settled by either. Elsewhere the operations' own loops run.
//!
//! There are two kinds of function:
//!
//! * A piece of a loop over arrays, for [`crate::vm`]. Its code is straight over a group of 16
//!   elements, or of 8 where some have 64 bits; in AVX2 over a vector of the widest lanes, which are
//!   4 to 32 elements. The last, short group runs a copy with masks; in AVX2, a copy for one element
//!   after the other. Where all lanes are bytes, AVX2 is written for both.
//! * A [`ScalarLoop`]: a `while` over single elements, with condition, body and the jump back. Each
//!   variable that changes has a register of its own, or a place on the stack; a loop with too many
//!   of them gets no code. It is written in AVX2, where a processor has AVX-512 too
//!   (docs/decisions/0234).
//!
//! | operation | in a loop over arrays | in a scalar loop |
//! |---|---|---|
//! | what `select` lists: one to ten instructions | instructions | instructions |
//! | a look-up of 4 or 8 bytes | the processor's gather | none: such a `while` runs by steps |
//! | an element at a computed index | does not occur | `address`: moved inside unless `bounds` says that it is there, or skipped |
//! | any other | stays a call over a tile | `libcall`: a call on one element |
//!
//! On the way to code, `select` names the operation, and the files `lower*` make instructions over
//! values that are each made once. They are those of AVX-512 (`opcodes`), for which `ternary` makes
//! one of two operations of logic. For AVX2, `avx2` lets stand what has the same operands there, as
//! the table in `vex` says, and writes the rest as a few others (docs/decisions/0156). Then
//! `regalloc` gives registers in one pass, `encode` writes bytes, and `code_memory` holds them. A
//! register is taken from the value whose next use is farthest.
//!
//! When code is made is the callers' affair. Loops wait for `HOT_ELEMENT_OPERATIONS`
//! ([`crate::elementwise::tuning`]), a `while` for `HOT_LOOP_ITERATIONS` (`tpu-program`'s tuning).
//! `CODE_CHUNK_BYTES` is what is mapped at once, and the most that one function may have.
//!
//! What holds for all: no multiplication and addition are contracted, and 16-bit floats are rounded
//! after every operation. No page is writable and executable at one address. Functions that tests
//! compile are read back by another decoder before they run (`verify`, docs/decisions/0056).
//!
//! Why there is an emitter of our own stands in docs/decisions/0022. Kernels for common chains are
//! slow for one that nobody foresaw; Cranelift has no 512-bit vectors; an assembler saves only
//! tables.
mod address;
mod avx2;
mod avx2_expand;
mod bounds;
mod call_groups;
mod callee;
#[cfg(all(target_arch = "x86_64", not(tpu_emu_portable)))]
mod code_memory;
mod encode;
#[cfg(test)]
mod forms;
#[cfg(test)]
mod forms_avx2;
#[cfg(test)]
mod forms_kit;
mod inst;
mod libcall;
mod liveness;
mod lower;
mod lower_bits;
mod lower_composed;
mod lower_convert;
mod lower_divide;
mod moves;
#[cfg(not(all(target_arch = "x86_64", not(tpu_emu_portable))))]
mod no_code_memory;
mod opcodes;
mod regalloc;
mod scalar_loop;
mod select;
mod target;
mod ternary;
#[cfg(all(target_arch = "x86_64", not(tpu_emu_portable)))]
mod tuning;
#[cfg(any(test, feature = "testing"))]
pub mod verify;
#[cfg(any(test, feature = "testing"))]
mod verify_names;
mod vex;
#[cfg(not(all(target_arch = "x86_64", not(tpu_emu_portable))))]
use no_code_memory as code_memory;

use super::elementwise::program::{ElementwiseOp, ElementwiseProgram, Instr, Register};
pub(crate) use code_memory::CodeEntry;
use code_memory::Function;
use lower::Lowerer;
use regalloc::Emitter;
use select::{NumberKind, job};
use target::Target;
use tpu_base::tensor::DType;

pub use address::{Index, MemoryOperand};
pub(super) use lower::ValueSource;
pub use scalar_loop::{Action, Loop, ScalarLoop};

/// Whether machine code is written for the vectors of this thread.
pub fn is_here() -> bool {
    Target::here().is_some()
}

/// Whether machine code can do an operation.
pub fn knows(op: &ElementwiseOp) -> bool {
    job(op).is_some()
}

/// Whether it can, or can let the operation's own loop do it, on operands of these types.
pub fn reaches(op: &ElementwiseOp, inputs: &[DType]) -> bool {
    knows(op) || libcall::can_call(op, inputs)
}

/// Some operations of a program as machine code.
#[derive(Debug)]
pub(super) struct Native(Function);

/// What becomes machine code.
#[derive(Debug)]
pub(super) struct CodeRequest<'p> {
    pub(super) program: &'p ElementwiseProgram,
    /// The operations, in order.
    pub(super) steps: &'p [usize],
    /// Where the registers come from that they do not make.
    pub(super) sources: &'p [(Register, ValueSource)],
    /// The registers that are written, and to which arrays.
    pub(super) stores: &'p [(Register, usize)],
    /// The number of arrays.
    pub(super) arrays: usize,
}

impl Native {
    /// Compiles operations; `None` where the system gives no memory for code.
    pub(super) fn new(part: &CodeRequest<'_>) -> Option<Self> {
        // Also what other processors would get.
        #[cfg(any(test, feature = "testing"))]
        for target in Target::ALL {
            if let Some((code, entry)) = part.code(target) {
                verify::verify(&code, entry, &part.contract(target));
            }
        }
        let (code, entry) = part.code(Target::for_lanes(part.widest_lane())?)?;
        Function::new(&code, entry).map(Self)
    }

    /// The function.
    pub(super) fn function(&self) -> &Function {
        &self.0
    }
}

impl CodeRequest<'_> {
    /// What the function may do.
    #[cfg(any(test, feature = "testing"))]
    fn contract(&self, target: Target) -> verify::Contract {
        let writes = self.stores.iter().map(|&(_, array)| array).collect();
        let group = Some(self.group(target));
        verify::Contract { target, arrays: self.arrays, writes, group, callees: Vec::new() }
    }

    /// Elements that are worked on at once.
    fn group(&self, target: Target) -> usize {
        target.group(self.widest_lane())
    }

    /// Bytes of the widest lanes.
    fn widest_lane(&self) -> usize {
        let steps = self.steps.iter().map(|&step| self.lane(&self.program.steps[step]));
        let stored = |&(register, _): &(Register, usize)| self.program.dtype(register).host_bytes();
        steps.chain(self.stores.iter().map(stored)).max().unwrap_or(1)
    }

    /// Bytes of the widest lanes in which a step is computed.
    fn lane(&self, step: &Instr) -> usize {
        let by = |(register, source): &(Register, ValueSource)| match source {
            ValueSource::Constant(bits) if Some(register) == step.inputs.get(1) => Some(*bits),
            _ => None,
        };
        let types = step.inputs.iter().map(|&input| self.program.dtype(input));
        let lane = |dtype: DType| match NumberKind::of(dtype) {
            Some(NumberKind::F16 | NumberKind::Bf16) => 4,
            _ => dtype.host_bytes(),
        };
        let widest = types.chain([step.op.result]).map(lane).max().unwrap_or(1);
        let computed = job(&step.op).map_or(1, |(job, kind)| {
            select::computed_lane(job, kind, self.sources.iter().find_map(by))
        });
        widest.max(computed)
    }

    fn code(&self, target: Target) -> Option<(Vec<u8>, usize)> {
        let mut lowerer = Lowerer::new(self.group(target), target);
        for &(register, source) in self.sources {
            lowerer.source(register, source);
        }
        for &index in self.steps {
            let step = &self.program.steps[index];
            let (job, kind) = job(&step.op)?;
            lowerer.step(job, kind, &step.inputs, Register::Step(index));
        }
        for &(register, array) in self.stores {
            let kind = NumberKind::of(self.program.dtype(register))?;
            let value = lowerer.packed(register, kind);
            lowerer.body.stores.push((value, array, kind.width()));
        }
        if target == Target::Avx512 {
            lowerer.body.fuse_logic();
        }
        lowerer.body.prune();
        if target == Target::Avx2 {
            avx2::translate(&mut lowerer.body);
        }
        Some(Emitter::new(&lowerer.body, self.arrays, target).function())
    }
}
