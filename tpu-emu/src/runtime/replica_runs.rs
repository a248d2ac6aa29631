//! Runs of replicas whose client calls once for each, maybe with another program each: every
//! replica runs by itself, and they meet in their collectives.
use super::rendezvous::REMEMBERED;
use crate::executable::Executable;
use crate::memory::Memories;
use parking_lot::{Condvar, Mutex};
use std::sync::Arc;
use std::time::Duration;
use tpu_base::error::{Code, Error, Result};
use tpu_base::units::Nanos;
use tpu_kernels::aligned::Aligned;
use tpu_ops::replica_exchange::{Collective, Given, Others};

/// Runs that some of their replicas have not come to yet, in the order of their first calls.
#[derive(Debug, Default)]
pub(super) struct ReplicaRuns(Mutex<Vec<Arc<ReplicaRun>>>);

/// One run.
#[derive(Debug)]
pub(super) struct ReplicaRun {
    /// The program of the first that came.
    name: Arc<str>,
    /// The client's number of it.
    number: i64,
    /// Indices of the devices, by replica.
    devices: Vec<usize>,
    /// The names.
    names: Vec<String>,
    patience: Duration,
    state: Mutex<ReplicaRunState>,
    changed: Condvar,
}

#[derive(Debug)]
struct ReplicaRunState {
    /// By replica.
    doing: Vec<Doing>,
    open: Vec<Gathering>,
    /// When a replica has failed, and how.
    failed: Option<(Nanos, Error)>,
}

/// What a replica does.
#[derive(Debug)]
enum Doing {
    /// Nobody has called for it.
    Away,
    Runs,
    Waits(Collective),
    /// It has received this and not taken it yet.
    Receives(Given),
    Ended,
}

/// A collective that some of its members have come to.
#[derive(Debug)]
struct Gathering {
    collective: Collective,
    first: usize,
    /// In the order of the group.
    arrays: Vec<Option<Aligned>>,
}

/// The run as one of its replicas sees it.
#[derive(Debug)]
struct Participant {
    memories: Arc<Memories>,
    run: Arc<ReplicaRun>,
    replica: usize,
}

impl Others for Participant {
    fn exchange(&self, collective: &Collective, bytes: &[u8]) -> Result<Given> {
        let mut own = Aligned::try_zeros(bytes.len())?;
        own.bytes_mut().copy_from_slice(bytes);
        let now = self.memories.ledger().now();
        self.run.exchange(self.replica, collective, own, now)
    }
}

impl ReplicaRuns {
    /// The first run of this number that a replica has not come to, which may be a new one.
    pub(super) fn join(
        &self,
        executable: &Executable,
        (replica, number): (usize, i64),
        names: Vec<String>,
        (now, patience): (Nanos, Duration),
    ) -> Arc<ReplicaRun> {
        let limit = now.0.saturating_sub(u64::try_from(patience.as_nanos()).unwrap_or(u64::MAX));
        let mut open = self.0.lock();
        let _forgotten = forget(&mut open, limit);
        let found = open.iter().position(|run| {
            run.number == number && run.devices == executable.devices && run.comes(replica)
        });
        let at = found.unwrap_or_else(|| {
            let doing = names.iter().map(|_| Doing::Away).collect();
            open.push(Arc::new(ReplicaRun {
                name: Arc::clone(&executable.name),
                number,
                devices: executable.devices.clone(),
                names,
                patience,
                state: Mutex::new(ReplicaRunState { doing, open: Vec::new(), failed: None }),
                changed: Condvar::new(),
            }));
            open.len() - 1
        });
        let run = Arc::clone(&open[at]);
        run.state.lock().doing[replica] = Doing::Runs;
        if run.state.lock().is_full() {
            open.remove(at);
        }
        run
    }
}

/// Takes out the runs that failed before `limit`, and the oldest of too many.
fn forget(open: &mut Vec<Arc<ReplicaRun>>, limit: u64) -> Vec<Arc<ReplicaRun>> {
    let failed = |run: &Arc<ReplicaRun>| run.state.lock().failed.as_ref().map(|(when, _)| when.0);
    let mut surplus = open.iter().filter_map(failed).count().saturating_sub(REMEMBERED);
    let old = |run: &mut Arc<ReplicaRun>| {
        let old = failed(run).is_some_and(|failed| failed < limit || surplus > 0);
        surplus = surplus.saturating_sub(usize::from(old));
        old
    };
    open.extract_if(.., old).collect()
}

impl ReplicaRun {
    /// The run as one of its replicas sees it.
    pub(super) fn participant(
        self: &Arc<Self>,
        memories: &Arc<Memories>,
        replica: usize,
    ) -> Arc<dyn Others> {
        let (memories, run) = (Arc::clone(memories), Arc::clone(self));
        Arc::new(Participant { memories, run, replica })
    }

    /// Takes the place of a replica that nobody has called for; whether there is one.
    fn comes(&self, replica: usize) -> bool {
        matches!(self.state.lock().doing[replica], Doing::Away)
    }

