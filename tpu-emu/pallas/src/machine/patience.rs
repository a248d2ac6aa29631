//! Kernels that run on and on end where the user interrupts them.
use super::{Failure, Machine};
use crate::outside::Heard;
use std::fmt;
use tpu_mosaic::ir::LocationId;

/// Steps between two questions whether there was an interrupt, and before anybody listens: those
/// of short kernels cost nothing more.
const STEPS: u64 = 1024;

/// How far a launch is, and whether somebody listens.
#[derive(Default)]
pub(super) struct Patience {
    steps: u64,
    heard: Option<Heard>,
}

impl fmt::Debug for Patience {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Patience").field("steps", &self.steps).finish_non_exhaustive()
    }
}

impl Machine<'_> {
    /// Whether the user has interrupted the process.
    pub(crate) fn is_interrupted(&self) -> bool {
        self.patience.heard.as_ref().is_some_and(|heard| heard())
    }

    /// One more step of a kernel.
    ///
    /// # Errors
    /// The user has interrupted the process.
    pub(super) fn goes_on(&mut self, place: LocationId) -> Result<(), Failure> {
        let patience = &mut self.patience;
        patience.steps += 1;
        if !patience.steps.is_multiple_of(STEPS) {
            return Ok(());
        }
        match &patience.heard {
            None => patience.heard = Some((self.outside.listens)()),
            Some(heard) if heard() => {
                let steps = patience.steps;
                let what = format!("interrupted: the kernel was here after {steps} steps");
                return Err(Failure { what, place });
            }
            Some(_) => {}
        }
        Ok(())
    }
}
