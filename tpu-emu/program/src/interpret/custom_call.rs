//! Custom calls, as the interpreter sees them: their stages, and what is checked around them.
use super::step::Interpreter;
use crate::plan::{GUARD, Plan, PlannedStep, Step};
use std::fmt;
use std::sync::Arc;
use tpu_base::error::{Error, Result};
use tpu_ops::core_records::CoreRecords;
use tpu_ops::custom_call::{CallKernel, Stage};
use tpu_ops::host_transfer::HostTransfers;
use tpu_ops::replica_exchange::Others;

/// What a launch does for the steps of its program.
pub trait LaunchServices: fmt::Debug + Sync {
    /// Takes a custom call through one of its stages; gives what is still going on.
    ///
    /// An implementation calls [`Interpreter::guard`] before the stage, and
    /// [`Interpreter::unharmed`] when it is over.
    ///
    /// # Errors
    /// The target's own, and those of `unharmed`.
    fn dispatch(
        &self,
        run: &Interpreter<'_>,
        step: &Step,
        kernel: &CallKernel,
        stage: Stage,
    ) -> Result<Option<Box<dyn PendingCall>>>;

    /// Fills what a custom call is to write, where that is asked for.
    fn poison(&self, result: &mut [u8]);

    /// The clients that serve host transfers, one a device; none where nobody does.
    fn transfers(&self) -> &[Arc<dyn HostTransfers>];

    /// The other replicas, where each runs a program of its own.
    fn others(&self) -> Option<&dyn Others>;

    /// Who records what kernels have of their cores' memories.
    fn cores(&self) -> Option<&dyn CoreRecords>;
}

/// A custom call whose stage has returned and goes on.
pub trait PendingCall: fmt::Debug + Send {
    /// Waits until the call is over.
    ///
    /// # Errors
    /// The target's own; `Verbatim` after the launch's patience. What the call may still write
    /// to is kept until it ends.
    fn finish(self: Box<Self>) -> Result<()>;
}

impl Interpreter<'_> {
    /// The stages before the program begins, of all its calls.
    ///
    /// # Errors
    /// The first call's that fails, with its source line.
    pub fn early(&self, plan: &Plan) -> Result<()> {
        for stage in [Stage::Prepare, Stage::Initialize] {
            self.early_steps(&plan.steps, stage)?;
        }
        Ok(())
    }

    fn early_steps(&self, steps: &[Step], stage: Stage) -> Result<()> {
        for step in steps {
            match &step.kind {
                PlannedStep::Kernel { kernel, .. } => {
                    let Some(call) = kernel.custom_call() else { continue };
                    if !call.call().has(stage) {
                        continue;
                    }
                    let ended = self.dispatch(step, call, stage);
                    let ended = ended.and_then(|open| open.map_or(Ok(()), |open| open.finish()));
                    ended.map_err(|error| self.placed(step, error))?;
                }
                PlannedStep::Each(each) if each.devices.is_empty() => {}
                PlannedStep::Each(each) => {
                    self.runs(each, step, |run| run.early_steps(&each.body, stage))?;
                }
                of => of.blocks().try_for_each(|steps| self.early_steps(steps, stage))?,
            }
        }
        Ok(())
    }

    /// One stage of a call; gives what is still going on.
    ///
    /// Inlined, so that a recorded stack has one frame for a dispatch.
    #[inline(always)]
    pub(super) fn dispatch(
        &self,
        step: &Step,
        kernel: &CallKernel,
        stage: Stage,
    ) -> Result<Option<Box<dyn PendingCall>>> {
        match self.launch {
            Some(launch) => launch.dispatch(self, step, kernel, stage),
            None => Err(kernel.outside_of_a_launch()),
        }
    }

    /// Marks the memory behind the results of a call that is about to run.
    pub fn guard(&self, step: &Step, stage: Stage) {
        if stage == Stage::Execute {
            for &result in &step.results {
                self.frame.bytes_mut(self.frame.behind(result)).fill(POISON);
            }
        }
    }

    /// # Errors
    /// `BadArgument` where the marks are damaged.
    pub fn unharmed(&self, step: &Step, stage: Stage) -> Result<()> {
        if stage != Stage::Execute {
            return Ok(());
        }
        for (number, &result) in step.results.iter().enumerate() {
            let behind = self.frame.bytes(self.frame.behind(result));
            if *behind != MARKS[..behind.len()] {
                let written = behind.iter().filter(|&&byte| byte != POISON).count();
                return Err(Error::bad(format!(
                    "custom call \"{}\" wrote past the end of result {number}: {written} of the \
                     {} bytes behind its {} bytes are changed",
                    step.name,
                    behind.len(),
                    result.bytes
                )));
            }
        }
        Ok(())
    }
}

/// What is written behind a result before its handler runs.
const POISON: u8 = 0xa5;
const MARKS: [u8; GUARD] = [POISON; GUARD];
