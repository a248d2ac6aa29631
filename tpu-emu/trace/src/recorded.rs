//! What a trace has beside changes in memory: calls, marks, programs, holes, launches, ends.

/// All calls of one function from one stack. It counts on while the process runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Calls {
    /// Place of the function's name among the entries.
    pub function: u32,
    /// Place of the stack.
    pub stack: u32,
    /// The operating system's number of the thread that called first.
    pub thread: u64,
    /// Nanoseconds since the start of the machine at the first call.
    pub first: u64,
    /// How many.
    pub count: u64,
    /// Nanoseconds of all of them.
    pub nanos: u64,
    /// Bytes that they moved.
    pub bytes: u64,
    /// How many failed.
    pub errors: u64,
}

/// One call, of a trace that has each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SingleCall {
    /// Place of the function's name among the entries.
    pub function: u32,
    /// Place of the stack.
    pub stack: u32,
    /// The operating system's number of the thread.
    pub thread: u64,
    /// Nanoseconds since the start of the machine.
    pub time: u64,
    /// Nanoseconds that it took.
    pub duration: u64,
    /// Bytes that it moved.
    pub bytes: u64,
    /// A number of `PJRT_Error_Code`, 0 for success.
    pub status: u64,
}

/// The last change of each memory space that was used by then: the place of the space, and the
/// number of the change.
pub type Places = Vec<(u32, u64)>;

/// A point that the program named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mark {
    /// The name. Several marks may have the same.
    pub name: String,
    /// Place of the stack.
    pub stack: u32,
    /// The operating system's number of the thread.
    pub thread: u64,
    /// Nanoseconds since the start of the machine.
    pub time: u64,
    /// How far each memory space was.
    pub places: Places,
}

/// A compiled program, with the plan of its temporaries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// The number that launches name.
    pub number: u64,
    /// As `jit_step`.
    pub name: String,
    /// Bytes in memory of all temporaries.
    pub temporaries: u64,
    /// Bytes of the constants.
    pub constants: u64,
    /// Bytes of the arguments.
    pub arguments: u64,
    /// Bytes of the results.
    pub results: u64,
    /// The temporaries.
    pub slots: Vec<Slot>,
    /// How many positions the program has: its operations in their order.
    pub positions: u64,
    /// Bytes that a device must have, or the program is refused when it is compiled; 0 where the
    /// trace does not say.
    pub needed: u64,
    /// Who has planned these sizes, as `libtpu 0.0.51`; empty for tpu-emu. The slots are tpu-emu's
    /// in either case.
    pub planner: String,
    /// The temporaries as that planner has them, without the places in their block; none where it
    /// is tpu-emu, or the trace does not say.
    pub others: Vec<Slot>,
    /// How many positions the program has for that planner.
    pub other_positions: u64,
}

/// One temporary of a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slot {
    /// Where in the block of temporaries.
    pub offset: u64,
    /// Bytes there.
    pub size: u64,
    /// Bytes of its elements.
    pub logical: u64,
    /// The position that writes it.
    pub first: u64,
    /// The last position that reads it.
    pub last: u64,
    /// Element type.
    pub dtype: String,
    /// Extents.
    pub shape: Vec<u64>,
    /// As XLA writes it.
    pub layout: String,
    /// As `stablehlo.dot_general`.
    pub operation: String,
    /// Where it was written, as `train.py:12`; empty where unknown.
    pub line: String,
}

/// A program that was refused when it was compiled, because it needs more than a device has. Its
/// plan is that of the program of its number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedProgram {
    /// Number of the program.
    pub program: u64,
    /// Place of the stack.
    pub stack: u32,
    /// The operating system's number of the thread.
    pub thread: u64,
    /// Nanoseconds since the start of the machine.
    pub time: u64,
    /// Place of the name of the API function.
    pub entry: u32,
    /// Bytes that programs can use on each device.
    pub available: u64,
    /// The outermost line of those by which its largest temporary, or its last operation, was
    /// written; empty where unknown.
    pub line: String,
    /// Numbers of the devices that it was to run on.
    pub devices: Vec<u64>,
    /// What would make it fit, in words, each tried by compiling it so.
    pub advice: Vec<String>,
}

/// A name of Python that keeps an array.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KeepingName {
    /// Place of the memory space.
    pub(crate) space: u32,
    /// First byte of the array's block, or of the array in it.
    pub(crate) address: u64,
    /// As `__main__.trainer.history[41]`; where no name leads to it, why that is.
    pub(crate) path: String,
    /// How many changes stand before it.
    pub(crate) behind: usize,
}

/// The holes of a memory space when it refused an allocation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusalHoles {
    /// Place of the space.
    pub space: u32,
    /// Number of the space's last change.
    pub sequence: u64,
    /// Nanoseconds since the start of the machine.
    pub time: u64,
    /// Bytes that were asked for.
    pub asked: u64,
    /// Bytes of the live blocks.
    pub in_use: u64,
    /// Bytes of all holes.
    pub free: u64,
    /// Bytes of the largest.
    pub largest: u64,
    /// How many there were.
    pub count: u64,
    /// Address and size of the largest, largest first.
    pub list: Vec<(u64, u64)>,
    /// The program that was being launched; empty outside of a launch.
    pub program: String,
    /// Bytes that the launch would have asked for behind this.
    pub rest: Vec<u64>,
    /// Bytes that the launch had asked for before, block by block, and has given back.
    pub before: Vec<u64>,
    /// The arguments of the launch.
    pub arguments: Vec<LaunchArgument>,
    /// Place of the refusal among the events; `None` where the trace ends before it.
    pub refusal: Option<u32>,
}

/// An argument of a launch that found no room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LaunchArgument {
    /// Place of the argument among the program's parameters.
    pub number: u64,
    /// First byte of its block.
    pub address: u64,
    /// The number, from 1, of the block that the launch would not ask for if the argument was
    /// donated: of those before, what was refused and the rest. 0 for none.
    pub saves: u64,
}

/// The first sign that a client gives up what it holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientEnd {
    /// Nanoseconds since the start of the machine.
    pub time: u64,
    /// The operating system's number of the thread.
    pub thread: u64,
    /// Place of the stack.
    pub stack: u32,
    /// How far each memory space was.
    pub places: Places,
    /// What the sign was.
    pub why: String,
}

/// One run of a program on one device, which has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Launch {
    /// Number of the program.
    pub program: u64,
    /// Number of the run.
    pub run: u64,
    /// Number of the device.
    pub device: u64,
    /// The operating system's number of the thread that launched it.
    pub thread: u64,
    /// Place of the stack that launched it.
    pub stack: u32,
    /// Nanoseconds since the start of the machine when it was launched.
    pub enqueued: u64,
    /// When it began.
    pub started: u64,
    /// When it ended.
    pub ended: u64,
    /// A number of `PJRT_Error_Code`, 0 for success.
    pub status: u64,
}
