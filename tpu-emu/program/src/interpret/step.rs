//! Runs the steps of a plan.
use super::bound_loop::{BoundLoop, Counts};
use super::bound_moves::BoundMoves;
use super::bound_number::BoundNumber;
use super::custom_call::{LaunchServices, PendingCall};
use super::frame::Frame;
use super::fused_loop::{run_copy, run_loop};
use super::row_fusion::run_rows;
use crate::plan::{Plan, PlannedEach, PlannedStep, Slot, Step};
use crate::tuning::{HOT_LOOP_ITERATIONS, INLINE_STEP_ARRAYS};
use std::sync::atomic::Ordering;
use tpu_base::error::{Error, Result};
use tpu_base::tensor::pack::{pack, unpack};
use tpu_ops::Cx;
use tpu_ops::custom_call::Stage;
use tpu_stablehlo::ir::Locations;

/// A step of a hot loop.
enum ReadyStep<'s> {
    /// Machine code with the arrays that it works on.
    Bound(BoundLoop<'s>),
    /// A sum or a comparison of two numbers.
    Number(BoundNumber<'s>),
    /// What a kernel moves, from and to which places.
    Moved(BoundMoves<'s>),
    /// Any other step.
    Planned(&'s Step),
}

/// One run: its memory and where its program was written.
#[derive(Debug)]
pub struct Interpreter<'a> {
    /// The memories of the run.
    pub frame: &'a Frame,
    /// Where the steps of its program were written.
    pub locations: Option<&'a Locations>,
    /// For the next random number that is drawn without a state.
    pub seed: u64,
    /// The launch that it belongs to; `None` for code inside of an operation.
    pub launch: Option<&'a dyn LaunchServices>,
    /// Who wants to know when steps run.
    pub watch: Option<&'a dyn StepWatch>,
    /// The device that the steps run for, by its place among the program's, where each of several
    /// has a run of its own; else the steps say theirs.
    pub device: Option<usize>,
}

/// Hears of each step of a program when it has run.
pub trait StepWatch: Sync + std::fmt::Debug {
    /// The time, in the watch's own count.
    fn now(&self) -> u64;

    /// Hears of the step of a number, which began at a time of the watch and has ended now.
    fn ran(&self, number: usize, step: &Step, began: u64);
}

impl<'a> Interpreter<'a> {
    /// A run that belongs to no launch, and of which nobody hears.
    pub fn alone(frame: &'a Frame) -> Self {
        Self { frame, locations: None, seed: 0, launch: None, watch: None, device: None }
    }
}

impl Interpreter<'_> {
    /// Runs a program.
    ///
    /// # Errors
    /// The first step's that fails, with its source line.
    pub(crate) fn plan(&mut self, plan: &Plan) -> Result<()> {
        self.steps(&plan.steps)
    }

    /// Runs a program from step `from` on, up to a custom call that goes on after it has
    /// returned; gives that call and its step's number.
    ///
    /// # Errors
    /// The first step's that fails, with its source line.
    pub fn until_open(
        &mut self,
        plan: &Plan,
        from: usize,
    ) -> Result<Option<(usize, Box<dyn PendingCall>)>> {
        for (number, step) in plan.steps.iter().enumerate().skip(from) {
            // What runs for each device is heard of step by step.
            let one = !matches!(step.kind, PlannedStep::Each(_));
            let began = self.watch.filter(|_| one).map(|watch| (watch, watch.now()));
            let outcome = match &step.kind {
                PlannedStep::Each(each) => self.each(each, step, Some(number)).map(|()| None),
                _ => self.begin(step),
            };
            if let Some((watch, began)) = began {
                watch.ran(number, step, began);
            }
            match outcome {
                Ok(None) => {}
                Ok(Some(open)) => return Ok(Some((number, open))),
                Err(error) => return Err(self.placed(step, error)),
            }
        }
        Ok(None)
    }

    fn steps(&mut self, steps: &[Step]) -> Result<()> {
        for step in steps {
            if let Err(error) = self.step(step) {
                return Err(self.placed(step, error));
            }
        }
        Ok(())
    }

    /// An error of a step, with the step's source line and name.
    pub fn placed(&self, step: &Step, error: Error) -> Error {
        // An error from inside of a loop has its line already.
        if matches!(
            step.kind,
            PlannedStep::While { .. } | PlannedStep::Branch { .. } | PlannedStep::Each(_)
        ) {
            return error;
        }
        let line = self.locations.and_then(|locations| locations.line(step.location));
        match line {
            Some(line) => Error::Program {
                code: error.code(),
                reasons: vec![format!("{line}: {}: {error}", step.name)],
            },
            // What a handler says, it says without its name.
            None if is_call(step) => Error::Program {
                code: error.code(),
                reasons: vec![format!("{}: {error}", step.name)],
            },
            None => error,
        }
    }

    /// One step; gives a custom call that is still going on.
    fn begin(&mut self, step: &Step) -> Result<Option<Box<dyn PendingCall>>> {
        if let PlannedStep::Kernel { kernel, starts, .. } = &step.kind
            && let Some(call) = kernel.custom_call()
        {
            self.poison_results(step, &**kernel);
            starts.iter().for_each(|&(from, to)| self.frame.copy(from, to));
            return self.dispatch(step, call, Stage::Execute);
        }
        self.step(step).map(|()| None)
    }

    /// Fills what a handler is to write, where that is asked for.
    fn poison_results(&self, step: &Step, kernel: &dyn tpu_ops::Kernel) {
        let Some(launch) = self.launch else { return };
        for (index, &slot) in step.results.iter().enumerate() {
            if kernel.starts_from(index).is_none() {
                launch.poison(self.frame.bytes_mut(slot));
            }
        }
    }

    fn step(&mut self, step: &Step) -> Result<()> {
        match &step.kind {
            PlannedStep::Kernel { kernel, .. } if kernel.custom_call().is_some() => {
                let Some(open) = self.begin(step)? else { return Ok(()) };
                open.finish()?;
                self.unharmed(step, Stage::Execute)
            }
            PlannedStep::Fused(fused) => {
                run_loop(self.frame, fused, step);
                Ok(())
            }
            PlannedStep::StridedCopy(copy) => {
                run_copy(self.frame, copy, step);
                Ok(())
            }
            PlannedStep::Rows { rows, scratch } => {
                run_rows(self.frame, rows, step, *scratch);
                Ok(())
            }
            PlannedStep::Kernel { kernel, starts, scratch } => {
                starts.iter().for_each(|&(from, to)| self.frame.copy(from, to));
                self.kernel(&**kernel, step, *scratch)
            }
            PlannedStep::Copies(copies) => {
                copies.iter().for_each(|&(from, to)| self.frame.copy(from, to));
                Ok(())
            }
            PlannedStep::Window(window) => {
                let bytes = |operand: usize| self.frame.bytes(step.operands[operand]);
                let (array, result) = (step.operands[0], step.results[0]);
                self.frame.set_window(result, array.part(window.offset(bytes), result.bytes));
                Ok(())
            }
            PlannedStep::Unpack { bits, signed } => {
                let result = self.frame.bytes_mut(step.results[0]);
                unpack(*bits, self.frame.bytes(step.operands[0]), result);
                if *signed {
                    let shift = 8 - bits;
                    for byte in result {
                        *byte = ((*byte << shift).cast_signed() >> shift).cast_unsigned();
                    }
                }
                Ok(())
            }
            PlannedStep::Pack { bits } => {
                let result = self.frame.bytes_mut(step.results[0]);
                pack(*bits, self.frame.bytes(step.operands[0]), result);
                Ok(())
            }
            PlannedStep::While { condition, decision, body, scalar, was_hot } => {
                let code = (&condition[..], *decision, &body[..]);
                let scalar = scalar.as_deref();
                if scalar.is_some_and(|scalar| scalar.run(self.frame)) {
                    return Ok(());
                }
                if was_hot.load(Ordering::Relaxed) {
                    return self.hot_iterations(code);
                }
                let count = self.iterations(code, HOT_LOOP_ITERATIONS)?;
                if let Some(scalar) = scalar {
                    scalar.iterations.fetch_add(count, Ordering::Relaxed);
                }
                if count == HOT_LOOP_ITERATIONS
                    && !scalar.is_some_and(|scalar| scalar.run(self.frame))
                {
                    was_hot.store(true, Ordering::Relaxed);
                    self.hot_iterations(code)?;
                }
                Ok(())
            }
            PlannedStep::Branch { selector, branches } => {
                let number = match *self.frame.bytes(*selector) {
                    [predicate] => usize::from(predicate != 0),
                    [a, b, c, d] => {
                        usize::try_from(i32::from_le_bytes([a, b, c, d])).unwrap_or(usize::MAX)
                    }
                    _ => usize::MAX,
                };
                // Out of range is the last one.
                let chosen = branches.get(number).or(branches.last());
                chosen.map_or(Ok(()), |branch| self.steps(branch))
            }
            PlannedStep::Each(each) => self.each(each, step, None),
        }
    }

    /// The runs of a step, each over its rows; who watches hears of them as parts of the step of
    /// a number, if it has one.
    fn each(&mut self, each: &PlannedEach, step: &Step, number: Option<usize>) -> Result<()> {
        let mut seed = self.seed;
        let done = self.runs(each, step, |run| {
            let mut inner = Interpreter { seed, ..*run };
            let outcome = match (self.watch, number) {
                (Some(watch), Some(number)) => each.body.iter().try_for_each(|step| {
                    let began = watch.now();
                    let outcome = inner.step(step);
                    watch.ran(number, step, began);
                    outcome.map_err(|error| inner.placed(step, error))
                }),
                _ => inner.steps(&each.body),
            };
            seed = inner.seed;
            outcome
        });
        self.seed = seed;
        done
    }

    /// Has something done for each run of a step, over its rows.
    pub(super) fn runs(
        &self,
        each: &PlannedEach,
        step: &Step,
        mut done: impl FnMut(&Interpreter<'_>) -> Result<()>,
    ) -> Result<()> {
        let mut rows = self.frame.with_rows(each.first, each.row_bytes.len());
        let arrays = step.operands.iter().chain(&step.results);
        let arrays: Vec<(&Slot, &usize)> = arrays.zip(&each.row_bytes).collect();
        for run in 0..each.runs {
            for (index, &(array, &bytes)) in arrays.iter().enumerate() {
                let row = each.rows.get(index).map_or(run, |rows| rows[run]);
                let offset = array.offset + row * bytes;
                rows.set_row(index, Slot { base: array.base, offset, bytes });
            }
            let device = each.devices.get(run).copied().or(self.device);
            done(&Interpreter { frame: &rows, device, ..*self })?;
        }
        Ok(())
    }

    /// At most so many iterations of a loop, step by step; gives how many there were.
    fn iterations(
        &mut self,
        (condition, decision, body): (&[Step], Slot, &[Step]),
        most: usize,
    ) -> Result<usize> {
        for count in 0..most {
            self.steps(condition)?;
            if self.frame.bytes(decision)[0] == 0 {
                return Ok(count);
            }
            self.steps(body)?;
        }
        Ok(most)
    }

    /// The rest of a hot loop, whose fused loops are bound to their arrays first.
    fn hot_iterations(
        &mut self,
        (condition, decision, body): (&[Step], Slot, &[Step]),
    ) -> Result<()> {
        let counts = [condition, body].map(counts);
        let condition = ready(self.frame, condition, &counts[0]);
        let body = ready(self.frame, body, &counts[1]);
        loop {
            self.ready_steps(&condition)?;
            if self.frame.bytes(decision)[0] == 0 {
                return Ok(());
            }
            self.ready_steps(&body)?;
        }
    }

    fn ready_steps(&mut self, steps: &[ReadyStep<'_>]) -> Result<()> {
        for step in steps {
            match step {
                ReadyStep::Bound(bound) => bound.run(),
                ReadyStep::Number(number) => number.run(),
                ReadyStep::Moved(moves) => moves.run(self.frame),
                ReadyStep::Planned(step) => {
                    self.step(step).map_err(|error| self.placed(step, error))?;
                }
            }
        }
        Ok(())
    }

    fn kernel(&mut self, kernel: &dyn tpu_ops::Kernel, step: &Step, scratch: Slot) -> Result<()> {
        let frame = self.frame;
        let scratch = frame.bytes_mut(scratch);
        let transfers = self.launch.map_or(&[][..], LaunchServices::transfers);
        let others = self.launch.and_then(LaunchServices::others);
        let cores = self.launch.and_then(LaunchServices::cores);
        let device = self.device;
        let mut cx = Cx { scratch, seed: &mut self.seed, transfers, others, cores, device };
        if step.operands.len() <= INLINE_STEP_ARRAYS && step.results.len() == 1 {
            let mut operands: [&[u8]; INLINE_STEP_ARRAYS] = [&[]; INLINE_STEP_ARRAYS];
            let start = kernel.starts_from(0);
            for (index, &slot) in step.operands.iter().enumerate() {
                operands[index] = if start == Some(index) { &[] } else { frame.bytes(slot) };
            }
            let operands = &operands[..step.operands.len()];
            return kernel.run(&mut cx, operands, &mut [frame.bytes_mut(step.results[0])]);
        }
        let mut operands: Vec<&[u8]> =
            step.operands.iter().map(|&slot| frame.bytes(slot)).collect();
        for from in (0..step.results.len()).filter_map(|result| kernel.starts_from(result)) {
            operands[from] = &[];
        }
        let mut results: Vec<&mut [u8]> =
            step.results.iter().map(|&slot| frame.bytes_mut(slot)).collect();
        kernel.run(&mut cx, &operands, &mut results)
    }
}

/// The counts that the steps of a hot loop read which may be bound.
fn counts(steps: &[Step]) -> Vec<Option<Counts>> {
    let of = |step: &Step| match &step.kind {
        PlannedStep::Fused(fused) => Counts::of(fused),
        _ => None,
    };
    steps.iter().map(of).collect()
}

/// The steps of a hot loop, with their arrays where they are machine code or only move elements.
fn ready<'s>(
    frame: &'s Frame,
    steps: &'s [Step],
    counts: &'s [Option<Counts>],
) -> Vec<ReadyStep<'s>> {
    let moves = |slot: &Slot| slot.window().is_some();
    let ready = |(step, counts): (&'s Step, &'s Option<Counts>)| match (&step.kind, counts) {
        _ if step.operands.iter().chain(&step.results).any(moves) => ReadyStep::Planned(step),
        (PlannedStep::Fused(fused), Some(counts)) => {
            if let Some(number) = BoundNumber::new(frame, fused, step) {
                return ReadyStep::Number(number);
            }
            let bound = BoundLoop::new(frame, fused, step, counts);
            bound.map_or(ReadyStep::Planned(step), ReadyStep::Bound)
        }
        (PlannedStep::Kernel { kernel, starts, .. }, _) => {
            let moves = BoundMoves::new(frame, &**kernel, step, starts);
            moves.map_or(ReadyStep::Planned(step), ReadyStep::Moved)
        }
        _ => ReadyStep::Planned(step),
    };
    steps.iter().zip(counts).map(ready).collect()
}

/// Whether a step calls a target that somebody registered.
fn is_call(step: &Step) -> bool {
    matches!(&step.kind, PlannedStep::Kernel { kernel, .. } if kernel.custom_call().is_some())
}
