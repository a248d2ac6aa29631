//! How long the runs of a program take, which decides where the next one runs.
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;
use tpu_base::event::Event;
use tpu_base::units::Nanos;

/// What a run at most counts for: a thread that was interrupted says nothing of the next run.
const MOST: Nanos = Nanos(400_000);

/// Runs of the pool after which about a third is left of what one has taken where it was launched:
/// then that is tried again.
const FADING: u64 = 64;

/// Of so many launches that find their memory still in use, one waits for it.
const BEHIND: u32 = 64;

/// How long it waits. Memory that runs of the pool give back is what the next launch takes, and it
/// would be in use whenever the client launches: all runs would stay in the pool.
const MOMENT: Duration = Duration::from_millis(1);

/// Nanoseconds of runs; 0 where nobody knows.
#[derive(Debug, Default)]
pub(super) struct RunTimes {
    here_ns: AtomicU64,
    /// The one before.
    former_ns: AtomicU64,
    beside_ns: AtomicU64,
    /// Launches that have found their memory in use.
    behind: AtomicU32,
}

impl RunTimes {
    /// How long the next run would take on the thread that launches it, where one has run there:
    /// the shorter of the last two, one of which may have been interrupted.
    pub(super) fn here(&self) -> Option<Nanos> {
        let last = known(&self.here_ns)?;
        Some(known(&self.former_ns).map_or(last, |former| last.min(former)))
    }

    /// How long the last run in the pool took, whose threads share the work.
    pub(super) fn beside(&self) -> Option<Nanos> {
        known(&self.beside_ns)
    }

    /// Whether all that used a run's memory before is over, or now and then is over in a moment.
    pub(super) fn are_over(&self, before: &[Event]) -> bool {
        let waits = || self.behind.fetch_add(1, Ordering::Relaxed).is_multiple_of(BEHIND);
        let is_over = |event: &Event| event.wait_for(MOMENT).is_some();
        before.is_empty() || waits() && before.iter().all(is_over)
    }

    /// A run on the thread that launched it took so long.
    pub(super) fn ran_here(&self, Nanos(time): Nanos) {
        // Runs of several threads may mix theirs.
        self.former_ns.store(self.here_ns.load(Ordering::Relaxed), Ordering::Relaxed);
        self.here_ns.store(time.clamp(1, MOST.0), Ordering::Relaxed);
    }

    /// A run in the pool took so long.
    pub(super) fn ran_beside(&self, Nanos(time): Nanos) {
        self.beside_ns.store(time.max(1), Ordering::Relaxed);
        // Runs that end together may count as one.
        for here in [&self.here_ns, &self.former_ns] {
            let before = here.load(Ordering::Relaxed);
            here.store(before - before.div_ceil(FADING), Ordering::Relaxed);
        }
    }
}

fn known(time: &AtomicU64) -> Option<Nanos> {
    Some(Nanos(time.load(Ordering::Relaxed))).filter(|time| time.0 > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_run_took_where_it_was_launched_fades_with_those_of_the_pool() {
        let times = RunTimes::default();
        assert_eq!((times.here(), times.beside()), (None, None));
        times.ran_beside(Nanos(20));
        times.ran_here(Nanos(200_000));
        assert_eq!((times.here(), times.beside()), (Some(Nanos(200_000)), Some(Nanos(20))));
        let runs = (1..).find(|_| {
            times.ran_beside(Nanos(30));
            times.here() < Some(Nanos(100_000))
        });
        assert_eq!((runs, times.beside()), (Some(45), Some(Nanos(30))));
        times.ran_here(Nanos(70));
        assert_eq!(times.here(), Some(Nanos(70)));
        times.ran_here(Nanos(300_000));
        assert_eq!(times.here(), Some(Nanos(70)), "one of two may have been interrupted");
        times.ran_here(Nanos(200_000));
        assert_eq!(times.here(), Some(Nanos(200_000)));
    }

    #[test]
    fn an_interrupted_run_counts_as_a_long_one_and_a_run_of_no_time_as_one() {
        let times = RunTimes::default();
        times.ran_here(Nanos(u64::MAX));
        assert_eq!(times.here(), Some(MOST));
        times.ran_here(Nanos(0));
        assert_eq!(times.here(), Some(Nanos(1)));
        times.ran_beside(Nanos(0));
        assert_eq!((times.here(), times.beside()), (None, Some(Nanos(1))));
    }

    #[test]
    fn one_launch_of_many_waits_for_memory_that_is_in_use() {
        let times = RunTimes::default();
        assert!(times.are_over(&[]));
        let (ended, open) = (Event::ready(), Event::pending());
        assert!(!times.are_over(&[ended.clone(), open]), "it has waited in vain");
        let next = (1..).find(|_| times.are_over(std::slice::from_ref(&ended)));
        assert_eq!(next, Some(BEHIND));
    }
}