    /// Gives an array and waits for those of the others.
    fn exchange(
        &self,
        replica: usize,
        collective: &Collective,
        own: Aligned,
        now: Nanos,
    ) -> Result<Given> {
        let place = collective.group.iter().position(|&participant| participant == replica);
        let place = place.ok_or_else(|| Error::bad(format!("{collective}: a group of others")))?;
        let mut state = self.state.lock();
        state.check()?;
        let same = |gathering: &Gathering| gathering.collective.group == collective.group;
        let at = state.open.iter().position(same).unwrap_or_else(|| {
            let (collective, arrays) = (collective.clone(), Vec::new());
            state.open.push(Gathering { collective, first: replica, arrays });
            state.open.len() - 1
        });
        let gathering = &mut state.open[at];
        if gathering.collective.what != collective.what {
            let (first, theirs) = (&self.names[gathering.first], &gathering.collective);
            let message = format!(
                "{self}: the replicas do not agree: {first} is at {theirs}; {} is at {collective}",
                self.names[replica]
            );
            return Err(self.fail(&mut state, Error::WrongState(message), now));
        }
        gathering.arrays.resize_with(collective.group.len(), || None);
        gathering.arrays[place] = Some(own);
        if gathering.arrays.iter().all(Option::is_some) {
            let arrays = state.open.remove(at).arrays.into_iter().flatten().collect();
            let arrays: Given = Arc::new(arrays);
            for &participant in &collective.group {
                state.doing[participant] = Doing::Receives(Arc::clone(&arrays));
            }
            self.changed.notify_all();
        } else {
            state.doing[replica] = Doing::Waits(collective.clone());
            self.check_that_somebody_runs(&mut state, now);
        }
        loop {
            if matches!(state.doing[replica], Doing::Receives(_)) {
                let before = std::mem::replace(&mut state.doing[replica], Doing::Runs);
                if let Doing::Receives(arrays) = before {
                    return Ok(arrays);
                }
            }
            state.check()?;
            let timed_out = self.changed.wait_for(&mut state, self.patience).timed_out();
            let waits = matches!(state.doing[replica], Doing::Waits(_)) && state.failed.is_none();
            // Those who have come run or wait: they will be here, or fail.
            if timed_out && waits && !state.is_full() {
                let message =
                    format!("{self}: after {:?} {}", self.patience, self.whereabouts(&state));
                let error =
                    Error::Verbatim { code: Code::DeadlineExceeded, message: message.into() };
                return Err(self.fail(&mut state, error, now));
            }
        }
    }

    /// A replica's run is over.
    pub(super) fn ended(&self, replica: usize, outcome: &Result<()>, now: Nanos) {
        let mut state = self.state.lock();
        state.doing[replica] = Doing::Ended;
        match outcome {
            Ok(()) => self.check_that_somebody_runs(&mut state, now),
            Err(error) => drop(self.fail(&mut state, error.clone(), now)),
        }
    }

    /// Fails the run where everybody waits for somebody who does not come.
    fn check_that_somebody_runs(&self, state: &mut ReplicaRunState, now: Nanos) {
        let waits = |doing: &Doing| matches!(doing, Doing::Waits(_));
        let stuck = state.doing.iter().all(|doing| waits(doing) || matches!(doing, Doing::Ended));
        if stuck && state.doing.iter().any(waits) && state.failed.is_none() {
            let what = self.whereabouts(state);
            let message = format!("{self}: the replicas do not agree: {what}");
            self.fail(state, Error::WrongState(message), now);
        }
    }

    /// Ends the run for everybody with the first error, which it gives.
    fn fail(&self, state: &mut ReplicaRunState, error: Error, now: Nanos) -> Error {
        state.open.clear();
        let (_, first) = state.failed.get_or_insert((now, error));
        let first = first.clone();
        self.changed.notify_all();
        first
    }

    /// What each replica does, in words.
    fn whereabouts(&self, state: &ReplicaRunState) -> String {
        // Those who do the same are named together.
        let mut places: Vec<(String, String)> = Vec::new();
        for (name, doing) in self.names.iter().zip(&state.doing) {
            let what = match doing {
                Doing::Away => "had not arrived".to_owned(),
                Doing::Runs | Doing::Receives(_) => "ran".to_owned(),
                Doing::Waits(collective) => format!("waited at {collective}"),
                Doing::Ended => "had ended".to_owned(),
            };
            match places.iter_mut().find(|(_, known)| *known == what) {
                Some((names, _)) => names.extend([", ", name]),
                None => places.push((name.clone(), what)),
            }
        }
        let places: Vec<String> =
            places.into_iter().map(|(names, what)| format!("{names} {what}")).collect();
        places.join("; ")
    }
}

impl std::fmt::Display for ReplicaRun {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}, run {}", self.name, self.number)
    }
}

impl ReplicaRunState {
    /// Whether somebody has called for each replica.
    fn is_full(&self) -> bool {
        !self.doing.iter().any(|doing| matches!(doing, Doing::Away))
    }

    /// # Errors
    /// The one that the run has failed with.
    fn check(&self) -> Result<()> {
        self.failed.as_ref().map_or(Ok(()), |(_, error)| Err(error.clone()))
    }
}
