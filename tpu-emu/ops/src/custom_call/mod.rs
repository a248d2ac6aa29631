//! Custom calls: code of others that runs inside of programs.
//!
//! The machine knows targets by their names and calls them stage by stage; what is behind a
//! target, C functions or anything else, is a door's affair.
mod kernel;
mod partitioner;
mod registry;

pub use kernel::CallKernel;
pub use partitioner::{DeviceCode, Partitioner, SplitArray, SplitCall};
pub use registry::{Registration, Registry};

use std::any::Any;
use std::fmt;
use std::sync::Arc;
use tpu_base::error::{Error, Result};
use tpu_base::event::Event;
use tpu_base::tensor::Shape;
use tpu_stablehlo::ir::Attributes;

/// When a target is called. The numbers are those of `XLA_FFI_ExecutionStage`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(i32)]
pub enum Stage {
    /// Once for each place in a program, when that is compiled.
    Instantiate = 0,
    /// Once a launch, before the program begins.
    Prepare = 1,
    /// Once a launch, after every call of the program is prepared.
    Initialize = 2,
    /// Whenever the program reaches the call.
    Execute = 3,
}

impl Stage {
    /// The name that handlers' errors and traces use.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Instantiate => "instantiate",
            Self::Prepare => "prepare",
            Self::Initialize => "initialize",
            Self::Execute => "execute",
        }
    }
}

/// How a target wants to be called, as the program says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Abi {
    /// Results and operands as pointers, nothing else.
    Original,
    /// Results and operands as pointers, and a place for an error.
    Status,
    /// Results and operands as pointers, a place for an error, and an opaque text.
    StatusUnified,
    /// XLA FFI: typed operands, results and attributes.
    Typed,
}

/// What the program tells the target besides its operands.
#[derive(Debug, Clone, PartialEq)]
pub enum Backend {
    /// Attributes by name, sorted; the typed interface.
    Attributes(Attributes),
    /// A text that means something to the target alone.
    Opaque(Arc<[u8]>),
}

/// One place in a program where a target is called.
#[derive(Debug, Clone, PartialEq)]
pub struct CallSite {
    /// The target's name.
    pub target: Arc<str>,
    /// The name that the client gave this call (`kernel_name`).
    pub kernel_name: Option<Arc<str>>,
    /// How it is called.
    pub abi: Abi,
    /// What it is told.
    pub backend: Backend,
    /// The operands as the handler sees them, tuples opened; a token is `token[]`.
    pub operands: Vec<Shape>,
    /// The results, likewise.
    pub results: Vec<Shape>,
    /// Whether the results are a tuple: several, none, or a tuple in the program.
    pub tuple: bool,
    /// The operand whose memory each result shares.
    pub aliases: Vec<Option<usize>>,
    /// The number of the device, among those of the program, that it runs on.
    pub partition: usize,
    /// Where it was written: file and line.
    pub line: Option<Arc<str>>,
}

/// Code that programs can call by name.
pub trait Target: fmt::Debug + Send + Sync {
    /// Stage [`Stage::Instantiate`]: a call at one place of one program. What it keeps dies with
    /// the program.
    ///
    /// # Errors
    /// The target's own.
    fn instantiate(&self, site: Arc<CallSite>) -> Result<Arc<dyn Call>>;
}

/// Makes the calls of a program that is being compiled.
pub trait Linker: fmt::Debug {
    /// The call at a place, from the target that the place names.
    ///
    /// # Errors
    /// As for [`Registry::find`] and [`Target::instantiate`].
    fn link(&self, site: CallSite) -> Result<Arc<dyn Call>>;

    /// Who splits the calls of a target over devices; `None`, where they are not split.
    fn partitioner(&self, target: &str) -> Option<Arc<dyn Partitioner>> {
        let _ = target;
        None
    }
}

impl Linker for Registry {
    fn link(&self, site: CallSite) -> Result<Arc<dyn Call>> {
        instantiate(&*self.find(&site.target, site.abi == Abi::Typed)?, Arc::new(site))
    }

    fn partitioner(&self, target: &str) -> Option<Arc<dyn Partitioner>> {
        self.partitioner_of(target)
    }
}

/// Makes a call; an error of the target's says whose it is.
pub fn instantiate(target: &dyn Target, site: Arc<CallSite>) -> Result<Arc<dyn Call>> {
    let name = Arc::clone(&site.target);
    target.instantiate(site).map_err(|error| {
        let message = format!("custom call \"{name}\": {error}").into();
        Error::Verbatim { code: error.code(), message }
    })
}

/// A target at one place of one program.
pub trait Call: fmt::Debug + Send + Sync {
    /// The place.
    fn site(&self) -> &Arc<CallSite>;

    /// Whether there is something to do at a stage.
    fn has(&self, stage: Stage) -> bool;

    /// What the target keeps for one launch, from [`Stage::Prepare`] on; `None` for nothing.
    fn begin(&self) -> Option<Arc<dyn Any + Send + Sync>>;

    /// A stage after [`Stage::Instantiate`].
    ///
    /// # Errors
    /// The target's own, in its words.
    fn run(&self, stage: Stage, moment: &Moment<'_>) -> Result<Progress>;
}

/// What a stage of a call may use. Memory stays where it is until the stage's [`Progress`] is
/// over.
#[derive(Debug)]
pub struct Moment<'a> {
    /// What the device does for the call.
    pub services: &'a Arc<dyn Services>,
    /// What [`Call::begin`] gave in this launch.
    pub state: Option<&'a Arc<dyn Any + Send + Sync>>,
    /// The operands' memory.
    pub operands: &'a [CallMemory],
    /// The results' memory. A result that shares an operand's memory is at the same address.
    pub results: &'a [CallMemory],
}

/// Memory of an operand or a result: dense, row-major, aligned to 64 bytes; booleans are bytes 0
/// and 1, elements narrower than a byte have one each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CallMemory {
    /// Host address of the first byte, with its provenance exposed.
    pub address: usize,
    /// How many bytes there are.
    pub bytes: usize,
}

/// How far a stage is when it returns.
#[derive(Debug)]
pub enum Progress {
    /// It is over.
    Done,
    /// It goes on; the event ends with it.
    Pending(Event),
}

/// What the device does for a running call.
pub trait Services: fmt::Debug + Send + Sync {
    /// Number of the device among those of the topology.
    fn device(&self) -> usize;

    /// A number that all calls of one launch share and no other launch has.
    fn run_id(&self) -> i64;

    /// Takes device memory; it is given back when the call is over, if not before.
    ///
    /// Units: bytes; the address is the host's.
    ///
    /// # Errors
    /// `OutOfMemory`; `BadArgument` for an alignment that is no power of two.
    fn allocate(&self, size: usize, alignment: usize) -> Result<usize>;

    /// Gives back what [`Services::allocate`] gave.
    ///
    /// # Errors
    /// `BadArgument` for an address that this call does not hold.
    fn free(&self, address: usize) -> Result<()>;

    /// Runs a task on some thread, now or later.
    fn schedule(&self, task: Box<dyn FnOnce() + Send>);

    /// How many threads tasks have.
    fn threads(&self) -> usize;

    /// What the client gave to this launch for its handlers.
    fn context(&self) -> Option<&Arc<dyn Any + Send + Sync>>;
}
