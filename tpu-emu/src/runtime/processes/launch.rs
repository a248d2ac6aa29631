//! Launching this process's part of a run over the devices of several processes.
use super::calls::ServedCalls;
use super::inbox::ProcessInbox;
use super::message::{Message, RunId, ToldProgram};
use super::table::{Awaiting, Own, Processes, Team, gone};
use crate::buffer::Hold;
use crate::hbm::PendingUses;
use crate::runtime::dependencies::{ArgumentHolds, Sources};
use crate::runtime::emulator::Emulator;
use crate::runtime::launch::{Blocks, RunBlocks, give_up, held, places};
use crate::runtime::loaded::LoadedExecutable;
use crate::runtime::request::{LaunchRequest, Launched};
use crate::runtime::run_record::RunRecord;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;
use tpu_base::error::{Error, Result};
use tpu_base::event::Event;
use tpu_base::transport::{Inbox, Transport};
use tpu_base::units::{Bytes, to_usize};

/// What a launch has made before the others are asked.
struct Begun<'a> {
    holds: ArgumentHolds<'a>,
    blocks: Blocks,
    own: Own,
}

impl Emulator {
    /// Makes this machine process `me` of its slice. `connect` reaches the others, which send to
    /// the inbox that it gets. A second call changes nothing.
    ///
    /// # Errors
    /// Those of `connect`, also at every later call.
    pub fn join_slice(
        self: &Arc<Self>,
        me: usize,
        connect: impl FnOnce(Arc<dyn Inbox>) -> Result<Arc<dyn Transport>>,
    ) -> Result<()> {
        let joined = self.processes.get_or_init(|| {
            let processes = Arc::new(Processes::new(me));
            let inbox = ProcessInbox::new(self, &processes);
            processes.connect(connect(Arc::new(inbox))?);
            Ok(processes)
        });
        joined.as_ref().map(drop).map_err(Clone::clone)
    }

    /// Starts this process's part of a program over devices of several processes: `request` has
    /// the devices of this one, in the order of the assignment. The run begins when all processes
    /// have launched theirs.
    ///
    /// # Errors
    /// As for [`Emulator::launch`], which the others then hear of; `WrongState` for a process that
    /// is not connected to others. As the error of the run: `Unavailable` where a process is gone,
    /// `WrongState` where programs differ, `DeadlineExceeded` where a process does not come.
    pub fn launch_part(self: &Arc<Self>, request: &LaunchRequest<'_>) -> Result<Vec<Launched>> {
        self.check_not_forked()?;
        let executable = request.executable;
        let processes = match self.processes.get() {
            Some(joined) => Arc::clone(joined.as_ref().map_err(Clone::clone)?),
            None => return Err(self.alone(executable, request.devices.len())),
        };
        if !executable.is_joint() {
            return self.launch(request);
        }
        let team = self.team(executable);
        let mut hasher = DefaultHasher::new();
        executable.devices.hash(&mut hasher);
        let run = processes.lock().next(hasher.finish());
        match self.begin(request, &team) {
            Ok(begun) => Ok(self.share(&processes, run, request, begun)),
            Err(error) => {
                self.refuse(&processes, run, (executable, &team), &error);
                Err(error)
            }
        }
    }

    fn alone(&self, executable: &LoadedExecutable, own: usize) -> Error {
        let (name, all) = (&executable.name, executable.devices.len());
        let count = self.topology().process_count();
        Error::WrongState(format!(
            "{name} is on {all} devices, of which this process has {own}, and it is not connected \
             to the others of its {count}: call jax.distributed.initialize in each before the \
             devices are first asked for"
        ))
    }

    /// The processes that have devices of a program.
    fn team(&self, executable: &LoadedExecutable) -> Team {
        let all = self.topology().devices();
        let mut team: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (place, &device) in executable.devices.iter().enumerate() {
            let process = all.get(device).map_or(0, |info| info.process_index);
            team.entry(usize::try_from(process).unwrap_or(0)).or_default().push(place);
        }
        Team(team)
    }

