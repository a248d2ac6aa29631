//! Launching programs on a machine.
use super::checks::{check_arguments, check_channels, check_donations};
use super::dependencies::ArgumentHolds;
use super::emulator::Emulator;
use super::in_flight::Permit;
use super::job::Job;
use super::loaded::LoadedExecutable;
use super::output_buffers::OutputBuffers;
use super::refused_launch::NotStarted;
use super::request::{DeviceRequest, LaunchRequest, Launched};
use super::run_record::RunRecord;
use crate::buffer::{Buffer, Hold};
use crate::executable::Executable;
use crate::hbm::{End, PendingUses};
use crate::memory::{Block, Memory, MemoryKind};
use crate::origin::Origin;
use std::sync::Arc;
use tpu_base::error::{Error, Result};
use tpu_base::event::Event;
use tpu_base::units::Bytes;
use tpu_ops::replica_exchange::Others;

/// Memory, where some is needed.
pub(super) type Blocks = Vec<Option<Arc<Block>>>;

/// The memory of a run that is taken when it is launched.
pub(super) struct RunBlocks {
    /// New memory for results, by device, then by result.
    pub(super) results: Blocks,
    /// Temporaries, by device; none for a program without any.
    pub(super) arenas: Blocks,
}

impl Emulator {
    /// Starts a program on one device, or on all of its devices at once. Returns at once, except
    /// that it waits for the arguments of results in the client's memory; errors of the run
    /// arrive through the results' events. Gives what was started on each device.
    ///
    /// # Errors
    /// `BadArgument` for arguments of another number, shape, type, device or memory than the
    /// parameters, for deleted ones, and for another number of devices than the program's;
    /// `OutOfMemory` for new memory of results; `FailedPrecondition` for a program with host
    /// transfers that the client does not serve. For results in the client's memory,
    /// `BadArgument` for another number, device or kind of memory than the program's, for memory
    /// that is short of its result, and for memory that is another result's or argument's.
    pub fn launch(self: &Arc<Self>, request: &LaunchRequest<'_>) -> Result<Vec<Launched>> {
        self.check_not_forked()?;
        let LaunchRequest { executable, devices, options } = *request;
        let (name, wanted, given) = (&executable.name, executable.devices.len(), devices.len());
        if let [_] = devices
            && executable.is_joint()
        {
            return Err(Error::bad(format!("{name} runs on {wanted} devices at once")));
        }
        if given != 1 && given != wanted {
            let message =
                format!("{given} argument lists for {name}, which is on {wanted} devices");
            return Err(Error::bad(message));
        }
        self.check(request)?;
        if executable.is_joint() {
            let (blocks, done) =
                self.start(request, None).map_err(|why| self.explained_launch(why, request))?;
            let mut blocks = blocks.into_iter();
            let results = executable.results.len();
            let of = |one: &DeviceRequest<'_>| {
                self.launched(executable, one, blocks.by_ref().take(results), &done)
            };
            return Ok(devices.iter().map(of).collect());
        }
        // Each runs by itself.
        let alone = |one: &DeviceRequest<'_>| {
            let devices = std::slice::from_ref(one);
            self.start_one(&LaunchRequest { executable, devices, options }, None)
        };
        devices.iter().map(alone).collect()
    }

    /// Starts a checked run on one device, among the other replicas of its run where it is one.
    pub(super) fn start_one(
        self: &Arc<Self>,
        request: &LaunchRequest<'_>,
        others: Option<Arc<dyn Others>>,
    ) -> Result<Launched> {
        let (blocks, done) =
            self.start(request, others).map_err(|why| self.explained_launch(why, request))?;
        Ok(self.launched(request.executable, &request.devices[0], blocks.into_iter(), &done))
    }

    /// Starts a checked run; gives the new memory of its results, and its end.
    fn start(
        self: &Arc<Self>,
        request: &LaunchRequest<'_>,
        others: Option<Arc<dyn Others>>,
    ) -> Result<(Blocks, Event), NotStarted> {
        let LaunchRequest { executable, devices, options } = *request;
        let constants = match devices {
            [one] => self.constants(executable, one.device)?,
            _ => None,
        };
        let (holds, outputs) = held(request)?;
        let in_new_memory = devices.iter().all(|one| one.results.is_none());
        let alone = executable.ends_by_itself() && others.is_none() && in_new_memory;
        let certain = alone && holds.are_certain();
        let ahead = self.run_ahead.launched() && certain && self.workers.width() > 1;
        let short = holds.are_ready() && executable.is_done_here(ahead);
        let permit = if certain && !short { Some(self.permit(executable)) } else { None };
        let origin = self.ledger().origin();
        let (mut holds, RunBlocks { results: blocks, arenas }) =
            self.run_blocks(request, holds, origin)?;
        // The temporaries of a run over whole arrays are never touched.
        let mut arenas = arenas.into_iter().filter(|_| !executable.is_joint());
        let mut arena = Hold::from(arenas.next().flatten());
        drop(arenas);
        let mut uses = PendingUses::default();
        for block in blocks.iter().flatten().map(|block| &**block.place()).chain(arena.place()) {
            uses.add_all(&block.uses());
        }
        let before = uses.pending();
        let now = short && executable.run_times.are_over(&before);
        let number = self.next_launch();
        let indices: Vec<usize> = devices.iter().map(|one| one.device).collect();
        let record = RunRecord::new(self, executable, (&indices, number), origin);
        let mut constants = Hold::from(constants);
        let mut results = places(request, &blocks, outputs);
        let end = (certain && !now).then(End::new);
        let done = end.as_ref().map_or_else(Event::pending, |end| end.event().clone());
        let mut permit = permit;
        if let Some(end) = &end {
            permit = permit.or_else(|| Some(self.permit(executable)));
            // From here on nothing fails but the run, which ends `done`.
            holds.used_until(end);
            constants = constants.used_until(end);
            // It begins when all is over that used these.
            results = results.into_iter().map(|hold| hold.used_last_until(end)).collect();
            arena = arena.used_last_until(end);
        }
        let job = Job {
            machine: Arc::clone(self),
            executable: Arc::clone(executable),
            devices: indices,
            number,
            record,
            watch: None,
            origin,
            context: options.context.clone(),
            arena,
            constants,
            results,
            transfers: options.transfers.clone(),
            others,
            remote: None,
            seed: self.seed(executable),
        };
        if now {
            give_up(request);
            let done = match holds.ready() {
                Ok(sources) => self.workers.now(move || job.begin(sources)),
                Err(error) => Event::settled(Err(error)),
            };
            return Ok((blocks, done));
        }
        let latch = job.start(holds, before, &done, permit);
        give_up(request);
        latch.pass();
        Ok((blocks, done))
    }

    /// Leave for a run that is certain to end to be under way on background threads.
    fn permit(self: &Arc<Self>, executable: &Executable) -> Permit {
        let results = executable.results.iter().map(|result| result.spec.padded.0);
        let arena = executable.arena.as_ref().map_or(0, |arena| arena.padded.0);
        self.in_flight.enter(results.sum::<u64>().saturating_add(arena))
    }

    /// Memory for the results of every device that has none of its client's: that of donated
    /// arguments, and new memory; and for the temporaries of every device. What used it before
    /// may still do so. Where there is none, the ledger has not heard of it.
    pub(super) fn run_blocks<'a>(
        self: &Arc<Self>,
        request: &LaunchRequest<'_>,
        mut holds: ArgumentHolds<'a>,
        origin: Origin,
    ) -> Result<(ArgumentHolds<'a>, RunBlocks), NotStarted> {
        let LaunchRequest { executable, devices, options } = *request;
        let results = executable.results.iter().zip(&executable.labels.results);
        let width = executable.parameters.len();
        let mut all = vec![None; executable.results.len() * devices.len()];
        let (mut arenas, mut aliases) = (Blocks::new(), false);
        // What needs new memory goes first: where there is none, no argument has been given up.
        for takes_over in [false, true] {
            if takes_over {
                arenas = self.arenas(request, origin)?;
            }
            if takes_over && !aliases {
                break;
            }
            let mut blocks = all.iter_mut();
            for (place, one) in devices.iter().enumerate() {
                // The results first: at their end no block is taken.
                for ((result, &label), block) in results.clone().zip(blocks.by_ref()) {
                    let is_of_client = one.results.is_some();
                    let from = result.alias.filter(|&index| options.gives(executable, index));
                    aliases |= from.is_some();
                    if is_of_client || from.is_some() != takes_over {
                        continue;
                    }
                    let taken = from.and_then(|index| {
                        holds.take(place * width + index, &one.arguments[index], origin)
                    });
                    let memory = Memory { device: one.device, kind: result.kind };
                    *block = match taken {
                        Some(block) => Some(block),
                        None => self
                            .take(&result.spec, memory, label, || origin)
                            .map_err(|why| NotStarted::new(why, &result.spec, memory))?,
                    };
                }
            }
        }
        Ok((holds, RunBlocks { results: all, arenas }))
    }

    /// Memory for the temporaries of a run: on each device its share, which for a program over
    /// whole arrays is what the devices would need and nobody touches.
    fn arenas(
        self: &Arc<Self>,
        request: &LaunchRequest<'_>,
        origin: Origin,
    ) -> Result<Blocks, NotStarted> {
        let LaunchRequest { executable, devices, .. } = *request;
        let Some(spec) = &executable.arena else { return Ok(Blocks::new()) };
        let label = executable.labels.temporaries;
        let arena = |one: &DeviceRequest<'_>| {
            let memory = Memory { device: one.device, kind: MemoryKind::Device };
            let arena = self
                .take(spec, memory, label, || origin)
                .map_err(|why| NotStarted::new(why, spec, memory))?;
            // Whoever runs the program frees it, in the name of the launch.
            arena.iter().for_each(|arena| arena.given_up_by(origin));
            Ok(arena)
        };
        devices.iter().map(arena).collect()
    }

    /// What was started on one device, whose results have this new memory.
    pub(super) fn launched(
        self: &Arc<Self>,
        executable: &Executable,
        one: &DeviceRequest<'_>,
        blocks: impl Iterator<Item = Option<Arc<Block>>>,
        done: &Event,
    ) -> Launched {
        if one.results.is_some() {
            blocks.for_each(drop);
            return Launched { results: Vec::new(), done: done.clone() };
        }
        let made = executable.results.iter().zip(blocks).map(|(result, block)| {
            let (spec, device) = (Arc::clone(&result.spec), one.device);
            let memory = Memory { device, kind: result.kind };
            Buffer::with_block(self, spec, memory, block, done.clone())
        });
        Launched { results: made.collect(), done: done.clone() }
    }

    /// What is checked before a run is started.
    pub(super) fn check(&self, request: &LaunchRequest<'_>) -> Result<()> {
        let LaunchRequest { executable, devices, options } = *request;
        self.check_not_forked()?;
        for one in devices {
            check_arguments(executable, one.device, one.arguments)?;
            if one.results.is_none() {
                check_donations(one.arguments, &|index| options.gives(executable, index))?;
            }
        }
        check_channels(executable, &options.transfers)
    }

    /// The constants of a program in the HBM of a device; placed there by the first launch.
    fn constants(
        self: &Arc<Self>,
        executable: &LoadedExecutable,
        device: usize,
    ) -> Result<Option<Arc<Block>>, NotStarted> {
        let Some(spec) = &executable.pool else { return Ok(None) };
        if let Some(block) = executable.constants.lock().get(&device) {
            return Ok(Some(Arc::clone(block)));
        }
        let memory = Memory { device, kind: MemoryKind::Device };
        let label = executable.labels.constants;
        let taken = self
            .take(spec, memory, label, || self.ledger().origin())
            .map_err(|why| NotStarted::new(why, spec, memory))?;
        let Some(block) = taken else { return Ok(None) };
        block.wait_until_unused();
        block.region().write(Bytes::ZERO, &executable.plan.pool)?;
        let mut constants = executable.constants.lock();
        Ok(Some(Arc::clone(constants.entry(device).or_insert(block))))
    }
}

