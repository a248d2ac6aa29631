//! One run of a program, from its request to its end.
use super::custom_call::{Launch, OtherProcesses};
use super::dependencies::{ArgumentHolds, ReadyLatch, Sources};
use super::emulator::Emulator;
use super::in_flight::Permit;
use super::loaded::LoadedExecutable;
use super::request::Context;
use super::run_memory::RunMemory;
use super::run_record::{RunRecord, StepTimes};
use crate::buffer::Hold;
use crate::executable::Executable;
use crate::origin::Origin;
use crate::workers::Rest;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tpu_base::error::Result;
use tpu_base::event::Event;
use tpu_base::units::{Bytes, Nanos, to_usize};
use tpu_kernels::aligned::Aligned;
use tpu_ops::custom_call::Stage;
use tpu_ops::host_transfer::HostTransfers;
use tpu_ops::replica_exchange::Others;
use tpu_program::interpret::custom_call::{LaunchServices, PendingCall};
use tpu_program::interpret::frame::Frame;
use tpu_program::interpret::step::{Interpreter, StepWatch};
use tpu_program::plan::ALIGN;

/// One run with all that it needs but its arguments.
pub(super) struct Job {
    pub(super) machine: Arc<Emulator>,
    pub(super) executable: Arc<LoadedExecutable>,
    /// Indices of the devices of this run, in the order of the assignment.
    pub(super) devices: Vec<usize>,
    pub(super) origin: Origin,
    pub(super) context: Option<Context>,
    /// The temporaries of a run on one device.
    pub(super) arena: Hold,
    /// The constants of a run on one device.
    pub(super) constants: Hold,
    /// By device, then by result.
    pub(super) results: Vec<Hold>,
    pub(super) transfers: Vec<Arc<dyn HostTransfers>>,
    /// The other replicas of the run, where each runs a program of its own.
    pub(super) others: Option<Arc<dyn Others>>,
    /// The processes that have the other devices.
    pub(super) remote: Option<Arc<dyn OtherProcesses>>,
    /// For what draws random numbers without a state.
    pub(super) seed: u64,
    /// Number of the launch.
    pub(super) number: i64,
    /// What the trace is to have of it.
    pub(super) record: Option<Box<RunRecord>>,
    /// Who notes the times of its steps.
    pub(super) watch: Option<Box<StepTimes>>,
}

/// Programs that move fewer bytes than this run on the caller's thread, when nothing is to be
/// waited for.
const INLINE: f64 = 2e6;

/// Programs of less work than this, without loops, are done before another thread has taken them
/// over.
const AT_ONCE: f64 = 2e5;

/// Other programs are done on the caller's thread if they would take less than this there: another
/// thread would take as long to wake and to tell it back.
const SHORT: Nanos = Nanos(80_000);

/// Runs of the pool that took less than this are tried on the caller's thread: threads of the pool
/// may have shared the work, or had to wake first.
const TRIED: Nanos = Nanos(120_000);

/// The limit for a caller that goes on to prepare the next launch, which it could do meanwhile: see
/// [`SHORT`].
const SHORT_BESIDE: Nanos = Nanos(25_000);

/// Where a run runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Placement {
    /// On the thread that makes it ready.
    Here,
    /// On one of the few threads for work that ends.
    Worker,
    /// On a thread of its own: it waits for the client, or may.
    OwnThread,
}

impl Placement {
    /// Where a run of a program runs, if its arguments are there or not.
    pub(super) fn of(executable: &Executable, ready: bool) -> Self {
        let plan = &executable.plan;
        match () {
            // A client and a handler may wait for anything. A custom call that goes on keeps the
            // thread of a run over whole arrays.
            () if plan.waits() || plan.calls > 0 && executable.is_joint() => Self::OwnThread,
            () if ready && plan.work < INLINE && !plan.loops => Self::Here,
            () if plan.calls > 0 => Self::OwnThread,
            () => Self::Worker,
        }
    }
}

