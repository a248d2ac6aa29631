//! Whether a client launches on and on, or looks at what each launch has given.
use std::sync::atomic::{AtomicU32, Ordering};

/// Launches in a row of which the client has not asked for a result, before it counts as one that
/// runs ahead.
const LAUNCHES: u32 = 2;

/// Launches since a client last asked when some result is there, or for its bytes.
///
/// A short program runs best on the thread that launches it, if that thread waits for it; and
/// beside it, if it goes on to prepare the next launch.
#[derive(Debug, Default)]
pub(crate) struct RunAhead(AtomicU32);

impl RunAhead {
    /// Counts a launch; gives whether the client runs ahead of its devices with it.
    pub(crate) fn launched(&self) -> bool {
        let before = self.0.load(Ordering::Relaxed);
        // Launches of several threads may count as one.
        self.0.store(before.saturating_add(1), Ordering::Relaxed);
        before >= LAUNCHES
    }

    /// The client waits for a result.
    pub(crate) fn waited(&self) {
        if self.0.load(Ordering::Relaxed) != 0 {
            self.0.store(0, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_that_asks_for_a_result_does_not_run_ahead() {
        let run_ahead = RunAhead::default();
        for _ in 0..3 {
            let ahead: Vec<bool> = (0..4).map(|_| run_ahead.launched()).collect();
            assert_eq!(ahead, [false, false, true, true]);
            run_ahead.waited();
        }
    }
}
