//! The form of a kernel that is ready to run: steps with jumps over numbered registers, views and
//! slots. A kernel is lowered to it once, when its program is compiled.
//!
//! * A *register* is a scalar integer, boolean or index, as an `i64` with the sign of its type.
//! * A *view* is a part of a memory: what a memref is while the kernel runs.
//! * A *slot* has the elements of a vector, or a scalar float, between two pieces.
//! * A *piece* is a run of operations without effects: a program of its own, planned like any
//!   other of the machine ([`crate::piece`]). What it loads and stores belongs to its step.
use crate::piece::Piece;
use std::sync::Arc;
use tpu_base::tensor::{DType, Shape};
use tpu_mosaic::ir::{CoreType, LocationId, Locations, MemorySpace};

/// A register.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Register(pub(crate) u32);

/// A view.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct ViewId(pub(crate) u32);

/// A slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct SlotId(pub(crate) u32);

/// A scalar integer: known when the kernel is compiled, or in a register.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Int {
    /// The number.
    Known(i64),
    /// Where it is.
    In(Register),
}

/// A kernel that is ready to run.
#[derive(Debug, Default)]
pub(crate) struct Program {
    /// The name that its author gave it.
    pub(crate) name: Arc<str>,
    /// What it does.
    pub(crate) steps: Vec<Step>,
    /// Where each step was written.
    pub(crate) places: Vec<LocationId>,
    /// What the places stand for.
    pub(crate) locations: Locations,
    /// Kernels: one on a TensorCore, one for each kind of core on SparseCores.
    pub(crate) entries: Vec<Entry>,
    /// Whether semaphores that are not zero at the end are mistakes.
    pub semaphore_checks: bool,
    /// How many registers there are.
    pub(crate) registers: usize,
    /// How many views there are.
    pub(crate) views: usize,
    /// Whether arrays outside of its cores have the tiles of a TensorCore, not a SparseCore's.
    pub(crate) compact_arrays: bool,
    /// Whether accesses that lead out of their memory are errors.
    pub(crate) bounds_checks: bool,
    /// Bytes of each slot.
    pub(crate) slots: Vec<usize>,
}

/// A function that begins a kernel.
#[derive(Debug)]
pub(crate) struct Entry {
    /// The step that it begins with.
    pub(crate) start: usize,
    /// Where it runs.
    pub(crate) core: CoreType,
    /// The dimensions of the grid that are cores, and those that are subcores: each of their
    /// points is an instance.
    pub(crate) cores: Cores,
    /// The grid; the number of the operand where the call gives an extent.
    pub(crate) grid: Vec<Extent>,
    /// How many dimensions of the grid, from the first on, have points that are independent, as
    /// the kernel says.
    pub(crate) independent: usize,
    /// The register with the index of each dimension of the grid.
    pub(crate) indices: Vec<Register>,
    /// Arguments behind the indices.
    pub(crate) arguments: Vec<Argument>,
}

impl Entry {
    /// On how many cores it runs.
    pub(crate) fn core_count(&self) -> usize {
        match self.cores.core.and_then(|at| self.grid.get(at)) {
            Some(&Extent::Known(count)) => usize::try_from(count).unwrap_or(1),
            Some(Extent::Operand(_)) | None => 1,
        }
    }
}

/// Which dimensions of a grid are not gone through, but run beside each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Cores {
    /// The one that is cores.
    pub(crate) core: Option<usize>,
    /// The one that is subcores.
    pub(crate) subcore: Option<usize>,
}

/// An extent of a grid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    /// It is known.
    Known(i64),
    /// The operand of the call that has it.
    Operand(usize),
}

/// An array of the call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Array {
    /// An operand.
    Operand(usize),
    /// A result.
    Result(usize),
}

/// An argument of a kernel that is a memory.
#[derive(Debug)]
pub(crate) struct Argument {
    /// The view that the kernel has of it.
    pub(crate) view: ViewId,
    /// What lies there.
    pub(crate) cell: Cell,
    /// Extents; those that are dynamic are the array's.
    pub(crate) dims: Vec<usize>,
    /// In which memory.
    pub(crate) space: MemorySpace,
    /// Where it comes from.
    pub(crate) source: Source,
    /// Whether the kernel writes to it.
    pub(crate) written: bool,
    /// Whether the kernel writes all of it at each point of the grid, before it reads there.
    pub(crate) covered: bool,
}

impl Argument {
    /// Whether it is an array of the call in memory that each core has for itself.
    pub(crate) fn is_of_core(&self) -> bool {
        match self.source {
            Source::Copy(_) => true,
            Source::Whole(_) => matches!(self.cell, Cell::Semaphore(_)),
            Source::Window(_) | Source::Scratch => false,
        }
    }
}