impl LoadedExecutable {
    /// Whether a run whose arguments are there is done by the thread that launches it; `ahead` if
    /// that thread goes on to prepare the next launch instead of waiting for it.
    pub(super) fn is_done_here(&self, ahead: bool) -> bool {
        let placement = Placement::of(self, true);
        if placement == Placement::OwnThread || !self.may_be_long() {
            return placement == Placement::Here;
        }
        match (self.run_times.here(), self.run_times.beside()) {
            (Some(here), _) => here < if ahead { SHORT_BESIDE } else { SHORT },
            (None, Some(beside)) => beside < TRIED,
            (None, None) => placement == Placement::Here && !ahead,
        }
    }
}

impl Executable {
    /// Whether a run may take so long that it matters where it runs: then its time is taken.
    fn may_be_long(&self) -> bool {
        self.plan.loops || self.plan.work >= AT_ONCE
    }

    /// Whether a run ends whatever the client and its handlers do, once its arguments are there.
    pub(super) fn ends_by_itself(&self) -> bool {
        !self.plan.waits() && self.plan.calls == 0
    }
}

/// A run that has its memory.
#[derive(Debug)]
pub(super) struct Ready {
    pub(super) executable: Arc<LoadedExecutable>,
    pub(super) frame: Frame,
    /// What its custom calls and transfers see of it; `None` for a program without any.
    pub(super) launch: Option<Launch>,
    /// For the next random number that is drawn without a state.
    pub(super) seed: AtomicU64,
    /// Who notes the times of its steps.
    pub(super) watch: Option<Box<StepTimes>>,
}

