//! Launching programs on a machine.
use super::checks::{check_arguments, check_channels, check_donations};
use super::custom_call::{Context, Launch};
use super::dependencies::{ArgumentHolds, Placement, Runnable, Sources};
use super::in_flight::Permit;
use super::run_memory::RunMemory;
use super::workers::Rest;
use crate::buffer::{Block, Buffer, Hold};
use crate::executable::{Donation, Executable};
use crate::ledger::Origin;
use crate::machine::{Emulator, Memory, MemoryKind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tpu_base::error::{Error, Result};
use tpu_base::event::Event;
use tpu_base::units::{Bytes, to_usize};
use tpu_kernels::aligned::Aligned;
use tpu_ops::custom_call::Stage;
use tpu_ops::host_transfer::HostTransfers;
use tpu_ops::replica_exchange::Others;
use tpu_program::interpret::custom_call::{LaunchServices, PendingCall};
use tpu_program::interpret::frame::Frame;
use tpu_program::interpret::step::Interpreter;
use tpu_program::plan::ALIGN;

/// The blocks of one device's results.
pub(super) type Blocks = Vec<Option<Arc<Block>>>;

/// How one run is to be done.
#[derive(Debug, Clone, Default)]
pub struct LaunchOptions {
    /// Numbers of parameters that are not to be donated though the program says so.
    pub not_donated: Vec<usize>,
    /// What the client gives to the custom calls of this launch.
    pub context: Option<Context>,
    /// The client's side of the program's host transfers, one a device of the launch; empty if
    /// the client serves none.
    pub transfers: Vec<Arc<dyn HostTransfers>>,
}

impl LaunchOptions {
    /// Whether the client gives up the argument with this number.
    pub(super) fn gives(&self, executable: &Executable, index: usize) -> bool {
        executable.parameters[index].donation != Donation::Kept
            && !self.not_donated.contains(&index)
    }
}

/// A run that was started.
#[derive(Debug)]
pub struct Launched {
    /// The results; they become ready.
    pub results: Vec<Buffer>,
    /// Ends when the run has ended, with its error if it failed.
    pub done: Event,
}

impl Emulator {
    /// Starts a program on one device. Returns at once; errors of the run arrive through the
    /// results' events.
    ///
    /// # Errors
    /// `BadArgument` for arguments of another number, shape, type, device or memory than the
    /// parameters, and for deleted ones; `OutOfMemory` for the results; `FailedPrecondition` for
    /// a program with host transfers that the client does not serve.
    pub fn launch(
        self: &Arc<Self>,
        executable: &Arc<Executable>,
        device: usize,
        arguments: &[Arc<Buffer>],
        options: &LaunchOptions,
    ) -> Result<Launched> {
        self.launch_among(executable, device, arguments, options, None)
    }

    /// Launches a replica that meets others in its collectives.
    pub(super) fn launch_among(
        self: &Arc<Self>,
        executable: &Arc<Executable>,
        device: usize,
        arguments: &[Arc<Buffer>],
        options: &LaunchOptions,
        others: Option<Arc<dyn Others>>,
    ) -> Result<Launched> {
        let pool = self.checked(executable, device, arguments, options)?;
        let gives = |index: usize| options.gives(executable, index);
        check_donations(arguments, &gives)?;
        let claims = ArgumentHolds::of(arguments.len(), arguments.iter());
        let now = claims.are_ready() && LaunchRun::way(executable, true) == Placement::Here;
        let ticket = if now { None } else { self.ticket::<LaunchRun>(executable, &claims) };
        let origin = self.ledger().origin();
        let lists = [(device, arguments)];
        let (claims, mut blocks) =
            self.result_blocks(executable, &lists, claims, origin, &gives)?;
        let blocks = blocks.pop().unwrap_or_default();
        let job = LaunchRun {
            machine: Arc::clone(self),
            executable: Arc::clone(executable),
            device,
            origin,
            context: options.context.clone(),
            pool,
            results: blocks.iter().cloned().map(Hold::from).collect(),
            transfers: options.transfers.clone(),
            others,
            seed: self.seed(executable),
        };
        let give_up = || {
            for (index, argument) in arguments.iter().enumerate() {
                if gives(index) {
                    argument.delete();
                }
            }
        };
        let done = if now {
            give_up();
            match claims.ready() {
                Ok(sources) => self.workers.now(move || job.begin(sources)),
                Err(error) => Event::settled(Err(error)),
            }
        } else {
            let done = if ticket.is_some() { Event::certain() } else { Event::pending() };
            let gate = job.start(claims, &done, ticket);
            give_up();
            gate.pass();
            done
        };
        Ok(self.launched(executable, device, blocks, &done))
    }

    /// Leave for a run to be under way on background threads; `None` for one that may wait for
    /// its client.
    pub(super) fn ticket<W: Runnable>(
        self: &Arc<Self>,
        executable: &Executable,
        claims: &ArgumentHolds<'_>,
    ) -> Option<Permit> {
        let worker = W::way(executable, claims.are_ready()) == Placement::Worker;
        (worker && claims.are_certain()).then(|| {
            let results = executable.results.iter().map(|result| result.spec.padded.0);
            let arena = executable.arena.as_ref().map_or(0, |arena| arena.padded.0);
            self.flight.board(results.sum::<u64>().saturating_add(arena))
        })
    }

    /// Memory for the results of every device: that of donated arguments, and new memory.
    pub(super) fn result_blocks<'a>(
        self: &Arc<Self>,
        executable: &Executable,
        lists: &[(usize, &[Arc<Buffer>])],
        mut claims: ArgumentHolds<'a>,
        origin: Origin,
        gives: &dyn Fn(usize) -> bool,
    ) -> Result<(ArgumentHolds<'a>, Vec<Blocks>)> {
        let labels = &executable.labels.results;
        let width = executable.parameters.len();
        let mut all = vec![vec![None; executable.results.len()]; lists.len()];
        let mut aliases = false;
        // What needs new memory goes first: where there is none, no argument has been given up.
        for takes_over in [false, true] {
            if takes_over && !aliases {
                break;
            }
            for (place, (blocks, &(device, arguments))) in all.iter_mut().zip(lists).enumerate() {
                let places = blocks.iter_mut().zip(&executable.results).zip(labels);
                for ((block, result), &label) in places {
                    let from = result.alias.filter(|&index| gives(index));
                    aliases |= from.is_some();
                    if from.is_some() != takes_over {
                        continue;
                    }
                    let taken = from.and_then(|index| {
                        claims.take(place * width + index, &arguments[index], origin)
                    });
                    let memory = Memory { device, kind: result.kind };
                    *block = match taken {
                        Some(block) => Some(block),
                        None => self.allocate(&result.spec, memory, label, || origin)?,
                    };
                }
            }
        }
        Ok((claims, all))
    }

    /// The results of one device, as buffers.
    pub(super) fn launched(
        self: &Arc<Self>,
        executable: &Executable,
        device: usize,
        blocks: Blocks,
        done: &Event,
    ) -> Launched {
        let made = blocks.into_iter().zip(&executable.results).map(|(block, result)| {
            let (spec, memory) = (Arc::clone(&result.spec), Memory { device, kind: result.kind });
            Buffer::with_block(self, spec, memory, block, done.clone())
        });
        Launched { results: made.collect(), done: done.clone() }
    }

    /// What is checked before a launch on one device; gives the program's constants.
    pub(super) fn checked(
        self: &Arc<Self>,
        executable: &Executable,
        device: usize,
        arguments: &[Arc<Buffer>],
        options: &LaunchOptions,
    ) -> Result<Option<Arc<Block>>> {
        self.check_not_forked()?;
        if executable.spreads.is_some() {
            let (name, count) = (&executable.name, executable.devices.len());
            return Err(Error::bad(format!("{name} runs on {count} devices at once")));
        }
        check_arguments(executable, device, arguments)?;
        check_channels(executable, &options.transfers)?;
        self.pool(executable, device)
    }

    /// The constants of a program in the HBM of a device; placed there by the first launch.
    fn pool(
        self: &Arc<Self>,
        executable: &Executable,
        device: usize,
    ) -> Result<Option<Arc<Block>>> {
        let Some(spec) = &executable.pool else { return Ok(None) };
        if let Some(block) = executable.pools.lock().get(&device) {
            return Ok(Some(Arc::clone(block)));
        }
        let memory = Memory { device, kind: MemoryKind::Device };
        let label = executable.labels.constants;
        let Some(block) = self.allocate(spec, memory, label, || self.ledger().origin())? else {
            return Ok(None);
        };
        block.region().write(Bytes::ZERO, &executable.plan.pool)?;
        let mut pools = executable.pools.lock();
        Ok(Some(Arc::clone(pools.entry(device).or_insert(block))))
    }
}

