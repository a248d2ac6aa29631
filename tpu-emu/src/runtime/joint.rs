//! Runs of replicas whose client calls once for each, maybe with another program each: every
//! replica runs by itself, and they meet in their collectives.
use super::launch::{LaunchOptions, Launched};
use super::rendezvous::REMEMBERED;
use crate::buffer::Buffer;
use crate::executable::Executable;
use crate::machine::Emulator;
use parking_lot::{Condvar, Mutex};
use std::sync::Arc;
use std::time::Duration;
use tpu_base::error::{Code, Error, Result};
use tpu_base::units::Nanos;
use tpu_kernels::aligned::Aligned;
use tpu_ops::replica_exchange::{Collective, Given, Others};

/// Runs that some of their replicas have not come to yet, in the order of their first calls.
#[derive(Debug, Default)]
pub(crate) struct Joints(Mutex<Vec<Arc<Joint>>>);

/// One run.
#[derive(Debug)]
struct Joint {
    /// The program of the first that came.
    name: Arc<str>,
    /// The client's number of it.
    run: i64,
    /// Indices of the devices, by replica.
    devices: Vec<usize>,
    /// The names.
    names: Vec<String>,
    patience: Duration,
    state: Mutex<JointState>,
    changed: Condvar,
}

#[derive(Debug)]
struct JointState {
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
    given: Vec<Option<Aligned>>,
}

/// The run as one of its replicas sees it.
#[derive(Debug)]
struct Seat {
    machine: Arc<Emulator>,
    joint: Arc<Joint>,
    replica: usize,
}

impl Others for Seat {
    fn exchange(&self, collective: &Collective, bytes: &[u8]) -> Result<Given> {
        let mut own = Aligned::try_zeros(bytes.len())?;
        own.bytes_mut().copy_from_slice(bytes);
        let now = self.machine.ledger().now();
        self.joint.exchange(self.replica, collective, own, now)
    }
}

impl Emulator {
    /// Starts the run of one replica.
    ///
    /// # Errors
    /// As for [`Emulator::launch_part`].
    pub(super) fn launch_replica(
        self: &Arc<Self>,
        executable: &Arc<Executable>,
        (replica, device): (usize, usize),
        arguments: &[Arc<Buffer>],
        options: &LaunchOptions,
        run: i64,
    ) -> Result<Launched> {
        let joint = self.joined(executable, replica, run)?;
        let launched = self.of_replica(executable, replica).and_then(|own| {
            let (machine, joint) = (Arc::clone(self), Arc::clone(&joint));
            let others = Arc::new(Seat { machine, joint, replica });
            self.launch_among(&own, device, arguments, options, Some(others))
        });
        let machine = Arc::downgrade(self);
        let ended = move |outcome: &Result<()>| {
            let now = machine.upgrade().map_or(Nanos(0), |machine| machine.ledger().now());
            joint.ended(replica, outcome, now);
        };
        match &launched {
            Ok(launched) => launched.done.on_ready(ended),
            Err(error) => ended(&Err(error.clone())),
        }
        launched
    }

    /// The program of one replica, which is compiled where it first runs.
    fn of_replica(
        self: &Arc<Self>,
        executable: &Arc<Executable>,
        replica: usize,
    ) -> Result<Arc<Executable>> {
        if let Some(known) = executable.replicas.lock().get(&replica) {
            return Ok(Arc::clone(known));
        }
        let (format, code) = &executable.source;
        let source = (*format, Arc::clone(code));
        let (module, options) = (Arc::clone(&executable.module), executable.options.clone());
        let own = self.compile_for(module, source, options, Some(replica))?;
        Ok(Arc::clone(executable.replicas.lock().entry(replica).or_insert(own)))
    }

