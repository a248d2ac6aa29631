//! Running a program for all processes that have launched it.
use super::calls::Elsewhere;
use super::launch::bytes_of;
use super::message::{Message, RunId, ToldProgram};
use super::table::{Gathering, Next, Own, Processes, RemotePart, State, listed};
use super::transfers::RemoteClient;
use crate::buffer::Hold;
use crate::hbm::Region;
use crate::runtime::dependencies::{ArgumentHolds, Sources};
use crate::runtime::emulator::Emulator;
use crate::runtime::job::Job;
use std::collections::BTreeMap;
use std::sync::Arc;
use tpu_base::error::{Code, Error, Result};
use tpu_base::event::Event;
use tpu_base::transport::ArrayBytes;
use tpu_base::units::{Bytes, to_u64};
use tpu_ops::host_transfer::HostTransfers;

/// Where the arrays of the others are while a run lasts, by process: their arguments, and room
/// for their results.
struct Copies {
    sources: Sources,
    results: Vec<Hold>,
}

impl Emulator {
    /// Takes this process's own part of a run, whose arguments need not be there.
    pub(super) fn gather_own(
        self: &Arc<Self>,
        processes: &Arc<Processes>,
        run: RunId,
        own: Box<Own>,
    ) {
        let outcome = own.outcome.clone();
        let late = {
            let mut state = processes.lock();
            let late = state.failure(run, processes.me);
            if late.is_none() {
                state.gathering.entry(run).or_default().own = Some(own);
                self.watch(processes, &mut state);
            }
            late
        };
        match late {
            Some(error) => drop(outcome.settle(Err(error))),
            None => self.advance(processes, run),
        }
    }

    /// Says that the arguments of this process's own part are there.
    pub(super) fn own_is_ready(
        self: &Arc<Self>,
        processes: &Arc<Processes>,
        run: RunId,
        sources: Result<Sources>,
    ) {
        let failed = {
            let mut state = processes.lock();
            match state.gathering.get_mut(&run).and_then(|one| one.own.as_mut()) {
                // It has failed meanwhile.
                None => return,
                Some(own) => match sources {
                    Ok(sources) => {
                        own.sources = Some(Ok(sources));
                        None
                    }
                    Err(error) => Some(state.fail(run, error, processes.me)),
                },
            }
        };
        match failed {
            Some(next) => self.go_on(processes, run, next),
            None => self.advance(processes, run),
        }
    }

    /// Takes another process's part of a run.
    pub(super) fn gather_part(
        self: &Arc<Self>,
        processes: &Arc<Processes>,
        (run, process): (RunId, usize),
        program: ToldProgram,
        arguments: Result<Vec<ArrayBytes>>,
    ) {
        let late = {
            let mut state = processes.lock();
            let late = state.failure(run, process);
            if late.is_none() {
                let gathering: &mut Gathering = state.gathering.entry(run).or_default();
                gathering.parts.insert(process, RemotePart { program, arguments });
                self.watch(processes, &mut state);
            }
            late
        };
        match late {
            Some(error) => processes.tell_failure(run, &error, &[process]),
            None => self.advance(processes, run),
        }
    }

    /// Starts a run that all have come to, and ends one that cannot be.
    pub(super) fn advance(self: &Arc<Self>, processes: &Arc<Processes>, run: RunId) {
        let next = processes.lock().advance(run, processes.me);
        self.go_on(processes, run, next);
    }

    fn go_on(self: &Arc<Self>, processes: &Arc<Processes>, run: RunId, next: Next) {
        match next {
            Next::Wait => {}
            Next::Run(own, parts) => {
                let (others, outcome) = (parts.keys().copied().collect(), own.outcome.clone());
                let others: Vec<usize> = others;
                if let Err(error) = self.run_for_all(processes, run, own, parts) {
                    processes.tell_failure(run, &error, &others);
                    outcome.settle(Err(error));
                }
            }
            Next::Fail(error, others, own) => {
                processes.tell_failure(run, &error, &others);
                if let Some(own) = own {
                    let outcome = own.outcome.clone();
                    drop(own);
                    outcome.settle(Err(error));
                }
            }
        }
    }

