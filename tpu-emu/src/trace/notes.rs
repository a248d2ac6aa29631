//! What a trace tells besides changes, custom calls and faults.
use super::encode::SpaceInfo;
use crate::origin::{Origin, StackId};
use std::borrow::Cow;
use std::sync::Arc;
use tpu_base::units::{Bytes, DevAddr, Nanos};

/// The most holes that a refusal lists.
pub const HOLES_LISTED: usize = 256;

/// Spaces that were used, each with the sequence of its last change: an exact moment.
pub type Places = Vec<(u32, u64)>;

/// Something other than a change that a trace tells.
#[derive(Debug, Clone, Copy)]
pub enum Note<'a> {
    /// A moment that somebody named.
    Mark(&'a Mark<'a>),
    /// A program, before its first launch ends.
    Program(&'a ProgramPlan),
    /// A run of a program on one device.
    Launch(&'a LaunchRun),
    /// The beginning of the end.
    ClientEnd(&'a ClientEnd<'a>),
    /// A memory of a core, before its first change.
    Space(&'a SpaceInfo),
    /// A program that was not compiled, because it needs more than a device has.
    RefusedProgram(&'a RefusedProgram),
}

/// A program that needs more memory than a device has. Its plan was told before, under its number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedProgram {
    /// The program's number in this trace.
    pub program: u64,
    /// Who wanted it compiled, and when.
    pub origin: Origin,
    /// Bytes that programs can use on each device.
    pub available: Bytes,
    /// The outermost line of those by which its largest temporary, or its last operation, was
    /// written: clients compile on threads of their own, whose stacks have none. Empty where unknown.
    pub line: String,
    /// Numbers of the devices that it was to run on.
    pub devices: Vec<u64>,
    /// What would make it fit, in words, each tried by compiling it so.
    pub advice: Vec<String>,
}

/// A moment that somebody named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mark<'a> {
    /// The name.
    pub name: &'a str,
    /// Who named it, and when.
    pub origin: Origin,
    /// How far each space was.
    pub places: Places,
}

/// The first sign that a client cleans up: what it frees from here on says nothing of the program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientEnd<'a> {
    /// What the sign was.
    pub why: &'a str,
    /// Who gave it, and when.
    pub origin: Origin,
    /// How far each space was.
    pub places: Places,
}

/// A count of calls of one function from one stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ApiCalls<'a> {
    /// The API function.
    pub function: &'a str,
    /// Who called; the empty stack for calls whose stack was not taken.
    pub stack: StackId,
    /// The thread of the first of them.
    pub thread: u32,
    /// When that was.
    pub first: Nanos,
    /// The numbers.
    pub counts: CallCounts,
}

/// The numbers of a count of calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CallCounts {
    /// Calls.
    pub count: u64,
    /// The sum of their times.
    pub time: Nanos,
    /// Bytes that they took in a memory space or read from one.
    pub bytes: Bytes,
    /// How many of them failed.
    pub errors: u64,
}

/// One call of an API function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ApiCall<'a> {
    /// The function.
    pub function: &'a str,
    /// Who called.
    pub stack: StackId,
    /// On which thread.
    pub thread: u32,
    /// When it began.
    pub time: Nanos,
    /// From the call to its end.
    pub duration: Nanos,
    /// Bytes that it took in a memory space or read from one.
    pub bytes: Bytes,
    /// The number of its error; 0 for none.
    pub code: u32,
}

/// The free memory of a space at a refusal.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FreeList {
    /// The space.
    pub space: u32,
    /// The sequence of its last change.
    pub sequence: u64,
    /// What was asked for, rounded to granules.
    pub asked: Bytes,
    /// Sum of the live blocks.
    pub in_use: Bytes,
    /// Sum of the holes.
    pub free: Bytes,
    /// How many there are.
    pub count: u64,
    /// The largest of them, at most [`HOLES_LISTED`], the largest first.
    pub holes: Vec<(DevAddr, Bytes)>,
    /// The launch that asked; `None` outside of one, and where it is not known.
    pub launch: Option<LaunchNeeds>,
}

/// What a launch that found no room asked for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LaunchNeeds {
    /// The module's name.
    pub program: String,
    /// Blocks that it had taken, and has given back.
    pub before: Vec<Bytes>,
    /// Blocks that it would have taken behind what was refused.
    pub rest: Vec<Bytes>,
    /// Arguments on the device.
    pub arguments: Vec<LaunchArgument>,
}

/// An argument of a launch that found no room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LaunchArgument {
    /// Number among the program's parameters.
    pub number: u64,
    /// First byte of its block.
    pub address: DevAddr,
    /// Number, from 1, of the block that would not be asked for if the argument was donated, of
    /// those before, the refused one and the rest; 0 for none.
    pub saves: u64,
}

/// A program and where its temporaries lie.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ProgramPlan {
    /// Number in this trace.
    pub number: u64,
    /// The module's name.
    pub name: Arc<str>,
    /// Bytes that a run takes for its temporaries on a device.
    pub temporaries: Bytes,
    /// Bytes of its constants on a device.
    pub constants: Bytes,
    /// Bytes of its parameters in HBM.
    pub arguments: Bytes,
    /// Bytes of its results in HBM.
    pub results: Bytes,
    /// The values in the memory of temporaries.
    pub values: Vec<PlannedValue>,
    /// Positions in program order; that of a value is less.
    pub positions: u64,
    /// Bytes of HBM without which it is refused when it is compiled.
    pub needed: Bytes,
    /// What another compiler plans, where it has planned these sizes. The values are the machine's
    /// in either case.
    pub other: Option<OtherPlanned>,
}

/// A program's temporaries as another compiler plans them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OtherPlanned {
    /// What it is called, as `libtpu 0.0.51`.
    pub planner: Arc<str>,
    /// Values that the other compiler plans, without their places in the memory of temporaries.
    pub values: Arc<[PlannedValue]>,
    /// Positions in its program order; that of a value is less.
    pub positions: u64,
}

/// A value in the memory of a program's temporaries, and when it lives in program order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PlannedValue {
    /// Where it begins.
    pub offset: u64,
    /// Bytes that it takes there.
    pub size: u64,
    /// Bytes of its elements, packed.
    pub logical: u64,
    /// The position at which it is made.
    pub first: u64,
    /// The last position at which it is read.
    pub last: u64,
    /// The type of its elements.
    pub dtype: Cow<'static, str>,
    /// Extents, major first.
    pub dims: Vec<u64>,
    /// The order of its axes in memory.
    pub layout: String,
    /// The operation that makes it.
    pub operation: Arc<str>,
    /// Where that was written: file and line; empty where unknown.
    pub line: String,
}

/// One run of a program on one device that has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LaunchRun {
    /// The program's number in this trace.
    pub program: u64,
    /// Number of the launch, which custom calls name too.
    pub run: u64,
    /// Number of the device among those of the topology.
    pub device: u64,
    /// Who launched it, and when.
    pub origin: Origin,
    /// When its first step ran.
    pub started: Nanos,
    /// When it ended.
    pub ended: Nanos,
    /// The number of its error; 0 for none.
    pub code: u32,
}
