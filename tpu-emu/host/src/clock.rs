//! The monotonic clock.
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tpu_emu::origin::Clock;
use tpu_emu::units::Nanos;

/// Counts from the moment it was made.
#[derive(Debug, Clone)]
pub(crate) struct Monotonic {
    start: Instant,
    /// Since 1970, when the count stood at 0.
    pub(crate) started_ns: u64,
}

impl Monotonic {
    #[expect(clippy::disallowed_methods, reason = "this is the place that reads the clock")]
    pub(crate) fn new() -> Self {
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self { start: Instant::now(), started_ns: nanos(since_1970) }
    }
}

impl Clock for Monotonic {
    fn now(&self) -> Nanos {
        Nanos(nanos(self.start.elapsed()))
    }
}

/// Exact for 584 years.
fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