    /// Runs the program, and sends the others their results.
    fn run_for_all(
        self: &Arc<Self>,
        processes: &Arc<Processes>,
        run: RunId,
        own: Box<Own>,
        parts: BTreeMap<usize, RemotePart>,
    ) -> Result<()> {
        let Own { executable, team, sources, results, options, origin, number, record, outcome } =
            *own;
        let mut copies: BTreeMap<usize, Copies> = BTreeMap::new();
        let sources = sources.unwrap_or_else(|| Ok(Vec::new()))?;
        copies.insert(processes.me, Copies { sources, results });
        for (process, part) in parts {
            let devices = team.0.get(&process).map_or(0, Vec::len);
            let arguments = part.arguments?;
            copies.insert(process, copies_of(&executable, (process, devices), &arguments)?);
        }
        let devices = executable.devices.len();
        let (width, made) = (executable.parameters.len(), executable.results.len());
        let mut sources: Sources = vec![None; devices * width];
        let mut results = vec![Hold::Empty; devices * made];
        let mut transfers: Vec<Option<Arc<dyn HostTransfers>>> = vec![None; devices];
        for (&process, places) in &team.0 {
            let Some(copies) = copies.get(&process) else { continue };
            for (number, &place) in places.iter().enumerate() {
                let from = copies.sources.iter().skip(number * width);
                sources[place * width..].iter_mut().zip(from.take(width)).for_each(|(to, from)| {
                    to.clone_from(from);
                });
                let from = copies.results.iter().skip(number * made);
                results[place * made..].iter_mut().zip(from.take(made)).for_each(|(to, from)| {
                    to.clone_from(from);
                });
                transfers[place] = if process == processes.me {
                    options.transfers.get(number).cloned()
                } else {
                    let (machine, processes) = (Arc::clone(self), Arc::clone(processes));
                    let place = number;
                    Some(Arc::new(RemoteClient { machine, processes, process, run, place }))
                };
            }
        }
        if executable.plan.channels.is_empty() {
            transfers.clear();
        }
        let mut owners = vec![processes.me; devices];
        for (&process, places) in &team.0 {
            places.iter().for_each(|&place| owners[place] = process);
        }
        let elsewhere = Elsewhere {
            machine: Arc::clone(self),
            processes: Arc::clone(processes),
            run,
            owners: owners.into(),
            own_copies: Vec::new(),
        };
        let job = Job {
            machine: Arc::clone(self),
            executable: Arc::clone(&executable),
            devices: executable.devices.clone(),
            seed: self.seed(&executable),
            origin,
            number,
            record,
            watch: None,
            context: options.context,
            arena: Hold::Empty,
            constants: Hold::Empty,
            transfers: transfers.into_iter().flatten().collect(),
            others: None,
            remote: Some(Arc::new(elsewhere)),
            results,
        };
        let done = Event::pending();
        let processes = Arc::clone(processes);
        done.on_ready(move |ended| {
            copies.remove(&processes.me);
            let specs: Vec<Bytes> =
                executable.results.iter().map(|result| result.spec.logical).collect();
            for (process, copies) in copies {
                send_results(&processes, (run, process), &specs, &copies.results, ended);
            }
            outcome.settle(ended.clone());
        });
        job.start(ArgumentHolds::there(sources), Vec::new(), &done, None).pass();
        Ok(())
    }

    /// Watches how long runs gather, on one thread as long as some do.
    fn watch(self: &Arc<Self>, processes: &Arc<Processes>, state: &mut State) {
        if std::mem::replace(&mut state.watched, true) {
            return;
        }
        let (machine, processes) = (Arc::clone(self), Arc::clone(processes));
        self.workers.run_dedicated(Event::pending(), move || {
            while machine.watch_oldest(&processes) {}
            Ok(())
        });
    }