impl Ready {
    fn run(&self) -> Interpreter<'_> {
        let locations = Some(&self.executable.module.locations);
        let seed = self.seed.load(Ordering::Relaxed);
        Interpreter {
            locations,
            seed,
            launch: self.launch.as_ref().map(|launch| launch as &dyn LaunchServices),
            watch: self.watch.as_deref().map(|watch| watch as &dyn StepWatch),
            ..Interpreter::alone(&self.frame)
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

/// A run, until it is dropped: then the program knows how long it took.
struct TimedRun {
    machine: Arc<Emulator>,
    executable: Arc<LoadedExecutable>,
    is_here: bool,
    begun: Nanos,
}

impl TimedRun {
    /// Begins now; `is_here` on the thread that launched it.
    fn begin(machine: &Arc<Emulator>, executable: &Arc<LoadedExecutable>, is_here: bool) -> Self {
        let begun = machine.ledger().now();
        Self { machine: Arc::clone(machine), executable: Arc::clone(executable), is_here, begun }
    }
}

impl Drop for TimedRun {
    fn drop(&mut self) {
        let Nanos(now) = self.machine.ledger().now();
        let (time, times) = (Nanos(now.saturating_sub(self.begun.0)), &self.executable.run_times);
        if self.is_here { times.ran_here(time) } else { times.ran_beside(time) }
    }
}

impl Job {
    /// Makes the run start once its arguments are there, what used its memory before has ended
    /// and the latch that this gives has passed; `done` ends as it does.
    pub(super) fn start(
        mut self,
        holds: ArgumentHolds<'_>,
        before: Vec<Event>,
        done: &Event,
        permit: Option<Permit>,
    ) -> ReadyLatch {
        // Whoever has leave for background threads is to use one.
        let placement = match permit {
            Some(_) => Placement::Worker,
            None => Placement::of(&self.executable, holds.are_ready()),
        };
        let mut before = before;
        if self.executable.plan.waits() {
            before.extend(self.machine.callback_order.take_all(&self.devices, done));
        }
        let done = done.clone();
        holds.then(before, move |sources| {
            let sources = match sources {
                Ok(sources) => sources,
                Err(error) => {
                    let (record, outcome) = (self.record.take(), Err(error));
                    record.into_iter().for_each(|record| record.end::<()>(&outcome));
                    drop((self, permit));
                    done.settle(outcome);
                    return;
                }
            };
            let machine = Arc::clone(&self.machine);
            if placement == Placement::Here {
                return machine.workers.here(&done, move || self.begin(sources));
            }
            let run = move || {
                let _until_here = permit;
                self.run(sources)
            };
            match placement {
                Placement::OwnThread => machine.workers.run_dedicated(done, run),
                Placement::Worker | Placement::Here => machine.workers.run(done, run),
            }
        })
    }

    /// Lets what notes the run know that it begins, on the thread that launched it or not; gives
    /// that.
    fn begun(&mut self, is_here: bool) -> (Option<Box<RunRecord>>, Option<TimedRun>) {
        let mut record = self.record.take();
        self.watch = record.as_ref().and_then(|record| record.watch(&self.executable));
        record.iter_mut().for_each(|record| record.start());
        let timed = || TimedRun::begin(&self.machine, &self.executable, is_here);
        (record, self.executable.may_be_long().then(timed))
    }

    /// Runs the program to its end.
    fn run(mut self, sources: Sources) -> Result<()> {
        let (record, timed) = self.begun(false);
        let outcome = self.run_to_end(sources);
        drop(timed);
        record.into_iter().for_each(|record| record.end(&outcome));
        outcome
    }

    fn run_to_end(self, sources: Sources) -> Result<()> {
        if self.executable.is_joint() {
            return self.run_whole(&sources);
        }
        self.ready(sources)?.rest(0)
    }

    /// Runs the program on the caller's thread: gives the rest where it would have to wait, which
    /// is for a custom call that goes on after it has returned.
    pub(super) fn begin(mut self, sources: Sources) -> Result<Option<Rest>> {
        let (record, _timed) = self.begun(true);
        let Some(record) = record else { return self.run_to_open(sources) };
        match self.run_to_open(sources) {
            Ok(Some(rest)) => Ok(Some(Box::new(move || {
                let outcome = rest();
                record.end(&outcome);
                outcome
            }))),
            outcome => {
                record.end(&outcome);
                outcome
            }
        }
    }

    fn run_to_open(self, sources: Sources) -> Result<Option<Rest>> {
        if self.executable.is_joint() {
            return self.run_whole(&sources).map(|()| None);
        }
        let ready = self.ready(sources)?;
        let Some((number, open)) = ready.until_open(0)? else {
            return Ok(None);
        };
        Ok(Some(Box::new(move || {
            ready.wait(number, open)?;
            ready.rest(number + 1)
        })))
    }

    /// Lays the run's memory out and takes its custom calls through their first stages.
    fn ready(self, sources: Sources) -> Result<Ready> {
        let places = self.results.iter().filter_map(Hold::place);
        places.for_each(|place| place.set_content(None));
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
        let count = 3 + sources.len() + self.results.len();
        let mut memories = Vec::with_capacity(count);
        let charged = if self.executable.is_charged_apart() {
            let lent = self.machine.spare.take(self.executable.plan.arena)?;
            memories.extend([RunMemory::Lent(lent), RunMemory::Held(self.constants)]);
            Some(self.arena)
        } else {
            memories.extend([self.arena, self.constants].map(RunMemory::Held));
            None
        };
        for source in sources {
            memories.push(aligned(source)?);
        }
        memories.extend(self.results.into_iter().map(RunMemory::Held));
        // Nothing reads or writes what is only charged, and it is held until the run ends.
        memories.extend(charged.map(RunMemory::Held));
        let frame = Frame::new(memories).with_windows(self.executable.plan.windows);
        let (executable, machine) = (self.executable, self.machine);
        let calls = executable.plan.calls;
        let recorded = !executable.kernels.is_empty() && machine.ledger().is_heard();
        let sees = calls > 0 || !self.transfers.is_empty() || self.others.is_some() || recorded;
        let launch = sees.then(|| {
            let (name, devices) = (&executable.name, (self.devices, self.number));
            let mut launch = Launch::new(&machine, devices, self.origin, name, self.context, calls);
            launch.transfers = self.transfers;
            launch.others = self.others;
            launch
        });
        let seed = self.seed.into();
        let ready = Ready { executable, frame, launch, seed, watch: self.watch };
        ready.early()?;
        Ok(ready)
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
        _ => Ok(RunMemory::Held(hold)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::executable::{CompileOptions, Format};
    use crate::origin::Clock;
    use crate::runtime::{DeviceRequest, LaunchOptions, LaunchRequest};

    const LOOP: &str = "module @main { func.func public @main() -> tensor<i32> {
        %zero = stablehlo.constant dense<0> : tensor<i32>
        %one = stablehlo.constant dense<1> : tensor<i32>
        %ten = stablehlo.constant dense<10> : tensor<i32>
        %r = stablehlo.while(%i = %zero) : tensor<i32>
        cond {
            %p = stablehlo.compare LT, %i, %ten : (tensor<i32>, tensor<i32>) -> tensor<i1>
            stablehlo.return %p : tensor<i1>
        } do {
            %next = stablehlo.add %i, %one : tensor<i32>
            stablehlo.return %next : tensor<i32>
        }
        return %r : tensor<i32>
    } }";

    const SUM: &str = "module @main { func.func public @main(%x: tensor<100000xf32>)
        -> tensor<100000xf32> {
        %r = stablehlo.add %x, %x : tensor<100000xf32>
        return %r : tensor<100000xf32>
    } }";

    /// A clock that goes on by a microsecond each time that it is read.
    #[derive(Debug, Default)]
    struct Ticks(AtomicU64);

    impl Clock for Ticks {
        fn now(&self) -> Nanos {
            Nanos(1000 * self.0.fetch_add(1, Ordering::Relaxed))
        }
    }

    #[test]
    fn a_program_is_done_where_it_is_launched_once_it_has_been_short() {
        let clock = Arc::new(Ticks::default());
        let machine = Emulator::new(Config { clock, ..Config::plain() }).unwrap();
        let options = CompileOptions::default();
        let executable = &machine.compile(Format::Mlir, LOOP.as_bytes(), options).unwrap();
        assert!(!executable.is_done_here(false), "it may take long, for all that is known");
        let (devices, options) = (&[DeviceRequest::new(0, &[])], &LaunchOptions::default());
        let launched = machine.launch(&LaunchRequest { executable, devices, options }).unwrap();
        launched[0].done.wait().unwrap();
        assert!(executable.run_times.beside().is_some());
        for (took, waited, ahead) in [
            (Nanos(0), true, true),
            (Nanos(SHORT_BESIDE.0 - 1), true, true),
            (SHORT_BESIDE, true, false),
            (SHORT, false, false),
            (Nanos(u64::MAX), false, false),
        ] {
            // One of two runs may have been interrupted.
            executable.run_times.ran_here(took);
            executable.run_times.ran_here(took);
            let done_here = [false, true].map(|ahead| executable.is_done_here(ahead));
            assert_eq!(done_here, [waited, ahead], "{took:?}");
        }
    }

    #[test]
    fn a_program_whose_runs_are_long_leaves_the_thread_that_launches_it() {
        let machine = Emulator::new(Config::plain()).unwrap();
        let options = CompileOptions::default();
        let executable = &machine.compile(Format::Mlir, SUM.as_bytes(), options).unwrap();
        let done_here = || [false, true].map(|ahead| executable.is_done_here(ahead));
        assert_eq!(done_here(), [true, false], "what it moves is all that is known");
        executable.run_times.ran_beside(TRIED);
        assert_eq!(done_here(), [false, false]);
        executable.run_times.ran_beside(Nanos(TRIED.0 - 1));
        assert_eq!(done_here(), [true, true], "it is tried");
        executable.run_times.ran_here(SHORT);
        assert_eq!(done_here(), [false, false]);
    }
}
