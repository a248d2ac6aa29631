//! Compiling and launching programs on a machine.
use super::frame::{self, Frame};
use super::lane_body::make_body;
use super::run::Run;
use crate::buffer::{Block, Buffer, Hold};
use crate::error::{Error, Result};
use crate::event::Event;
use crate::kernels::aligned::Aligned;
use crate::ledger::Origin;
use crate::machine::{Emulator, Memory, MemoryKind};
use crate::program::compile::{Target, compile};
use crate::program::plan::ALIGN;
use crate::program::{CompileOptions, Donation, Executable, Format, ResultInfo};
use crate::units::{Bytes, to_usize};
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tpu_stablehlo::Module;

/// Programs that move fewer bytes than this run on the caller's thread, when nothing is to be
/// waited for.
pub(super) const INLINE: f64 = 1e6;

/// How one run is to be done.
#[derive(Debug, Clone, Default)]
pub struct LaunchOptions {
    /// Numbers of parameters that are not to be donated though the program says so.
    pub not_donated: Vec<usize>,
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
    /// Compiles a program in MLIR, as bytecode or text.
    ///
    /// # Errors
    /// `BadArgument` for what cannot be read; `Program` with every reason at once; in the
    /// compiler's words where the program can never fit.
    pub fn compile(
        self: &Arc<Self>,
        format: Format,
        code: &[u8],
        options: CompileOptions,
    ) -> Result<Arc<Executable>> {
        if format != Format::Mlir {
            return Err(Error::Unimplemented("programs as HLO protos".to_owned()));
        }
        let unreadable = |error: tpu_stablehlo::ReadError| {
            Error::bad(format!("the program cannot be read: {error}"))
        };
        let module = if tpu_stablehlo::bytecode::is_bytecode(code) {
            tpu_stablehlo::bytecode::read(code).map_err(unreadable)?
        } else {
            let text = std::str::from_utf8(code).map_err(|error| {
                Error::bad(format!("the program is neither MLIR bytecode nor text: {error}"))
            })?;
            tpu_stablehlo::text::parse(text).map_err(unreadable)?
        };
        self.compile_module(module, (format, code.into()), options)
    }

    /// Compiles a module that was read from `source`.
    ///
    /// # Errors
    /// As for [`Emulator::compile`], reading apart.
    pub fn compile_module(
        self: &Arc<Self>,
        module: Module,
        source: (Format, Arc<[u8]>),
        options: CompileOptions,
    ) -> Result<Arc<Executable>> {
        let (replicas, partitions) = (options.replicas.max(1), options.partitions.max(1));
        let count = replicas.saturating_mul(partitions);
        if replicas > 1 && partitions > 1 {
            let message = format!("programs over {replicas} replicas × {partitions} partitions");
            return Err(Error::Unimplemented(message));
        }
        let devices = self.assigned(&options, count)?;
        let target = Target {
            specs: self.specs(),
            limit: self.memory_limit(),
            labels: self.ledger().labels(),
            generation: self.topology().generation(),
            numerics: self.numerics(),
            make_body,
        };
        Ok(Arc::new(compile(&target, module, source, options, devices)?))
    }

    /// Indices of the devices of an assignment.
    fn assigned(&self, options: &CompileOptions, count: usize) -> Result<Vec<usize>> {
        let devices = self.topology().devices();
        let given = if options.devices.is_empty() { devices.len() } else { options.devices.len() };
        if given < count || (count > 1 && !options.devices.is_empty() && given != count) {
            let message = format!("a program over {count} devices for {given}");
            return Err(Error::bad(message));
        }
        if options.devices.is_empty() {
            return Ok((0..count).collect());
        }
        let index = |&id: &i64| {
            let found = devices.iter().position(|device| i64::from(device.id) == id);
            found.ok_or_else(|| Error::bad(format!("no device has the id {id}")))
        };
        options.devices.iter().map(index).collect()
    }