    /// Waits for one run to begin, and fails it and those that wait as long where it does not.
    /// Whether there are others.
    fn watch_oldest(self: &Arc<Self>, processes: &Arc<Processes>) -> bool {
        let begun = {
            let mut state = processes.lock();
            let first = state.gathering.values().next().map(|one| one.begun.0.clone());
            state.watched = first.is_some();
            first
        };
        let Some(begun) = begun else { return false };
        let waiting: Vec<RunId> = processes.lock().gathering.keys().copied().collect();
        if begun.wait_for(self.hosts_timeout()).is_some() {
            return true;
        }
        for run in waiting {
            let next = {
                let mut state = processes.lock();
                let Some(gathering) = state.gathering.get(&run) else { continue };
                let error = self.late(gathering, processes.me);
                state.fail(run, error, processes.me)
            };
            self.go_on(processes, run, next);
        }
        true
    }

    /// Who has come to a run and who has not, in words.
    fn late(&self, gathering: &Gathering, me: usize) -> Error {
        let come = gathering.parts.keys().copied();
        let (name, missing) = match &gathering.own {
            Some(own) => {
                let others = own.team.0.keys().copied();
                let late = others.filter(|one| *one != me && !gathering.parts.contains_key(one));
                (own.executable.name.to_string(), listed(late))
            }
            None => {
                let first = gathering.parts.values().next();
                (first.map_or_else(String::new, |one| one.program.name.clone()), listed([me]))
            }
        };
        let come = listed(come.chain(gathering.own.iter().map(|_| me)));
        let patience = self.hosts_timeout();
        let message = format!(
            "{name}: after {patience:?} processes {missing} of the slice had not launched it, or \
             their arguments were not there; {come} had"
        );
        Error::Verbatim { code: Code::DeadlineExceeded, message: message.into() }
    }
}

/// Room for the arrays of another process, with its arguments.
fn copies_of(
    executable: &crate::executable::Executable,
    (process, devices): (usize, usize),
    arguments: &[ArrayBytes],
) -> Result<Copies> {
    let (width, name) = (executable.parameters.len(), &executable.name);
    if arguments.len() != width * devices {
        let (given, wanted) = (arguments.len(), width * devices);
        let message = format!("process {process} gave {given} arguments to {name}, not {wanted}");
        return Err(Error::bad(message));
    }
    let mut sources = Sources::with_capacity(arguments.len());
    for (at, bytes) in arguments.iter().enumerate() {
        let (bytes, spec) = ((**bytes).as_ref(), &executable.parameters[at % width].spec);
        if spec.padded == Bytes::ZERO {
            sources.push(Some(Hold::Empty));
            continue;
        }
        let (given, wanted) = (Bytes(to_u64(bytes.len())), spec.logical);
        if given != wanted {
            let index = at % width;
            let message = format!(
                "process {process} gave {given} as argument {index} of {name}, not {wanted}"
            );
            return Err(Error::bad(message));
        }
        let region = Region::own(spec.padded)?;
        region.write(Bytes::ZERO, bytes)?;
        sources.push(Some(Hold::View(region)));
    }
    let room = |result: &crate::executable::ResultInfo| match result.spec.padded {
        Bytes::ZERO => Ok(Hold::Empty),
        padded => Region::own(padded).map(Hold::View),
    };
    let all = (0..devices).flat_map(|_| &executable.results);
    Ok(Copies { sources, results: all.map(room).collect::<Result<_>>()? })
}

/// Tells a process how its run has ended, with its results.
fn send_results(
    processes: &Processes,
    (run, process): (RunId, usize),
    sizes: &[Bytes],
    results: &[Hold],
    ended: &Result<()>,
) {
    let arrays = ended.clone().and_then(|()| {
        let sized = results.iter().zip(sizes.iter().cycle());
        sized.map(|(hold, &size)| bytes_of(Some(hold), size)).collect::<Result<Vec<Vec<u8>>>>()
    });
    let (failed, arrays) = match arrays {
        Ok(arrays) => (None, arrays),
        Err(error) => (Some(error), Vec::new()),
    };
    if let Err(why) = processes.send(process, &Message::Done { run, failed }, &arrays) {
        tracing::debug!(process, %why, "results cannot be sent");
    }
}
