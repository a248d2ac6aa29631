//! What a machine is made of. Plain data: the host reads the environment, not this crate.
use crate::host_memory::{HostMemory, NoEnd};
use crate::origin::{Clock, NoStacks, StackSource};
use crate::topology::Topology;
use crate::trace::Sink;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;
use tpu_base::units::{Bytes, Nanos};
use tpu_kernels::simd::Level;
use tpu_ops::Numerics;
use tpu_ops::custom_call::Registry;

/// Past changes that are kept by default.
pub const DEFAULT_HISTORY: usize = 65_536;

/// How long a custom call may take to end what it left running.
pub const DEFAULT_CALL_TIMEOUT: Duration = Duration::from_secs(60);

/// How long a process of a slice waits for the others.
pub const DEFAULT_HOSTS_TIMEOUT: Duration = Duration::from_mins(5);

/// How to build a machine.
#[derive(Debug)]
pub struct Config {
    /// The chips and how they are connected.
    pub topology: Topology,
    /// Memory that programs can use on each device; `None` is the real chip's.
    pub hbm: Option<Bytes>,
    /// The process of the slice that this one plays.
    pub process_index: i32,
    /// The most past changes that the ledger keeps.
    pub history: usize,
    /// How matrix products round.
    pub numerics: Numerics,
    /// Threads that large steps of programs are split over; `None` is one a core.
    pub threads: Option<NonZeroUsize>,
    /// The widest vectors that programs use. The first machine of a process decides for all.
    pub vectors: Level,
    /// The targets that programs can call.
    pub custom_calls: Arc<Registry>,
    /// How long a launch waits for a custom call that goes on after its handler has returned, and
    /// a call for one device of a run for those of the others.
    pub call_timeout: Duration,
    /// How long a process waits for the others of its slice: until they have joined, and until
    /// they have launched a run that it has launched.
    pub hosts_timeout: Duration,
    /// Where stacks come from.
    pub stacks: Arc<dyn StackSource>,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// Where changes go as they happen.
    pub sink: Option<Box<dyn Sink>>,
    /// What the host has left; asked before something large is written.
    pub host_memory: Arc<dyn HostMemory>,
    /// How Pallas kernels are run.
    pub pallas: tpu_pallas::Settings,
    /// What they have of the process.
    pub outside: tpu_pallas::Outside,
    /// Whether memory that is taken, and memory that is given back, is filled with [`POISON`].
    pub poison: bool,
}

/// What poisoned memory is full of: not a number in the floating-point types of eight bits and
/// more that have a pattern of ones for it, -1 or the largest number in integers.
pub const POISON: u8 = 0xff;

impl Config {
    /// The common eight-chip host without stacks, trace or a running clock: for tests, and for
    /// machines that only compile.
    pub fn plain() -> Self {
        Self {
            topology: Topology::common_host(),
            hbm: None,
            process_index: 0,
            history: DEFAULT_HISTORY,
            numerics: Numerics::default(),
            threads: None,
            vectors: Level::Avx512,
            custom_calls: Arc::default(),
            call_timeout: DEFAULT_CALL_TIMEOUT,
            hosts_timeout: DEFAULT_HOSTS_TIMEOUT,
            stacks: Arc::new(NoStacks),
            clock: Arc::new(Still),
            sink: None,
            host_memory: Arc::new(NoEnd),
            pallas: tpu_pallas::Settings::default(),
            outside: tpu_pallas::Outside::default(),
            poison: false,
        }
    }
}

/// A clock that stands still.
#[derive(Debug)]
struct Still;

impl Clock for Still {
    fn now(&self) -> Nanos {
        Nanos(0)
    }
}