    /// Does what a launch does before the others are asked: checks, holds, memory.
    fn begin<'a>(self: &Arc<Self>, request: &LaunchRequest<'a>, team: &Team) -> Result<Begun<'a>> {
        let LaunchRequest { executable, devices, options } = *request;
        self.check(request)?;
        let (holds, outputs) = held(request)?;
        let origin = self.ledger().origin();
        let (holds, RunBlocks { results: blocks, arenas }) = self
            .run_blocks(request, holds, origin)
            .map_err(|error| self.explained_launch(error, request))?;
        // The temporaries of a run over whole arrays are never touched.
        drop(arenas);
        let number = self.next_launch();
        let indices: Vec<usize> = devices.iter().map(|one| one.device).collect();
        let record = RunRecord::new(self, executable, (&indices, number), origin);
        let own = Own {
            executable: Arc::clone(executable),
            team: team.clone(),
            sources: None,
            results: places(request, &blocks, outputs),
            options: options.clone(),
            origin,
            number,
            record,
            outcome: Event::pending(),
        };
        Ok(Begun { holds, blocks, own })
    }

    /// Brings what was begun to the run, as soon as its arguments are there.
    fn share(
        self: &Arc<Self>,
        processes: &Arc<Processes>,
        run: RunId,
        request: &LaunchRequest<'_>,
        begun: Begun<'_>,
    ) -> Vec<Launched> {
        let Begun { holds, blocks, own } = begun;
        let (executable, outcome) = (Arc::clone(&own.executable), own.outcome.clone());
        let mut uses = PendingUses::default();
        blocks.iter().flatten().for_each(|block| uses.add_all(&block.place().uses()));
        let before = uses.pending();
        let leader = own.team.leader();
        let latch = if leader == processes.me {
            self.gather_own(processes, run, Box::new(own));
            let (machine, processes) = (Arc::clone(self), Arc::clone(processes));
            holds.then(before, move |sources| machine.own_is_ready(&processes, run, sources))
        } else {
            let Own { results, options, mut record, origin, number, .. } = own;
            let calls = ServedCalls {
                machine: Arc::clone(self),
                executable: Arc::clone(&executable),
                origin,
                number,
                context: options.context,
                launches: Mutex::default(),
            };
            let awaiting = Awaiting {
                program: executable.name.to_string(),
                leader,
                results: results.clone(),
                transfers: options.transfers,
                calls: Arc::new(calls),
                outcome: outcome.clone(),
            };
            {
                let mut state = processes.lock();
                state.awaiting.insert(run, awaiting);
                self.watch_partners(processes, &mut state);
            }
            let program = program_of(&executable);
            let processes = Arc::clone(processes);
            let end = outcome.clone();
            holds.then(before, move |sources| {
                if let Some(mut record) = record.take() {
                    record.start();
                    end.on_ready(move |outcome| record.end(outcome));
                }
                send_part(&processes, (run, leader), program, &executable, sources, &results);
            })
        };
        give_up(request);
        latch.pass();
        let executable = request.executable;
        let (mut blocks, results) = (blocks.into_iter(), executable.results.len());
        let of = |one| self.launched(executable, one, blocks.by_ref().take(results), &outcome);
        request.devices.iter().map(of).collect()
    }

    /// Tells the others that this process does not come.
    fn refuse(
        self: &Arc<Self>,
        processes: &Arc<Processes>,
        run: RunId,
        (executable, team): (&LoadedExecutable, &Team),
        error: &Error,
    ) {
        let leader = team.leader();
        if leader == processes.me {
            let mut state = processes.lock();
            let come: Vec<usize> = state
                .gathering
                .remove(&run)
                .into_iter()
                .flat_map(|one| one.parts)
                .map(|(process, _)| process)
                .collect();
            let others = team.0.keys().copied();
            let missing = others.filter(|process| *process != leader && !come.contains(process));
            let missing = missing.collect();
            state.remember(run, error.clone(), missing);
            drop(state);
            processes.tell_failure(run, error, &come);
            return;
        }
        let (program, failed) = (program_of(executable), Some(error.clone()));
        // One that is gone fails the run for the others as well.
        let sent = processes.send(leader, &Message::Part { run, program, failed }, &[]);
        if let Err(why) = sent {
            tracing::debug!(leader, %why, "a refused part cannot be told");
        }
    }
}

fn program_of(executable: &LoadedExecutable) -> ToldProgram {
    ToldProgram { likeness: executable.likeness(), name: executable.name.to_string() }
}

/// Sends the arguments of this process's devices to the process that runs the program. What goes
/// wrong fails the run here, and there.
fn send_part(
    processes: &Processes,
    (run, leader): (RunId, usize),
    program: ToldProgram,
    executable: &LoadedExecutable,
    sources: Result<Sources>,
    results: &[Hold],
) {
    let arguments = sources.and_then(|sources| argument_bytes(executable, &sources, results));
    let (failed, arguments) = match arguments {
        Ok(arguments) => (None, arguments),
        Err(error) => (Some(error), Vec::new()),
    };
    let message = Message::Part { run, program, failed: failed.clone() };
    let sent = processes.send(leader, &message, &arguments);
    let why = failed.map_or(sent, Err);
    if let Err(error) = why {
        end(processes, run, Err(error));
    }
}

/// Ends a run that another process runs.
pub(super) fn end(processes: &Processes, run: RunId, outcome: Result<()>) {
    let awaiting = processes.lock().awaiting.remove(&run);
    if let Some(awaiting) = awaiting {
        awaiting.outcome.settle(outcome);
    }
}

/// The bytes of the arguments, by device, then by parameter.
fn argument_bytes(
    executable: &LoadedExecutable,
    sources: &[Option<Hold>],
    results: &[Hold],
) -> Result<Vec<Vec<u8>>> {
    let (width, made) = (executable.parameters.len(), executable.results.len());
    let of = |(at, source): (usize, &Option<Hold>)| {
        let (device, index) = (at / width, at % width);
        // Memory that a result has taken over holds the argument until the end of the run.
        let taken = || {
            let alias = executable.results.iter().position(|one| one.alias == Some(index))?;
            results.get(device * made + alias)
        };
        let hold = source.as_ref().or_else(taken);
        bytes_of(hold, executable.parameters[index].spec.logical)
    };
    sources.iter().enumerate().map(of).collect()
}

/// The first bytes of an array on a device; none for one that has none.
pub(super) fn bytes_of(hold: Option<&Hold>, size: Bytes) -> Result<Vec<u8>> {
    let Some(region) = hold.and_then(Hold::region) else { return Ok(Vec::new()) };
    let mut bytes = vec![0; to_usize(size.0)];
    region.read(Bytes::ZERO, &mut bytes)?;
    Ok(bytes)
}

/// The error of a run that needs a process that is gone.
pub(super) fn lost_run(program: &str, process: usize, why: &str) -> Error {
    let Error::Verbatim { code, message } = gone(process, why) else {
        return gone(process, why);
    };
    Error::Verbatim { code, message: format!("{program}: {message}").into() }
}
