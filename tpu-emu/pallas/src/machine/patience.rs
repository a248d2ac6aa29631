//! Kernels that run on and on end where the user interrupts them.
use super::{Failure, Machine};
use crate::outside::Heard;
use std::fmt;
use std::time::{Duration, Instant};
use tpu_mosaic::ir::LocationId;

/// Steps between two looks at the clock.
const STEPS: u32 = 256;

/// How long a launch runs before anybody listens for interrupts.
const BEFORE_LISTENING: Duration = Duration::from_millis(500);

/// How long a launch has run, and whether somebody listens.
pub(super) struct Patience {
    began: Instant,
    steps: u32,
    heard: Option<Heard>,
}

impl fmt::Debug for Patience {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Patience").field("began", &self.began).finish_non_exhaustive()
    }
}

impl Patience {
    /// A launch that begins now.
    #[expect(clippy::disallowed_methods, reason = "how long a launch has run is no time of a trace")]
    pub(super) fn new() -> Self {
        Self { began: Instant::now(), steps: 0, heard: None }
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
        patience.steps = patience.steps.wrapping_add(1);
        if !patience.steps.is_multiple_of(STEPS) {
            return Ok(());
        }
        match &patience.heard {
            None if patience.began.elapsed() >= BEFORE_LISTENING => {
                patience.heard = Some((self.outside.listens)());
            }
            Some(heard) if heard() => {
                let seconds = patience.began.elapsed().as_secs_f64();
                let what = format!("interrupted: the kernel was here after {seconds:.1} s");
                return Err(Failure { what, place });
            }
            _ => {}
        }
        Ok(())
    }
}
