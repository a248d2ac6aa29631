//! A plan says where every value lies: static buffer assignment with liveness.
//!
//! A value lies in the arena of the execution, in the pool of constants, in a parameter's memory or
//! in a result's. Values that follow one another in the same memory are one alias set. Such are a
//! loop's carried value and what the body makes of it, or an array and its update in place.
//!
//! | value | memory |
//! |---|---|
//! | a constant that steps read | the pool, once |
//! | a parameter | its own, which no step writes |
//! | a donated parameter | that of the result which takes it over |
//! | a parameter with packed elements | the arena, unpacked by the first steps |
//! | a result of the program | the result's, unless another row has it |
//! | a result that is a parameter, a constant or another result | that one's, copied at the end |
//! | a result whose donated parameter is still read | the arena, copied at the end |
//! | a packed result | the arena, packed and copied at the end |
//! | a value that lives and ends while a result's memory has nothing yet | that memory, if it fits |
//! | a piece of an array at a place that indices tell, while the array lives on | that array's |
//! | an update of such a piece, if nobody reads what it replaces | that array's |
//! | scratch memory of a step | the arena, for that step alone |
//! | any other value | the arena |
//!
//! `assign` goes through these in order: parameters, alias sets, results, what lies in the memory
//! of results before them, then the arena. Alias
//! sets are joined in program order, for values of one size:
//!
//! * A fused loop's or row fusion's result and an operand that nobody reads later, if the step
//!   allows it (`takes_over`).
//! * A kernel's result and the operand that it updates, if that dies here and is read once.
//! * A loop's results with its parameters, always; with the initial values, and with what the body
//!   makes, where the older value is read no more.
//! * A branch's results with what each side makes.
//!
//! `live_range` has one time line for the whole program; what a loop reads from outside lives until
//! the loop ends. `arena` gives memory out in that order, to large values first where several
//! begin, in the smallest hole that fits. `parallel_copy` orders copies that happen at once, with a
//! staging slot where one would overwrite another's source.
//!
//! What holds for all: values whose lives overlap share no memory, unless one continues the other
//! in place. Without reuse (`Passes::memory_reuse`) a program has the same bits. No threshold
//! decides anything here: [`ALIGN`] is what kernels are promised, and `GUARD` is for mistakes of
//! custom calls. Tests follow each plan with symbols for values (`check`).
//!
//! Why slots and not borrows: a step needs slices of memories that other steps write. Borrows
//! cannot express that across a program that is data (docs/decisions/0013).
mod alias_sets;
mod arena;
mod arena_slots;
mod assign;
mod calls;
mod channels;
#[cfg(test)]
pub(crate) mod check;
mod host_values;
mod live_range;
mod parallel_copy;
pub(crate) mod peak;
pub(crate) mod window;

pub(crate) use assign::assign;
pub use calls::CallAlone;

use super::graph::{REMATERIALIZED, ValueId};
use super::passes::fuse::row_step::RowFusion;
use super::passes::fuse::scalar_program::{ScalarProgram, ValueRange};
use super::passes::fuse::{FusedLoop, StridedCopy};
use super::tuning::MAX_MOVED_PARTS;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::{Arc, OnceLock};
use tpu_base::tensor::Shape;
use tpu_kernels::jit::ScalarLoop;
use tpu_ops::Kernel;
use tpu_ops::host_transfer::Channel;
use tpu_stablehlo::ir::LocationId;
use window::ArrayWindow;

/// Alignment of values in the arena and in the pool.
pub const ALIGN: usize = 64;

/// Bytes of the arena behind a custom call's result that no other value has: what a handler
/// writes there is its mistake.
pub(crate) const GUARD: usize = 64;

/// A range of one of the memories of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Slot {
    /// Which memory, as [`Plan`] numbers them.
    pub base: u32,
    /// Where it begins.
    pub offset: usize,
    /// The length.
    pub bytes: usize,
}

impl Slot {
    /// So many bytes of it, from so many behind its beginning.
    pub(crate) fn part(self, from: usize, bytes: usize) -> Self {
        Self { base: self.base, offset: self.offset + from, bytes }
    }

    /// The number of the window that it lies in, if it lies in one.
    pub(crate) fn window(self) -> Option<usize> {
        Some(self.base.checked_sub(Plan::WINDOWS)? as usize)
    }
}

/// A loop over a few elements that becomes one piece of machine code once it has run often.
#[derive(Debug)]
pub(crate) struct PlannedScalarLoop {
    pub(crate) program: Arc<ScalarProgram>,
    /// Where its memories lie.
    pub(crate) memories: Box<[Slot]>,
    /// Iterations that it has gone step by step.
    pub(crate) iterations: AtomicUsize,
    /// The machine code, once that has been tried.
    pub(crate) code: OnceLock<Option<ScalarLoop>>,
}

impl PlannedScalarLoop {
    /// A loop whose values lie where `place` says.
    fn new(program: &Arc<ScalarProgram>, mut place: impl FnMut(ValueId) -> Slot) -> Self {
        let memory =
            |&ValueRange { value, offset, bytes }: &ValueRange| place(value).part(offset, bytes);
        let memories = program.memories.iter().map(memory).collect();
        let (iterations, code) = (AtomicUsize::new(0), OnceLock::new());
        Self { program: Arc::clone(program), memories, iterations, code }
    }
}