    /// Starts a program on one device. Returns at once; errors of the run arrive through the
    /// results' events.
    ///
    /// # Errors
    /// `BadArgument` for arguments of another number, shape, type, device or memory than the
    /// parameters, and for deleted ones; `OutOfMemory` for the results.
    pub fn launch(
        self: &Arc<Self>,
        executable: &Arc<Executable>,
        device: usize,
        arguments: &[Arc<Buffer>],
        options: &LaunchOptions,
    ) -> Result<Launched> {
        self.check_not_forked()?;
        if executable.spreads.is_some() {
            let (name, count) = (&executable.name, executable.devices.len());
            return Err(Error::bad(format!("{name} runs on {count} devices at once")));
        }
        check_arguments(executable, device, arguments)?;
        let pool = self.pool(executable, device)?;
        let gives = |index: usize| {
            executable.parameters[index].donation != Donation::Kept
                && !options.not_donated.contains(&index)
        };
        check_donations(arguments, &gives)?;
        let done = Event::pending();
        let pending = Arc::new(Pending {
            left: AtomicUsize::new(1),
            sources: Mutex::new(vec![None; arguments.len()]),
            error: Mutex::default(),
        });
        // Claims first, then the donations: a claim survives the deletion.
        let mut waiting = Vec::new();
        for (index, argument) in arguments.iter().enumerate() {
            if argument.ready_event().is_ready() {
                pending.settle(index, argument.hold_ready());
            } else {
                waiting.push(index);
            }
        }
        let origin = self.ledger().origin();
        let alias = |result: &ResultInfo| result.alias.filter(|&index| gives(index));
        let allocate = |result: &ResultInfo, label| {
            let memory = Memory { device, kind: result.kind };
            self.allocate(&result.spec, memory, label, || origin)
        };
        let labels = &executable.labels.results;
        // What needs new memory goes first: where there is none, no argument has been given up.
        let mut blocks = vec![None; executable.results.len()];
        for ((block, result), &label) in blocks.iter_mut().zip(&executable.results).zip(labels) {
            if alias(result).is_none() {
                *block = allocate(result, label)?;
            }
        }
        for ((block, result), &label) in blocks.iter_mut().zip(&executable.results).zip(labels) {
            let Some(index) = alias(result) else { continue };
            let taken = pending.take(index, &arguments[index], origin);
            *block = match taken {
                Some(block) => Some(block),
                None => allocate(result, label)?,
            };
        }
        let made = blocks.iter().zip(&executable.results).map(|(block, result)| {
            let (spec, memory) = (Arc::clone(&result.spec), Memory { device, kind: result.kind });
            Buffer::with_block(self, spec, memory, block.clone(), done.clone())
        });
        let results = made.collect();
        let job = Job {
            machine: Arc::clone(self),
            executable: Arc::clone(executable),
            device,
            origin,
            pool,
            results: blocks,
        };
        let inline = waiting.is_empty() && executable.plan.work < INLINE && !executable.plan.loops;
        pending.left.store(waiting.len() + 1, Ordering::Release);
        let finish = {
            let (pending, done) = (Arc::clone(&pending), done.clone());
            let job = Mutex::new(Some(job));
            Arc::new(move || {
                let Some(job) = job.lock().take() else { return };
                pending.start(job, inline, &done);
            })
        };
        for index in waiting {
            let told = {
                let (pending, finish) = (Arc::clone(&pending), Arc::clone(&finish));
                move |held| {
                    pending.settle(index, held);
                    if pending.left.fetch_sub(1, Ordering::AcqRel) == 1 {
                        finish();
                    }
                }
            };
            // Deleted by another thread after the check: the run has this one cause to fail.
            if let Err(error) = arguments[index].when_ready(told) {
                pending.settle(index, Err(error));
                pending.left.fetch_sub(1, Ordering::AcqRel);
            }
        }
        for (index, argument) in arguments.iter().enumerate() {
            if gives(index) {
                argument.delete();
            }
        }
        if pending.left.fetch_sub(1, Ordering::AcqRel) == 1 {
            finish();
        }
        Ok(Launched { results, done })
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

/// Arguments that a run still waits for.
pub(super) struct Pending {
    pub(super) left: AtomicUsize,
    /// Claims on the arguments' bytes; `None` for one whose block a result has taken over.
    pub(super) sources: Mutex<Vec<Option<Hold>>>,
    pub(super) error: Mutex<Option<Error>>,
}

impl Pending {
    pub(super) fn settle(&self, index: usize, held: Result<Hold>) {
        match held {
            Ok(hold) => self.sources.lock()[index] = Some(hold),
            Err(error) => {
                self.error.lock().get_or_insert(error);
            }
        }
    }

    /// The block of a donated argument, if nobody but this launch has a claim on it.
    pub(super) fn take(&self, index: usize, argument: &Buffer, origin: Origin) -> Option<Arc<Block>> {
        let mut sources = self.sources.lock();
        let Some(Hold::Block(block)) = &sources[index] else { return None };
        // Given up first: from then on there are no new claims.
        if !argument.give_up() {
            return None;
        }
        if Arc::strong_count(block) > 1 {
            block.given_up_by(origin);
            return None;
        }
        let taken = Arc::clone(block);
        sources[index] = None;
        Some(taken)
    }

    fn start(&self, job: Job, inline: bool, done: &Event) {
        let machine = Arc::clone(&job.machine);
        self.begin(&machine, inline, done, move |sources| job.run(sources));
    }

    /// Starts work on the claims that were waited for.
    pub(super) fn begin(
        &self,
        machine: &Emulator,
        inline: bool,
        done: &Event,
        work: impl FnOnce(Vec<Option<Hold>>) -> Result<()> + Send + 'static,
    ) {
        if let Some(error) = self.error.lock().take() {
            drop(work);
            done.settle(Err(error));
            return;
        }
        let sources = std::mem::take(&mut *self.sources.lock());
        let work = move || work(sources);
        if inline {
            machine.workers.here(done, work);
        } else {
            machine.workers.run(done.clone(), work);
        }
    }
}

/// One run with all that it needs.
struct Job {
    machine: Arc<Emulator>,
    executable: Arc<Executable>,
    device: usize,
    origin: Origin,
    pool: Option<Arc<Block>>,
    results: Vec<Option<Arc<Block>>>,
}

impl Job {
    fn run(self, sources: Vec<Option<Hold>>) -> Result<()> {
        let results = self.results.iter().zip(&self.executable.results);
        for (block, result) in results {
            let from = result.alias.and_then(|at| Some((at, sources[at].as_ref()?)));
            let (Some(to), Some((at, from))) = (block, from) else { continue };
            // A donated parameter that could not be taken over is copied to where the plan
            // expects it.
            if let Some(from) = from.region() {
                from.copy_to(to.region(), self.executable.parameters[at].spec.logical)?;
            }
        }
        let mut memories = vec![self.arena()?.into(), self.pool.into()];
        for source in sources {
            memories.push(aligned(source)?);
        }
        memories.extend(self.results.into_iter().map(frame::Memory::from));
        let frame = Frame::new(memories);
        let locations = Some(&self.executable.module.locations);
        Run { frame: &frame, locations, seed: 0 }.plan(&self.executable.plan)
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
pub(super) fn aligned(source: Option<Hold>) -> Result<frame::Memory> {
    let Some(hold) = source else { return Ok(frame::Memory::Nothing) };
    match hold.region() {
        Some(region) if region.as_ptr().addr() % ALIGN != 0 => {
            let mut copy = Aligned::zeros(to_usize(region.size().0));
            region.read(Bytes::ZERO, copy.bytes_mut())?;
            Ok(frame::Memory::Own(copy))
        }
        _ => Ok(frame::Memory::Claim(hold)),
    }
}

pub(super) fn check_arguments(
    executable: &Executable,
    device: usize,
    arguments: &[Arc<Buffer>],
) -> Result<()> {
    let (name, wanted, given) = (&executable.name, executable.parameters.len(), arguments.len());
    if wanted != given {
        return Err(Error::bad(format!("{name} takes {wanted} arguments; {given} were given")));
    }
    for (index, (argument, parameter)) in arguments.iter().zip(&executable.parameters).enumerate() {
        if argument.is_deleted() {
            return Err(Error::bad("Buffer has been deleted or donated."));
        }
        let (had, wanted) = (argument.spec(), &parameter.spec);
        // A token may be any buffer.
        if !parameter.token && (had.dtype != wanted.dtype || had.dims != wanted.dims) {
            let (had, wanted) = (had.text(), wanted.text());
            let message = format!("{name}: argument {index} is {had}; the parameter is {wanted}");
            return Err(Error::bad(message));
        }
        let memory = argument.memory();
        if memory.device != device {
            let message = format!(
                "{name}: argument {index} is on device {}; the program runs on device {device}",
                memory.device
            );
            return Err(Error::bad(message));
        }
        if memory.kind != parameter.kind {
            let (had, wanted) = (memory.kind.name(), parameter.kind.name());
            let message =
                format!("{name}: argument {index} is in {had}; the parameter in {wanted}");
            return Err(Error::bad(message));
        }
    }
    Ok(())
}

/// A buffer that is given up may be an argument once.
pub(super) fn check_donations(arguments: &[Arc<Buffer>], gives: &dyn Fn(usize) -> bool) -> Result<()> {
    for (index, argument) in arguments.iter().enumerate() {
        if !gives(index) {
            continue;
        }
        let same = |(other, buffer): (usize, &Arc<Buffer>)| {
            other != index && Arc::ptr_eq(buffer, argument)
        };
        if let Some(other) = arguments.iter().enumerate().position(same) {
            let what = if gives(other) {
                "Attempt to donate the same buffer twice in Execute()"
            } else {
                "Attempt to use a donated buffer as another argument in Execute()"
            };
            return Err(Error::bad(format!("{what}: arguments {index} and {other}")));
        }
    }
    Ok(())
}