/// One run with all that it needs.
pub(super) struct LaunchRun {
    pub(super) machine: Arc<Emulator>,
    pub(super) executable: Arc<Executable>,
    pub(super) device: usize,
    pub(super) origin: Origin,
    pub(super) context: Option<Context>,
    pub(super) pool: Option<Arc<Block>>,
    pub(super) results: Vec<Hold>,
    pub(super) transfers: Vec<Arc<dyn HostTransfers>>,
    /// The other replicas of the run, where each runs a program of its own.
    pub(super) others: Option<Arc<dyn Others>>,
    /// For what draws random numbers without a state.
    pub(super) seed: u64,
}

/// A run that has its memory.
#[derive(Debug)]
pub(super) struct Ready {
    pub(super) executable: Arc<Executable>,
    pub(super) frame: Frame,
    /// What its custom calls and transfers see of it; `None` for a program without any.
    pub(super) launch: Option<Launch>,
    /// For the next random number that is drawn without a state.
    pub(super) seed: AtomicU64,
}

impl Ready {
    fn run(&self) -> Interpreter<'_> {
        let locations = Some(&self.executable.module.locations);
        let seed = self.seed.load(Ordering::Relaxed);
        Interpreter {
            frame: &self.frame,
            locations,
            seed,
            launch: self.launch.as_ref().map(|launch| launch as &dyn LaunchServices),
        }
    }

    /// Takes the custom calls through their first stages.
    pub(super) fn early(&self) -> Result<()> {
        let plan = &self.executable.plan;
        if plan.calls == 0 { Ok(()) } else { self.run().early(plan) }
    }

    /// Runs the program from a step on, waiting for every custom call.
    pub(super) fn rest(&self, from: usize) -> Result<()> {
        let mut from = from;
        while let Some((number, open)) = self.until_open(from)? {
            self.wait(number, open)?;
            from = number + 1;
        }
        Ok(())
    }

    /// Runs the program from a step on, up to a custom call that goes on after it has returned.
    pub(super) fn until_open(&self, from: usize) -> Result<Option<(usize, Box<dyn PendingCall>)>> {
        let _mode = self.executable.numerics.subnormals().enter();
        let mut run = self.run();
        let open = run.until_open(&self.executable.plan, from);
        self.seed.store(run.seed, Ordering::Relaxed);
        open
    }

    /// Waits for the custom call of a step.
    fn wait(&self, number: usize, open: Box<dyn PendingCall>) -> Result<()> {
        let ended = open.finish();
        let Some(step) = self.executable.plan.steps.get(number) else { return ended };
        let run = self.run();
        ended
            .and_then(|()| run.unharmed(step, Stage::Execute))
            .map_err(|error| run.placed(step, error))
    }
}