/// What a step does.
#[derive(Debug)]
pub(crate) enum PlannedStep {
    /// One loop over elements.
    Fused(Arc<FusedLoop>),
    /// The elements of the operand in another order.
    StridedCopy(Arc<StridedCopy>),
    /// Several steps, some rows at a time.
    Rows { rows: Arc<RowFusion>, scratch: Slot },
    /// A kernel; first the copies that in-place results start from.
    Kernel { kernel: Arc<dyn Kernel>, starts: Vec<(Slot, Slot)>, scratch: Slot },
    /// The result is the piece of the first operand that the others tell, where it lies.
    Window(Arc<ArrayWindow>),
    /// Copies, in order. With results, what is not there yet of operands that lie side by side in it.
    Copies(Vec<(Slot, Slot)>),
    /// Sub-byte elements from a packed array, with or without their sign.
    Unpack { bits: u32, signed: bool },
    /// Sub-byte elements to a packed array.
    Pack { bits: u32 },
    /// A loop.
    While {
        condition: Vec<Step>,
        decision: Slot,
        body: Vec<Step>,
        scalar: Option<Box<PlannedScalarLoop>>,
        /// Whether a run of it had so many iterations that its steps were bound to their arrays.
        was_hot: AtomicBool,
    },
    /// One of several blocks: by a predicate of a byte, or a signed 32-bit number.
    Branch { selector: Slot, branches: Vec<Vec<Step>> },
    /// Steps that run several times, over rows of the operands and results.
    Each(Box<PlannedEach>),
}

/// Steps that run several times. What they read and make of the step's operands and results
/// lies in memories of their own, numbered in that order: another row for each run.
#[derive(Debug)]
pub(crate) struct PlannedEach {
    pub(crate) body: Vec<Step>,
    pub(crate) runs: usize,
    /// The row of each operand that each run reads.
    pub(crate) rows: Vec<Arc<[usize]>>,
    /// The device of each run, where that matters.
    pub(crate) devices: Arc<[usize]>,
    /// Bytes of a row of each operand, and of each result.
    pub(crate) row_bytes: Vec<usize>,
    /// Number of the first memory of a row.
    pub(crate) first: u32,
}

/// A step over slots.
#[derive(Debug)]
pub struct Step {
    /// What it does.
    pub(crate) kind: PlannedStep,
    /// Where its operands lie.
    pub operands: Box<[Slot]>,
    /// Where its results lie.
    pub results: Box<[Slot]>,
    /// The operation's name, for reports.
    pub name: Arc<str>,
    /// Where it was written.
    pub location: LocationId,
}

/// What lies outside of a program.
#[derive(Debug, Clone, Copy)]
pub enum StorageForm<'d> {
    /// Arrays of a device, narrow elements packed.
    Packed {
        /// `[i]` is the result that takes the memory of parameter `i` over.
        donated: &'d [Option<usize>],
        /// The results whose memory is not that of the arena, as memory of the host.
        elsewhere: &'d [usize],
        /// Whether what is copied to host memory takes none of the arena. Such a plan is told and
        /// does not run: it has no place for that.
        apart: bool,
    },
    /// Arrays as programs have them, narrow elements a byte each: a region's elements. `[i]` is the
    /// result that takes the memory of parameter `i` over.
    Unpacked(&'d [Option<usize>]),
}

impl<'d> StorageForm<'d> {
    /// The result that takes the memory of each parameter over.
    pub(crate) fn donated(self) -> &'d [Option<usize>] {
        let (Self::Packed { donated, .. } | Self::Unpacked(donated)) = self;
        donated
    }
}

impl PlannedStep {
    /// The blocks inside of control flow, in order.
    pub(crate) fn blocks(&self) -> impl Iterator<Item = &[Step]> {
        let (pair, branches) = match self {
            Self::While { condition, body, .. } => {
                ([Some(&condition[..]), Some(&body[..])], &[][..])
            }
            Self::Branch { branches, .. } => ([None; 2], &branches[..]),
            Self::Each(each) => ([Some(&each.body[..]), None], &[][..]),
            _ => ([None; 2], &[][..]),
        };
        pair.into_iter().flatten().chain(branches.iter().map(|steps| &steps[..]))
    }
}

/// Memory of the arena that values share one after the other, and when they live.
#[derive(Debug, Clone)]
pub struct ArenaSlot {
    /// Where it begins in the arena.
    pub offset: usize,
    /// The length.
    pub bytes: usize,
    /// The position in program order at which the first value is made.
    pub first: usize,
    /// The position at which the last is read.
    pub last: usize,
    /// The first value; `None` for scratch memory of a step.
    pub shape: Option<Shape>,
    /// The step that makes it.
    pub name: Arc<str>,
    /// Where that was written.
    pub location: LocationId,
}

impl ArenaSlot {
    /// The first and the last position at which what it has lives, and its bytes.
    pub fn life(&self) -> (usize, usize, usize) {
        (self.first, self.last, self.bytes)
    }
}

