//! How far a client may run ahead of its devices.
use crate::workers::Workers;
use parking_lot::{Condvar, Mutex};
use std::sync::Arc;
use std::time::Duration;

/// Runs that may be under way at once.
const RUNS: usize = 32;

/// Bytes that the results and temporaries of runs may have together, if those are two or more.
const BYTES: u64 = 64 << 20;

/// How long a launch waits for others to end. It is longer than runs take: this is no rule, but
/// the end of every wait.
const PATIENCE: Duration = Duration::from_secs(20);

/// The runs that are under way on background threads and end by themselves.
///
/// Each has memory for its results from its launch on, so a client that does not wait for them
/// would take more and more.
#[derive(Debug, Default)]
pub(super) struct InFlight {
    under_way: Mutex<(usize, u64)>,
    ended: Condvar,
}

/// One run that is under way, until it is dropped.
#[derive(Debug)]
pub(super) struct Permit {
    of: Arc<InFlight>,
    bytes: u64,
}

impl InFlight {
    /// Waits until there is room for a run with this many bytes.
    pub(super) fn enter(self: &Arc<Self>, bytes: u64) -> Permit {
        let full = |&mut (runs, sum): &mut (usize, u64)| {
            runs >= RUNS || runs >= 2 && sum.saturating_add(bytes) > BYTES
        };
        let mut under_way = self.under_way.lock();
        // A thread of the pool waits for nobody: it may be what the others wait for.
        if !Workers::are_here() {
            while full(&mut under_way) {
                if self.ended.wait_for(&mut under_way, PATIENCE).timed_out() {
                    break;
                }
            }
        }
        under_way.0 += 1;
        under_way.1 = under_way.1.saturating_add(bytes);
        drop(under_way);
        Permit { of: Arc::clone(self), bytes }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut under_way = self.of.under_way.lock();
        under_way.0 -= 1;
        under_way.1 = under_way.1.saturating_sub(self.bytes);
        drop(under_way);
        self.of.ended.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    #[test]
    fn two_large_runs_are_under_way_and_the_third_comes_when_one_has_ended() {
        let in_flight = Arc::new(InFlight::default());
        let first = in_flight.enter(BYTES);
        let second = in_flight.enter(BYTES);
        let (send, entered) = channel();
        std::thread::scope(|scope| {
            scope.spawn(|| send.send(in_flight.enter(1)).unwrap());
            assert!(entered.try_recv().is_err());
            drop(first);
            let third = entered.recv().unwrap();
            assert_eq!(*in_flight.under_way.lock(), (2, BYTES + 1));
            drop((second, third));
        });
        assert_eq!(*in_flight.under_way.lock(), (0, 0));
    }
}