/// Holds the arguments of a run, but for those that a result in the client's memory takes over
/// where they lie; gives that memory too, by device, then by result.
pub(super) fn held<'a>(request: &LaunchRequest<'a>) -> Result<(ArgumentHolds<'a>, Vec<Hold>)> {
    let LaunchRequest { executable, devices, options } = *request;
    let (mut outputs, mut in_place) = (Vec::new(), Vec::new());
    for (place, one) in devices.iter().enumerate() {
        let Some(results) = one.results else { continue };
        let made = OutputBuffers::of(executable, one.device, one.arguments, results, options)?;
        outputs.extend(made.results);
        let first = place * executable.parameters.len();
        in_place.extend(made.in_place.iter().map(|index| first + index));
    }
    let count = devices.iter().map(|one| one.arguments.len()).sum();
    let arguments = devices.iter().flat_map(|one| one.arguments);
    let mut holds = ArgumentHolds::of(count, arguments);
    in_place.iter().for_each(|&index| holds.leave(index));
    Ok((holds, outputs))
}

/// Where results go, by device, then by result: to new blocks, or to what the client has given.
pub(super) fn places(
    request: &LaunchRequest<'_>,
    blocks: &[Option<Arc<Block>>],
    outputs: Vec<Hold>,
) -> Vec<Hold> {
    let (mut outputs, results) = (outputs.into_iter(), request.executable.results.len());
    let place = |(index, block): (usize, &Option<Arc<Block>>)| {
        let of_client = request.devices[index / results].results.and_then(|_| outputs.next());
        of_client.unwrap_or_else(|| block.clone().into())
    };
    blocks.iter().enumerate().map(place).collect()
}

/// Deletes the arguments that the client gives up for results in new memory.
pub(super) fn give_up(request: &LaunchRequest<'_>) {
    let LaunchRequest { executable, devices, options } = *request;
    for one in devices.iter().filter(|one| one.results.is_none()) {
        for (index, argument) in one.arguments.iter().enumerate() {
            if options.gives(executable, index) {
                argument.delete();
            }
        }
    }
}