/// What a chip stores and a run here does not.
#[derive(Debug, Clone)]
pub struct StoredByChip {
    /// What all of it takes, beside the arena.
    pub bytes: usize,
    /// How many arrays it is besides the largest one, where that is known.
    pub others: usize,
    /// The largest array of it.
    pub shape: Shape,
    /// The step that reads or makes that.
    pub name: Arc<str>,
    /// Where that was written.
    pub location: LocationId,
}

/// A program that is ready to run.
///
/// Memories are numbered: 0 is the arena, 1 the pool of constants, then come the parameters and
/// then the results. A donated parameter and the result that takes it over have the same memory.
/// Windows have numbers of their own, from `Plan::WINDOWS` on: each is a piece of another memory,
/// and steps say which.
#[derive(Debug, Default)]
pub struct Plan {
    /// The steps, in the order in which they run.
    pub steps: Vec<Step>,
    /// Bytes of the arena.
    pub arena: usize,
    /// Bytes of host memory for what a plan that is only told has there.
    pub host: usize,
    /// The constants.
    pub pool: Vec<u8>,
    /// The shapes of the larger ones.
    pub constants: Vec<Shape>,
    /// How many parameters there are.
    pub(crate) parameters: usize,
    /// Bytes that one run moves, loops counted once: decides whether it runs on the caller's
    /// thread.
    pub work: f64,
    /// What a chip has beside the arena, where passes that it does not have leave it out here.
    pub stored: Option<StoredByChip>,
    /// The largest values of the arena: shape, step's name, where it was written.
    pub largest: Vec<(Shape, Arc<str>, LocationId)>,
    /// What lies in the arena, and when, in the order of their beginnings.
    pub slots: Vec<ArenaSlot>,
    /// How many positions program order has.
    pub positions: usize,
    /// Custom calls.
    pub calls: usize,
    /// Whether some step does more than give results, or takes unknown time.
    pub loops: bool,
    /// The channels between the program and its client, and where they are used.
    pub channels: Vec<(Channel, LocationId)>,
    /// Whether it waits for other replicas of its run.
    pub(crate) meets: bool,
    /// How many windows there are.
    pub windows: usize,
}

impl Plan {
    /// Number of the arena's memory.
    pub(crate) const ARENA: u32 = 0;
    /// Number of the pool's.
    pub(crate) const POOL: u32 = 1;
    /// Number of the first parameter's.
    pub(crate) const PARAMETERS: u32 = 2;
    /// Number of the first window.
    pub(crate) const WINDOWS: u32 = 1 << 31;

    /// Whether a run waits for somebody, for as long as they please.
    pub fn waits(&self) -> bool {
        self.meets || !self.channels.is_empty()
    }

    /// Number of the first result's memory.
    pub fn results(&self) -> u32 {
        Self::PARAMETERS + u32::try_from(self.parameters).unwrap_or(u32::MAX)
    }

    /// Whether each element of what it makes has the same bits however many there are: its steps
    /// move elements, or compute each from others at its place.
    pub fn is_by_elements(&self) -> bool {
        fn all(steps: &[Step]) -> bool {
            steps.iter().all(|step| match &step.kind {
                PlannedStep::Fused(_)
                | PlannedStep::StridedCopy(_)
                | PlannedStep::Copies(_)
                | PlannedStep::Window(_)
                | PlannedStep::Unpack { .. }
                | PlannedStep::Pack { .. } => true,
                PlannedStep::Rows { rows, .. } => rows.is_by_elements(),
                PlannedStep::Kernel { kernel, .. } => {
                    let moves = || kernel.moves(MAX_MOVED_PARTS).is_some();
                    kernel.joins().is_some() || kernel.lookup().is_some() || moves()
                }
                PlannedStep::While { .. } | PlannedStep::Branch { .. } | PlannedStep::Each(_) => {
                    step.kind.blocks().all(all)
                }
            })
        }
        all(&self.steps)
    }

    /// The steps that are run once more because there was no room for what they had made.
    pub fn rematerialized(&self) -> Vec<&Step> {
        fn find<'p>(steps: &'p [Step], into: &mut Vec<&'p Step>) {
            for step in steps {
                if step.name.ends_with(REMATERIALIZED) {
                    into.push(step);
                }
                step.kind.blocks().for_each(|steps| find(steps, into));
            }
        }
        let mut found = Vec::new();
        find(&self.steps, &mut found);
        found
    }

    /// Bytes of the steps themselves.
    pub fn size(&self) -> usize {
        fn count(steps: &[Step]) -> usize {
            let inside = |step: &Step| step.kind.blocks().map(count).sum::<usize>();
            let own = |step: &Step| 1 + step.operands.len() + step.results.len() + inside(step);
            steps.iter().map(own).sum()
        }
        count(&self.steps) * size_of::<Slot>()
    }
}

/// Bits of an element, and bytes of all elements packed.
fn packed_size(shape: &Shape) -> (u32, usize) {
    let bits = shape.dtype.element().bits;
    (bits, (shape.elements() * bits as usize).div_ceil(8))
}
