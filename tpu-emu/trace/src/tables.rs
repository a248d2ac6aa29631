//! What events name: spaces, array types, frames, stacks, labels; and the other records.
use crate::event::Events;
use crate::recorded::{
    Calls, ClientEnd, Launch, Mark, Program, RefusalHoles, RefusedProgram, SingleCall,
};
use std::collections::BTreeMap;

/// The process that wrote a trace.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Header {
    /// Version of the format, major and minor.
    pub format: (u16, u16),
    /// Process id.
    pub process: u64,
    /// Nanoseconds since 1970 at the time 0 of the events.
    pub started: u64,
    /// Version of the library.
    pub version: String,
    /// The topology, as `TPU_EMU_TOPOLOGY` takes it.
    pub topology: String,
}

/// A memory space: the HBM of a device, one kind of host memory, or a memory of a core.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Space {
    /// The number that the trace gives it.
    pub number: u64,
    /// The id of the device whose HBM it is; `None` for other memory.
    pub device: Option<u64>,
    /// `TPU_0`, or `host`.
    pub owner: String,
    /// `device`, `pinned_host` or `unpinned_host`; of a core `vmem`, `smem`, `vmem_shared` or
    /// `semaphores`.
    pub kind: String,
    /// Bytes that can be allocated.
    pub capacity: u64,
}

impl Space {
    /// What people call it: `TPU_0`, or `host pinned_host`.
    pub fn name(&self) -> String {
        match self.device {
            Some(_) if self.kind == "device" => self.owner.clone(),
            _ => format!("{} {}", self.owner, self.kind),
        }
    }
}

/// What lies in a block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArraySpec {
    /// The element type as HLO names it: `f32`, `bf16`, `s4`.
    pub dtype: String,
    /// Extents, major first.
    pub shape: Vec<u64>,
    /// As XLA writes it: `{1,0:T(8,128)}`.
    pub layout: String,
    /// Bytes of the elements, sub-byte types packed.
    pub logical: u64,
    /// Bytes in the device's memory, padded to tiles.
    pub padded: u64,
}

impl ArraySpec {
    /// `f32[8,128]{1,0:T(8,128)}`.
    pub fn text(&self) -> String {
        format!("{}{}", self.short_text(), self.layout)
    }

    /// `f32[8,128]`.
    pub fn short_text(&self) -> String {
        let shape: Vec<String> = self.shape.iter().map(u64::to_string).collect();
        format!("{}[{}]", self.dtype, shape.join(","))
    }
}

/// One function at a frame; a frame has several where the compiler put them into one another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FramePart {
    /// The function's name, demangled.
    pub function: String,
    /// The source file, empty where unknown.
    pub file: String,
    /// The line in the file, 0 where unknown.
    pub line: u64,
    /// The library or program that holds the code.
    pub module: String,
    /// Whether it is a Python frame.
    pub is_python: bool,
}

/// All stacks of a trace, as a tree: stacks with the same callers share them.
#[derive(Debug, Clone)]
pub struct Stacks {
    /// The caller and the frame of each; the first is the empty stack.
    nodes: Vec<(u32, u32)>,
    frames: Vec<Vec<FramePart>>,
}

impl Default for Stacks {
    fn default() -> Self {
        Self { nodes: vec![(0, 0)], frames: Vec::new() }
    }
}

impl Stacks {
    /// How many stacks there are, the empty one included.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there is only the empty stack.
    pub fn is_empty(&self) -> bool {
        self.nodes.len() == 1
    }

    /// The stack that called, and the functions of the innermost frame; `None` for the empty stack.
    pub fn node(&self, stack: u32) -> Option<(u32, &[FramePart])> {
        let &(caller, frame) = self.nodes.get(stack as usize).filter(|_| stack != 0)?;
        Some((caller, &self.frames[frame as usize]))
    }

    /// The caller of a stack and the place of its innermost frame; `None` for the empty stack.
    pub fn link(&self, stack: u32) -> Option<(u32, u32)> {
        self.nodes.get(stack as usize).filter(|_| stack != 0).copied()
    }

    /// The functions at each code address, innermost first.
    pub fn all_frames(&self) -> &[Vec<FramePart>] {
        &self.frames
    }

    /// The functions of a stack, innermost first.
    pub fn frames(&self, stack: u32) -> impl Iterator<Item = &FramePart> {
        let first = self.node(stack);
        std::iter::successors(first, |&(caller, _)| self.node(caller)).flat_map(|(_, parts)| parts)
    }

    /// Adds a frame, and gives its place.
    pub(crate) fn add_frame(&mut self, parts: Vec<FramePart>) -> u32 {
        self.frames.push(parts);
        place(self.frames.len())
    }

    /// Adds a stack, and gives its place.
    pub(crate) fn add(&mut self, caller: u32, frame: u32) -> u32 {
        self.nodes.push((caller, frame));
        place(self.nodes.len())
    }
}

