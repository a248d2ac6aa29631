//! One machine: its memories, and what runs on them.
use super::callback_order::CallbackOrder;
use super::in_flight::InFlight;
use super::launch_watch::LaunchWatch;
use super::processes::Processes;
use super::rendezvous::RendezvousTable;
use super::replica_runs::ReplicaRuns;
use crate::config::Config;
use crate::executable::Executable;
use crate::ledger::Ledger;
use crate::memory::Memories;
use crate::workers::Workers;
use std::num::NonZeroUsize;
use std::ops::Deref;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tpu_base::error::{Error, Result};
use tpu_kernels::simd;
use tpu_ops::Numerics;
use tpu_ops::custom_call::Registry;

/// One emulated machine: every device of a topology, with one ledger, and the runs of programs.
#[derive(Debug)]
pub struct Emulator {
    memories: Arc<Memories>,
    process_index: i32,
    numerics: Numerics,
    custom_calls: Arc<Registry>,
    /// Makes the kernels of Pallas.
    pallas: tpu_pallas::Compiler,
    call_timeout: Duration,
    hosts_timeout: Duration,
    pub(super) in_flight: Arc<InFlight>,
    pub(super) callback_order: CallbackOrder,
    pub(super) rendezvous: RendezvousTable,
    pub(super) replica_runs: ReplicaRuns,
    /// The other processes of the slice, once this one has joined them.
    pub(super) processes: OnceLock<Result<Arc<Processes>>>,
    /// Threads for the tasks of custom calls, which programs wait for.
    pub(super) tasks: Workers,
    /// Launches so far.
    launches: AtomicI64,
    /// Programs so far that the trace knows.
    programs: AtomicU64,
    /// Launches so far of programs that draw random numbers without a state.
    draws: AtomicU64,
    /// Who hears of every run.
    watch: OnceLock<Arc<dyn LaunchWatch>>,
}

/// A machine can do all that its memories can.
impl Deref for Emulator {
    type Target = Arc<Memories>;

    fn deref(&self) -> &Self::Target {
        &self.memories
    }
}

impl Emulator {
    /// Builds a machine. Reserves nothing: a heap's memory is mapped by its first allocation.
    ///
    /// # Errors
    /// `BadArgument` for a process index that the topology does not have.
    pub fn new(config: Config) -> Result<Arc<Self>> {
        let Config { topology, hbm, process_index, history, numerics, .. } = config;
        let Config { threads, custom_calls, call_timeout, stacks, clock, sink, .. } = config;
        let Config { host_memory, poison, vectors, hosts_timeout, outside, pallas, .. } = config;
        simd::limit(vectors);
        let processes = topology.process_count();
        let generation = topology.generation();
        let tensor_cores = usize::try_from(generation.num_cores).unwrap_or(1);
        let of_cores = (generation.least_words(), tensor_cores);
        if !(0..processes).contains(&process_index) {
            let message = format!("process index {process_index} of {processes} processes");
            return Err(Error::bad(message));
        }
        let ledger = Ledger::new(stacks, clock, sink, history);
        let workers = Workers::new(threads.unwrap_or_else(Workers::of_this_host));
        let memories = Memories::new(topology, hbm, (host_memory, poison), ledger, workers);
        Ok(Arc::new(Self {
            memories: Arc::new(memories),
            process_index,
            numerics,
            custom_calls,
            pallas: tpu_pallas::Compiler::new(numerics, of_cores, outside, pallas),
            call_timeout,
            hosts_timeout,
            in_flight: Arc::default(),
            callback_order: CallbackOrder::default(),
            rendezvous: RendezvousTable::default(),
            replica_runs: ReplicaRuns::default(),
            processes: OnceLock::new(),
            tasks: Workers::new(NonZeroUsize::MIN),
            launches: AtomicI64::new(0),
            programs: AtomicU64::new(0),
            draws: AtomicU64::new(0),
            watch: OnceLock::new(),
        }))
    }

    /// The process of the slice that this one plays unless a client says otherwise.
    pub fn process_index(&self) -> i32 {
        self.process_index
    }

    /// How matrix products round.
    pub fn numerics(&self) -> Numerics {
        self.numerics
    }

    /// The targets that programs can call.
    pub fn custom_calls(&self) -> &Arc<Registry> {
        &self.custom_calls
    }

    /// What makes the kernels of Pallas.
    pub(crate) fn pallas(&self) -> &tpu_pallas::Compiler {
        &self.pallas
    }

    /// How long a launch waits for a custom call that goes on after its handler has returned, and
    /// a call for one device of a run for those of the others.
    pub fn call_timeout(&self) -> Duration {
        self.call_timeout
    }

    /// How long this process waits for the others of its slice, until they have joined and until
    /// they have launched a run.
    pub fn hosts_timeout(&self) -> Duration {
        self.hosts_timeout
    }

    /// Waits for the runs that call their clients, but no longer than `patience` for each
    /// device; whether some are still under way then. A client that ends asks until none are:
    /// what their callbacks need must be there as long.
    pub fn wait_for_clients(&self, patience: Duration) -> bool {
        // No thread of the parent's ends its runs in the child of a fork.
        !self.is_forked() && self.callback_order.wait(patience)
    }

    /// Tells somebody of every run from now on; the first who asks is the one.
    pub fn watch_launches(&self, watch: Arc<dyn LaunchWatch>) {
        // A second one would have missed the runs that are under way.
        let _ = self.watch.set(watch);
    }

    /// Who hears of every run.
    pub(super) fn launch_watch(&self) -> Option<&Arc<dyn LaunchWatch>> {
        self.watch.get()
    }

    /// A number for a program in the trace.
    pub(super) fn next_program(&self) -> u64 {
        self.programs.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// A number for a launch.
    pub(super) fn next_launch(&self) -> i64 {
        self.launches.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// The seed of a launch for what draws random numbers without a state: another one for each
    /// launch of a program that does, and the same ones in every process that launches the same.
    pub(super) fn seed(&self, executable: &Executable) -> u64 {
        if !executable.draws {
            return 0;
        }
        // Every bit of the count moves half of the bits of the seed.
        let count = self.draws.fetch_add(1, Ordering::Relaxed);
        [0xbf58_476d_1ce4_e5b9_u64, 0x94d0_49bb_1331_11eb]
            .into_iter()
            .fold(count, |bits, factor| (bits ^ (bits >> 30)).wrapping_mul(factor))
    }
}