    /// The first run of this number that a replica has not come to, which may be a new one.
    fn joined(
        self: &Arc<Self>,
        executable: &Executable,
        replica: usize,
        run: i64,
    ) -> Result<Arc<Joint>> {
        let names = executable.devices.iter().map(|&device| self.device_name(device));
        let names = names.collect::<Result<Vec<String>>>()?;
        let (now, patience) = (self.ledger().now(), self.call_timeout());
        let limit = now.0.saturating_sub(u64::try_from(patience.as_nanos()).unwrap_or(u64::MAX));
        let mut open = self.joints.0.lock();
        let _forgotten = forget(&mut open, limit);
        let found = open.iter().position(|joint| {
            joint.run == run && joint.devices == executable.devices && joint.comes(replica)
        });
        let at = found.unwrap_or_else(|| {
            let doing = names.iter().map(|_| Doing::Away).collect();
            open.push(Arc::new(Joint {
                name: Arc::clone(&executable.name),
                run,
                devices: executable.devices.clone(),
                names,
                patience,
                state: Mutex::new(JointState { doing, open: Vec::new(), failed: None }),
                changed: Condvar::new(),
            }));
            open.len() - 1
        });
        let joint = Arc::clone(&open[at]);
        joint.state.lock().doing[replica] = Doing::Runs;
        if joint.state.lock().is_full() {
            open.remove(at);
        }
        Ok(joint)
    }
}

/// Takes out the runs that failed before `limit`, and the oldest of too many.
fn forget(open: &mut Vec<Arc<Joint>>, limit: u64) -> Vec<Arc<Joint>> {
    let failed = |joint: &Arc<Joint>| joint.state.lock().failed.as_ref().map(|(when, _)| when.0);
    let mut surplus = open.iter().filter_map(failed).count().saturating_sub(REMEMBERED);
    let old = |joint: &mut Arc<Joint>| {
        let old = failed(joint).is_some_and(|failed| failed < limit || surplus > 0);
        surplus = surplus.saturating_sub(usize::from(old));
        old
    };
    open.extract_if(.., old).collect()
}

impl Joint {
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
        let place = collective.group.iter().position(|&member| member == replica);
        let place = place.ok_or_else(|| Error::bad(format!("{collective}: a group of others")))?;
        let mut state = self.state.lock();
        state.check()?;
        let same = |gathering: &Gathering| gathering.collective.group == collective.group;
        let at = state.open.iter().position(same).unwrap_or_else(|| {
            let (collective, given) = (collective.clone(), Vec::new());
            state.open.push(Gathering { collective, first: replica, given });
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
        gathering.given.resize_with(collective.group.len(), || None);
        gathering.given[place] = Some(own);
        if gathering.given.iter().all(Option::is_some) {
            let given = state.open.remove(at).given.into_iter().flatten().collect();
            let given: Given = Arc::new(given);
            for &member in &collective.group {
                state.doing[member] = Doing::Receives(Arc::clone(&given));
            }
            self.changed.notify_all();
        } else {
            state.doing[replica] = Doing::Waits(collective.clone());
            self.check_that_somebody_runs(&mut state, now);
        }
        loop {
            if matches!(state.doing[replica], Doing::Receives(_)) {
                let before = std::mem::replace(&mut state.doing[replica], Doing::Runs);
                if let Doing::Receives(given) = before {
                    return Ok(given);
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
    fn ended(&self, replica: usize, outcome: &Result<()>, now: Nanos) {
        let mut state = self.state.lock();
        state.doing[replica] = Doing::Ended;
        match outcome {
            Ok(()) => self.check_that_somebody_runs(&mut state, now),
            Err(error) => drop(self.fail(&mut state, error.clone(), now)),
        }
    }

    /// Fails the run where everybody waits for somebody who does not come.
    fn check_that_somebody_runs(&self, state: &mut JointState, now: Nanos) {
        let waits = |doing: &Doing| matches!(doing, Doing::Waits(_));
        let stuck = state.doing.iter().all(|doing| waits(doing) || matches!(doing, Doing::Ended));
        if stuck && state.doing.iter().any(waits) && state.failed.is_none() {
            let what = self.whereabouts(state);
            let message = format!("{self}: the replicas do not agree: {what}");
            self.fail(state, Error::WrongState(message), now);
        }
    }

    /// Ends the run for everybody with the first error, which it gives.
    fn fail(&self, state: &mut JointState, error: Error, now: Nanos) -> Error {
        state.open.clear();
        let (_, first) = state.failed.get_or_insert((now, error));
        let first = first.clone();
        self.changed.notify_all();
        first
    }

    /// What each replica does, in words.
    fn whereabouts(&self, state: &JointState) -> String {
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

impl std::fmt::Display for Joint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}, run {}", self.name, self.run)
    }
}

impl JointState {
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