/// What lies in a memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cell {
    /// Elements.
    Element(DType),
    /// Semaphores; whether they count bytes.
    Semaphore(bool),
}

impl Cell {
    /// What one is kept as.
    pub(crate) fn dtype(self) -> DType {
        match self {
            Self::Element(dtype) => dtype,
            Self::Semaphore(_) => DType::S32,
        }
    }
}

/// Where an argument comes from.
#[derive(Debug)]
pub(crate) enum Source {
    /// The array, where it lies.
    Whole(Array),
    /// A copy of the array, made at the start; of a result, the array is made of it at the end.
    Copy(Array),
    /// A block of the array, another one at each point of the grid.
    Window(Window),
    /// Memory of the kernel's own.
    Scratch,
}

impl Source {
    /// The array of the call, if it is one.
    pub(crate) fn array(&self) -> Option<Array> {
        match self {
            Self::Whole(array) | Self::Copy(array) => Some(*array),
            Self::Window(window) => Some(window.array),
            Self::Scratch => None,
        }
    }
}

/// How blocks of an array come and go.
#[derive(Debug)]
pub(crate) struct Window {
    /// The array.
    pub(crate) array: Array,
    /// Extents of the array.
    pub(crate) of: Vec<usize>,
    /// Extents of a block.
    pub(crate) bounds: Vec<usize>,
    /// The block of a point, once the index map has run.
    pub(crate) index: Vec<Int>,
    /// Indices are elements, and blocks begin so far below them.
    pub(crate) low: Option<Vec<i64>>,
    /// Whether a block of a result may be entered again later.
    pub(crate) revisits: bool,
    /// Whether the index map reads memory.
    pub(crate) follows_data: bool,
    /// Where the index map was written.
    pub(crate) place: LocationId,
}

/// One step.
#[derive(Debug)]
pub(crate) enum Step {
    /// Arithmetic on scalars.
    Scalar(Scalar),
    /// One of two scalars.
    Choose { condition: Int, a: Int, b: Int, to: Register },
    /// A scalar to a register.
    Move { from: Int, to: Register },
    /// Goes to a step.
    Jump(usize),
    /// Goes to a step where a scalar is zero.
    JumpUnless(Int, usize),
    /// Runs a piece with its loads and stores.
    Run(Box<Run>),
    /// Exchanges what two slots of a size have.
    Exchange(SlotId, SlotId),
    /// Copies a slot to another.
    Copy(SlotId, SlotId),
    /// Loads one integer.
    Load { from: ViewId, indices: Box<[Int]>, to: Register },
    /// Stores one integer.
    Store { value: Int, to: ViewId, indices: Box<[Int]> },
    /// Makes a view.
    View { from: ViewId, how: Box<Reshaping>, to: ViewId },
    /// Takes memory until [`Step::Free`].
    Allocate { to: ViewId, cell: Cell, dims: Box<[usize]>, space: MemorySpace },
    /// Gives memory back.
    Free(Box<[ViewId]>),
    /// Writes blocks of results back and fetches blocks of operands, where their indices changed.
    Blocks,
    /// Goes to the next point of the grid and to a step; on after the last one, when all blocks of
    /// results have been written back.
    NextPoint(usize),
    /// Ends the kernel.
    End,
    /// Fails unless a scalar is true.
    Assert { condition: Int, message: Arc<str> },
    /// Prints.
    Log(Box<Log>),
    /// Who or where the kernel is.
    Ask { what: Question, to: Register },
    /// Semaphores and copies that run beside the kernel.
    Sync(Box<Sync>),
    /// Seeds the generator of random numbers.
    Seed(Box<[Int]>),
    /// Random bits, 32 an element.
    Random { elements: usize, to: SlotId },
}

/// Arithmetic on scalars.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Scalar {
    /// What is computed.
    pub(crate) op: ScalarOp,
    /// Bits of the operands.
    pub(crate) bits: u32,
    /// The first operand.
    pub(crate) a: Int,
    /// The second; zero where there is none.
    pub(crate) b: Int,
    /// Where the result goes.
    pub(crate) to: Register,
}

/// Operations on scalar integers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum ScalarOp {
    Add,
    Sub,
    Mul,
    DivS,
    RemS,
    DivU,
    RemU,
    CeilDivS,
    CeilDivU,
    FloorDivS,
    And,
    Or,
    Xor,
    Shl,
    ShrS,
    ShrU,
    MaxS,
    MinS,
    MaxU,
    MinU,
    Abs,
    CountOnes,
    LeadingZeros,
    /// To a type of so many bits, with the sign.
    Signed,
    /// To a type of so many bits, from the bits without a sign.
    Unsigned(u32),
    Eq,
    Ne,
    LtS,
    LeS,
    GtS,
    GeS,
    LtU,
    LeU,
    GtU,
    GeU,
}

