//! Custom calls of a plan, for those who take them through their stages elsewhere.
use super::{GUARD, Plan, PlannedStep, Slot, Step};
use std::sync::Arc;
use tpu_base::error::Result;
use tpu_kernels::aligned::Aligned;
use tpu_ops::custom_call::CallKernel;

/// A custom call with memory of its own: for its operands, then for its results.
#[derive(Debug)]
pub struct CallAlone {
    /// The call as a step over these memories.
    pub step: Step,
    /// The memories; what is behind a result's bytes is for mistakes of its handler.
    pub memories: Vec<Aligned>,
}

impl Plan {
    /// The step of the custom call with this number.
    pub fn call(&self, number: usize) -> Option<&Step> {
        found(&self.steps, number)
    }
}

fn found(steps: &[Step], number: usize) -> Option<&Step> {
    steps.iter().find_map(|step| match &step.kind {
        PlannedStep::Kernel { .. } => {
            Some(step).filter(|step| step.call().is_some_and(|call| call.number() == number))
        }
        of => of.blocks().find_map(|steps| found(steps, number)),
    })
}

impl Step {
    /// The custom call that it is.
    pub fn call(&self) -> Option<&CallKernel> {
        match &self.kind {
            PlannedStep::Kernel { kernel, .. } => kernel.custom_call(),
            _ => None,
        }
    }

    /// The custom call with memory of its own, zeros; `None` for a step that is none.
    ///
    /// # Errors
    /// Where the host has no memory.
    pub fn call_alone(&self) -> Result<Option<CallAlone>> {
        let PlannedStep::Kernel { kernel, .. } = &self.kind else { return Ok(None) };
        let mut memories = Vec::with_capacity(self.operands.len() + self.results.len());
        let mut own = |slots: &[Slot], behind: usize| -> Result<Box<[Slot]>> {
            let slot = |slot: &Slot| {
                let base = u32::try_from(memories.len()).unwrap_or(u32::MAX);
                memories.push(Aligned::try_zeros(slot.bytes + behind)?);
                Ok(Slot { base, offset: 0, bytes: slot.bytes })
            };
            slots.iter().map(slot).collect()
        };
        let (operands, results) = (own(&self.operands, 0)?, own(&self.results, GUARD)?);
        let (starts, scratch) = (Vec::new(), Slot::default());
        let kind = PlannedStep::Kernel { kernel: Arc::clone(kernel), starts, scratch };
        let (name, location) = (Arc::clone(&self.name), self.location);
        let step = Self { kind, operands, results, name, location };
        Ok(Some(CallAlone { step, memories }))
    }
}
