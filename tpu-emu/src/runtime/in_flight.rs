//! How far a client may run ahead of its devices.
use crate::workers::Workers;
use parking_lot::{Condvar, Mutex};
use std::sync::Arc;
use std::time::Duration;

/// Runs that may be under way at once.
const RUNS: usize = 32;

/// Runs that are left when a client that has waited for the end of some goes on: to wake it for
/// each would take longer than a short run.
const RUNS_LEFT: usize = RUNS / 2;

/// How often a client that waits looks by itself whether there is room: runs that take long are
/// waited for one by one.
const NAP: Duration = Duration::from_millis(5);

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
    under_way: Mutex<UnderWay>,
    ended: Condvar,
}

#[derive(Debug, Default, PartialEq, Eq)]
struct UnderWay {
    runs: usize,
    bytes: u64,
    /// Launches that wait for some of the runs to end.
    waiting: usize,
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
        let full = |now: &UnderWay| {
            now.runs >= RUNS || now.runs >= 2 && now.bytes.saturating_add(bytes) > BYTES
        };
        let mut under_way = self.under_way.lock();
        // A thread of the pool waits for nobody: it may be what the others wait for.
        if !Workers::are_here() {
            under_way.waiting += 1;
            let mut naps = PATIENCE.as_millis() / NAP.as_millis();
            while full(&under_way) && naps > 0 {
                if self.ended.wait_for(&mut under_way, NAP).timed_out() {
                    naps -= 1;
                }
            }
            under_way.waiting -= 1;
        }
        under_way.runs += 1;
        under_way.bytes = under_way.bytes.saturating_add(bytes);
        drop(under_way);
        Permit { of: Arc::clone(self), bytes }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut under_way = self.of.under_way.lock();
        under_way.runs -= 1;
        under_way.bytes = under_way.bytes.saturating_sub(self.bytes);
        let goes_on = under_way.waiting > 0 && under_way.runs <= RUNS_LEFT;
        drop(under_way);
        if goes_on {
            self.of.ended.notify_all();
        }
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
            let two = UnderWay { runs: 2, bytes: BYTES + 1, waiting: 0 };
            assert_eq!(*in_flight.under_way.lock(), two);
            drop((second, third));
        });
        assert_eq!(*in_flight.under_way.lock(), UnderWay::default());
    }

    #[test]
    fn a_client_that_has_waited_goes_on_when_a_run_has_ended_that_takes_long() {
        let in_flight = Arc::new(InFlight::default());
        let mut runs: Vec<_> = (0..RUNS).map(|_| in_flight.enter(1)).collect();
        let (send, entered) = channel();
        std::thread::scope(|scope| {
            scope.spawn(|| send.send(in_flight.enter(1)).unwrap());
            while in_flight.under_way.lock().waiting == 0 {
                std::thread::yield_now();
            }
            assert!(entered.try_recv().is_err());
            runs.truncate(RUNS - 1);
            drop(entered.recv_timeout(PATIENCE / 2).unwrap());
        });
    }
}
