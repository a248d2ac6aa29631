//! What the other processes of a slice send.
use super::launch::{end, lost_run};
use super::message::{Message, RunId};
use super::table::{Awaiting, CameArray, Processes, ServesCalls, gone};
use crate::runtime::emulator::Emulator;
use std::fmt;
use std::sync::{Arc, Weak};
use tpu_base::error::{Error, Result};
use tpu_base::event::Event;
use tpu_base::transport::{ArrayBytes, Inbox};
use tpu_base::units::{Bytes, to_u64};
use tpu_ops::host_transfer::{self, Direction, HostTransfers};

/// Takes messages, and leaves the work to other threads.
pub(super) struct ProcessInbox {
    machine: Weak<Emulator>,
    processes: Arc<Processes>,
}

impl fmt::Debug for ProcessInbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProcessInbox").field("processes", &self.processes).finish()
    }
}

impl ProcessInbox {
    pub(super) fn new(machine: &Arc<Emulator>, processes: &Arc<Processes>) -> Self {
        Self { machine: Arc::downgrade(machine), processes: Arc::clone(processes) }
    }

    /// Does something on a thread that may wait.
    fn later(&self, work: impl FnOnce(Arc<Emulator>, Arc<Processes>) + Send + 'static) {
        let Some(machine) = self.machine.upgrade() else { return };
        let processes = Arc::clone(&self.processes);
        let workers = Arc::clone(&machine);
        workers.workers.run_dedicated(Event::pending(), move || {
            work(machine, processes);
            Ok(())
        });
    }
}

impl Inbox for ProcessInbox {
    fn received(&self, from: usize, head: Vec<u8>, arrays: Vec<ArrayBytes>) {
        let message = match Message::decode(&head) {
            Ok(message) => message,
            Err(error) => return tracing::warn!(from, %error, "a message is not understood"),
        };
        match message {
            Message::Part { run, program, failed } => self.later(move |machine, processes| {
                let arguments = failed.map_or(Ok(arrays), Err);
                machine.gather_part(&processes, (run, from), program, arguments);
            }),
            Message::Done { run, failed } => self.later(move |_, processes| {
                let outcome = match failed {
                    Some(error) => Err(error),
                    None => take_results(&processes, run, from, &arrays),
                };
                end(&processes, run, outcome);
            }),
            Message::Ask { ticket, run, place, channel, direction, bytes } => {
                self.later(move |_, processes| {
                    let client = {
                        let state = processes.lock();
                        let awaiting = state.awaiting.get(&run);
                        awaiting.and_then(|one| one.transfers.get(place).cloned())
                    };
                    let wanted = (channel, direction, bytes);
                    let answer = ask(client.as_ref(), wanted, &arrays).map(|bytes| vec![bytes]);
                    processes.answer(from, ticket, answer);
                });
            }
            Message::Call { ticket, run, own_copies, place, number, stage } => {
                self.later(move |_, processes| {
                    let calls = {
                        let state = processes.lock();
                        state.awaiting.get(&run).map(|one| Arc::clone(&one.calls))
                    };
                    let call = |calls: Arc<dyn ServesCalls>| {
                        calls.call(own_copies, (place, number, stage), &arrays)
                    };
                    processes.answer(from, ticket, calls.ok_or_else(over).and_then(call));
                });
            }
            Message::Ping { ticket } => {
                self.later(move |_, processes| processes.answer(from, ticket, Ok(Vec::new())));
            }
            Message::Answer { ticket, failed } => self.processes.answered(ticket, failed, &arrays),
            Message::Array { id, form, failed } => self.later(move |_, processes| {
                let bytes = match (failed, arrays.into_iter().next()) {
                    (Some(error), _) => Err(error),
                    (None, Some(bytes)) => Ok(bytes),
                    (None, None) => Err(Error::bad("an array without bytes")),
                };
                processes.take_array(id, CameArray { from, form, bytes });
            }),
        }
    }

    fn lost(&self, process: usize, why: &str) {
        let why: Arc<str> = why.into();
        self.later(move |machine, processes| {
            let (ended, asked, gathering, arrays) = {
                let mut state = processes.lock();
                state.lost.insert(process, Arc::clone(&why));
                let of = |_: &RunId, one: &mut Awaiting| one.leader == process;
                let ended: Vec<_> = state.awaiting.extract_if(.., of).collect();
                let asked: Vec<Event> = state
                    .asked
                    .values()
                    .filter(|one| one.process == process)
                    .map(|one| one.answered.clone())
                    .collect();
                let gathering: Vec<RunId> = state.gathering.keys().copied().collect();
                let arrays = state.expected.extract_if(.., |_, one| one.from == process);
                let arrays: Vec<_> = arrays.map(|(_, one)| one).collect();
                (ended, asked, gathering, arrays)
            };
            for array in arrays {
                array.fail(gone(process, &why));
            }
            for (_, one) in ended {
                let error = lost_run(&one.program, process, &why);
                one.outcome.settle(Err(error));
            }
            for answered in asked {
                answered.settle(Err(gone(process, &why)));
            }
            for run in gathering {
                machine.advance(&processes, run);
            }
        });
    }
}

/// The error of a call that comes too late.
fn over() -> Error {
    Error::WrongState("the run of this call has ended in its process".to_owned())
}

/// Calls the client of a device.
fn ask(
    client: Option<&Arc<dyn HostTransfers>>,
    (channel, direction, bytes): (i64, Direction, usize),
    arrays: &[ArrayBytes],
) -> Result<Vec<u8>> {
    let client = client.ok_or_else(over)?;
    match direction {
        Direction::ToHost => {
            let given = arrays.first().map_or(&[][..], |bytes| (**bytes).as_ref());
            host_transfer::call(|| client.send(channel, given))?;
            Ok(Vec::new())
        }
        Direction::ToDevice => {
            let mut wanted = vec![0; bytes];
            host_transfer::call(|| client.recv(channel, &mut wanted))?;
            Ok(wanted)
        }
    }
}

/// Writes the results of a run to the devices of this process.
fn take_results(
    processes: &Processes,
    run: RunId,
    from: usize,
    arrays: &[ArrayBytes],
) -> Result<()> {
    let results = {
        let state = processes.lock();
        state.awaiting.get(&run).map(|one| one.results.clone()).unwrap_or_default()
    };
    if results.len() != arrays.len() && !results.is_empty() {
        let (given, wanted) = (arrays.len(), results.len());
        return Err(Error::bad(format!("process {from} gave {given} results, not {wanted}")));
    }
    for (hold, bytes) in results.iter().zip(arrays) {
        let bytes = (**bytes).as_ref();
        if let Some(place) = hold.place() {
            place.set_content(None);
        }
        let Some(region) = hold.region().filter(|_| !bytes.is_empty()) else { continue };
        if Bytes(to_u64(bytes.len())) > region.size() {
            return Err(Error::bad(format!("process {from} gave more than a result has")));
        }
        region.write(Bytes::ZERO, bytes)?;
    }
    Ok(())
}