/// The place of the last of `count`. Tables end at 2³² rows, which the reader sees to.
pub(crate) fn place(count: usize) -> u32 {
    u32::try_from(count - 1).unwrap_or(u32::MAX)
}

/// How full a space is at the end of a snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Usage {
    /// Place of the space.
    pub space: u32,
    /// Bytes of the live blocks.
    pub in_use: u64,
    /// The most bytes that were in use.
    pub peak: u64,
    /// Allocations so far.
    pub allocations: u64,
    /// Bytes of the largest block that would fit.
    pub largest_hole: u64,
}

/// An operand or a result of a custom call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Argument {
    /// Element type.
    pub dtype: String,
    /// Extents.
    pub shape: Vec<u64>,
    /// Where it lies in the device's memory; `None` for memory elsewhere.
    pub address: Option<u64>,
    /// Bytes.
    pub size: u64,
}

/// One stage of a custom call that has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dispatch {
    /// Number of the device.
    pub device: u64,
    /// 0 instantiate, 1 prepare, 2 initialize, 3 execute.
    pub stage: u64,
    /// Number of the launch.
    pub run: u64,
    /// The custom call's target.
    pub target: String,
    /// Name of the program.
    pub program: String,
    /// Where the call was written.
    pub line: String,
    /// Operands.
    pub operands: Vec<Argument>,
    /// Results.
    pub results: Vec<Argument>,
    /// Names and values, as MLIR text.
    pub attributes: Vec<(String, String)>,
    /// What an untyped call has instead.
    pub opaque: String,
    /// Place of the stack.
    pub stack: u32,
    /// The operating system's number of the thread.
    pub thread: u64,
    /// Nanoseconds since the start of the machine.
    pub time: u64,
    /// The API function.
    pub entry: String,
    /// Nanoseconds from the call to its end.
    pub duration: u64,
    /// Address and size of each block that the handler took.
    pub scratch: Vec<(u64, u64)>,
    /// Why it failed; empty for success.
    pub error: String,
}

/// A call that was refused because of what its client gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// What was wrong.
    pub message: String,
    /// Place of the stack.
    pub stack: u32,
    /// The operating system's number of the thread.
    pub thread: u64,
    /// Nanoseconds since the start of the machine.
    pub time: u64,
    /// The API function.
    pub entry: String,
}

/// What the writer could not write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Loss {
    /// Changes, custom calls and faults that are missing at the end.
    pub records: u64,
    /// The system's number of the reason; 0 where another program changed the file.
    pub error: u64,
}

/// A trace: its events, and what they name.
#[derive(Debug, Clone, Default)]
pub struct Trace {
    /// The process.
    pub header: Header,
    /// Memory spaces.
    pub spaces: Vec<Space>,
    /// Array types.
    pub specs: Vec<ArraySpec>,
    /// Stacks and their frames.
    pub stacks: Stacks,
    /// What programs took blocks for; the first is empty.
    pub labels: Vec<String>,
    /// API functions; the first is empty.
    pub entries: Vec<String>,
    /// Changes in memory.
    pub events: Events,
    /// Custom calls.
    pub dispatches: Vec<Dispatch>,
    /// Refused calls.
    pub faults: Vec<Fault>,
    /// How full spaces are; of a snapshot alone.
    pub usages: Vec<Usage>,
    /// Calls of each function from each stack; since version 1.5, as all that follow but the last.
    pub calls: Vec<Calls>,
    /// Each call, where the process was asked for them.
    pub single_calls: Vec<SingleCall>,
    /// Points that the program named.
    pub marks: Vec<Mark>,
    /// Programs that were launched.
    pub programs: Vec<Program>,
    /// Holes at refusals.
    pub refusal_holes: Vec<RefusalHoles>,
    /// The last first sign of a client's clean-up; a process may have one client after another.
    pub client_end: Option<ClientEnd>,
    /// Runs of programs that have ended.
    pub launches: Vec<Launch>,
    /// Programs that were not compiled, because they need more than a device has.
    pub refused_programs: Vec<RefusedProgram>,
    /// Names of Python that keep arrays, by the place of the change that took their block.
    pub names: BTreeMap<u32, Vec<String>>,
    /// What is missing at the end, where the writer could write no more.
    pub loss: Option<Loss>,
    /// Whether the last record is cut off, as a process leaves it that is killed.
    pub is_cut: bool,
    /// From which byte of the file to which it is not what was written, for the first time.
    pub damaged: Option<(u64, u64)>,
}

impl Trace {
    /// The program of a number that launches name.
    pub fn program(&self, number: u64) -> Option<&Program> {
        self.programs.iter().find(|program| program.number == number)
    }

    /// The holes that a refusal found, where the trace has them.
    pub fn holes_of(&self, refusal: u32) -> Option<&RefusalHoles> {
        self.refusal_holes.iter().find(|holes| holes.refusal == Some(refusal))
    }
}