impl Runnable for LaunchRun {
    const PAUSES: bool = true;

    fn machine(&self) -> &Arc<Emulator> {
        &self.machine
    }

    fn executable(&self) -> &Arc<Executable> {
        &self.executable
    }

    fn devices(&self) -> &[usize] {
        std::slice::from_ref(&self.device)
    }

    fn run(self, sources: Sources) -> Result<()> {
        self.ready(sources)?.rest(0)
    }

    /// What would wait is a custom call that goes on after it has returned.
    fn begin(self, sources: Sources) -> Result<Option<Rest>> {
        let ready = self.ready(sources)?;
        let Some((number, open)) = ready.until_open(0)? else {
            return Ok(None);
        };
        Ok(Some(Box::new(move || {
            ready.wait(number, open)?;
            ready.rest(number + 1)
        })))
    }
}

impl LaunchRun {
    /// Lays the run's memory out and takes its custom calls through their first stages.
    fn ready(self, sources: Sources) -> Result<Ready> {
        let blocks = self.results.iter().filter_map(Hold::block);
        blocks.for_each(|block| block.set_content(None));
        let held = self.results.iter().filter_map(Hold::region);
        self.machine.room_for(self.executable.written, "results and temporaries", held)?;
        let results = self.results.iter().zip(&self.executable.results);
        for (place, result) in results {
            let from = result.alias.and_then(|at| Some((at, sources[at].as_ref()?)));
            let (Some(to), Some((at, from))) = (place.region(), from) else { continue };
            // A donated parameter that could not be taken over is copied to where the plan
            // expects it.
            if let Some(from) = from.region() {
                from.copy_to(to, self.executable.parameters[at].spec.logical)?;
            }
        }
        let count = 2 + sources.len() + self.results.len();
        let mut memories = Vec::with_capacity(count);
        memories.extend([self.arena()?.into(), self.pool.clone().into()]);
        for source in sources {
            memories.push(aligned(source)?);
        }
        memories.extend(self.results.into_iter().map(RunMemory::Claim));
        let frame = Frame::new(memories);
        let (executable, machine) = (self.executable, self.machine);
        let calls = executable.plan.calls;
        let sees = calls > 0 || !self.transfers.is_empty() || self.others.is_some();
        let launch = sees.then(|| {
            let (name, device) = (&executable.name, vec![self.device]);
            let mut launch = Launch::new(&machine, device, self.origin, name, self.context, calls);
            launch.transfers = self.transfers;
            launch.others = self.others;
            launch
        });
        let seed = self.seed.into();
        let ready = Ready { executable, frame, launch, seed };
        ready.early()?;
        Ok(ready)
    }

    fn arena(&self) -> Result<Option<Arc<Block>>> {
        let Some(spec) = &self.executable.arena else { return Ok(None) };
        let memory = Memory { device: self.device, kind: MemoryKind::Device };
        let label = self.executable.labels.temporaries;
        let arena = self.machine.allocate(spec, memory, label, || self.origin)?;
        // Whoever runs the program frees it, in the name of the launch.
        arena.iter().for_each(|arena| arena.given_up_by(self.origin));
        Ok(arena)
    }
}

/// An argument's bytes as kernels want them: a view may begin anywhere, elements are aligned.
pub(super) fn aligned(source: Option<Hold>) -> Result<RunMemory> {
    let Some(hold) = source else { return Ok(RunMemory::Nothing) };
    match hold.region() {
        Some(region) if region.as_ptr().addr() % ALIGN != 0 => {
            let mut copy = Aligned::try_zeros(to_usize(region.size().0))?;
            region.read(Bytes::ZERO, copy.bytes_mut())?;
            Ok(RunMemory::Own(copy))
        }
        _ => Ok(RunMemory::Claim(hold)),
    }
}