/// A part of a memory as a vector.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Access {
    /// The memory.
    pub(crate) view: ViewId,
    /// The first element.
    pub(crate) indices: Box<[Int]>,
    /// Extents, one for each dimension of the view.
    pub(crate) dims: Box<[usize]>,
    /// Elements from one to the next in each dimension, where that is not 1.
    pub(crate) strides: Option<Box<[usize]>>,
}

/// A piece with what it takes and gives.
#[derive(Debug)]
pub(crate) struct Run {
    /// The code.
    pub(crate) piece: Arc<Piece>,
    /// What it takes.
    pub(crate) inputs: Vec<(Input, LocationId)>,
    /// What it gives.
    pub(crate) outputs: Vec<(Output, LocationId)>,
}

/// What a piece takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Input {
    /// A vector that another step made.
    Slot(SlotId),
    /// A scalar.
    Scalar(Int, DType),
    /// A load.
    Load(Access),
}

/// What a piece gives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Output {
    /// A vector for other steps.
    Slot(SlotId),
    /// A scalar.
    Scalar(Register, DType),
    /// A store.
    Store(Access),
}

/// What is made of a view.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Reshaping {
    /// A part.
    Slice {
        /// Where it begins.
        indices: Box<[Int]>,
        /// Extents of the part.
        sizes: Box<[Int]>,
    },
    /// Without these dimensions, each of one element.
    Squeeze(Box<[usize]>),
    /// The same elements with other extents.
    Reshape(Box<[usize]>),
    /// The same bits as elements of another type.
    Bitcast(DType, Box<[usize]>),
}

/// What a kernel asks of the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Question {
    /// The extent of a dimension of the grid.
    Bound(usize),
    /// The number of the device in the run.
    Device,
    /// The number of the core.
    Core,
    /// The number of the subcore.
    Subcore,
}

/// What is printed.
#[derive(Debug)]
pub(crate) struct Log {
    /// The text.
    pub(crate) tag: Arc<str>,
    /// Whether values stand in the text.
    pub(crate) formatted: bool,
    /// The values.
    pub(crate) values: Vec<Logged>,
}

/// A value that is printed.
#[derive(Debug)]
pub(crate) enum Logged {
    /// A scalar.
    Scalar(Int, DType),
    /// A vector.
    Slot(SlotId, Shape),
    /// What lies in a memory, with the extents that count.
    View(ViewId, Box<[usize]>),
}

/// Which core of which device is meant, where it is not the kernel's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Peer {
    /// The number of the device in the run.
    pub(crate) device: Option<Int>,
    /// The number of the core.
    pub(crate) core: Option<Int>,
    /// The number of the subcore.
    pub(crate) subcore: Option<Int>,
    /// The kind of core, if it is another one.
    pub(crate) kind: Option<CoreType>,
}

/// Semaphores, and copies that run beside the kernel.
#[derive(Debug)]
pub(crate) enum Sync {
    /// Adds to a semaphore.
    Signal { semaphore: ViewId, amount: Int, peer: Peer },
    /// Waits until a semaphore has so much, and takes it away.
    Wait { semaphore: ViewId, amount: Int },
    /// What a semaphore has.
    Read { semaphore: ViewId, to: Register },
    /// The semaphore that the devices of a collective share.
    Barrier { to: ViewId },
    /// Begins a copy.
    Enqueue {
        source: ViewId,
        source_semaphore: Option<ViewId>,
        target: ViewId,
        target_semaphore: Option<ViewId>,
        peer: Peer,
    },
    /// Begins a copy of rows at computed places.
    Indirect(Box<Indirect>),
    /// Waits for the other subcores of the core.
    Meet { barrier: Int },
    /// Adds to a scalar of another subcore's memory; gives what was there.
    FetchAdd { view: ViewId, indices: Box<[Int]>, value: Int, core: Int, to: Register },
    /// Waits until so many bytes have come as a view has.
    WaitCopy { semaphore: ViewId, size: ViewId },
}

/// A copy of rows at computed places.
#[derive(Debug)]
pub(crate) struct Indirect {
    pub(crate) source: ViewId,
    pub(crate) target: ViewId,
    /// The rows.
    pub(crate) offsets: Offsets,
    /// The offset of rows that are left out.
    pub(crate) filter: Option<Int>,
    pub(crate) semaphore: ViewId,
    /// Whether rows of the source are selected; those of the target otherwise.
    pub(crate) gathers: bool,
    /// The sum of two rows, where rows are added.
    pub(crate) add: Option<Arc<Piece>>,
}

/// The rows of a copy.
#[derive(Debug)]
pub(crate) enum Offsets {
    /// In a memory.
    View(ViewId),
    /// A vector.
    Slot(SlotId, Shape),
}
