//! Questions to other processes, and whether those answer at all from which something is awaited.
use super::message::Message;
use super::table::{Asked, Awaiting, Processes, State};
use crate::runtime::emulator::Emulator;
use parking_lot::Mutex;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;
use tpu_base::error::{Code, Error, Result};
use tpu_base::event::Event;
use tpu_base::transport::ArrayBytes;

/// A question that waits for its answer.
struct OpenQuestion {
    ticket: u64,
    answer: Arc<Mutex<Vec<Vec<u8>>>>,
    answered: Event,
}

impl State {
    /// Begins a question to a process.
    fn question(&mut self, process: usize) -> OpenQuestion {
        let (answered, answer) = (Event::pending(), Arc::default());
        let ticket = self.ticket();
        let open = OpenQuestion { ticket, answer, answered };
        let (answer, answered) = (Arc::clone(&open.answer), open.answered.clone());
        self.asked.insert(ticket, Asked { process, answer, answered });
        open
    }

    /// The end of something that is awaited from another process.
    fn awaited(&self) -> Option<Event> {
        let run = self.awaiting.values().next().map(|one| one.outcome.clone());
        run.or_else(|| self.asked.values().next().map(|one| one.answered.clone()))
    }

    /// The processes from which something is awaited.
    fn partners(&self) -> BTreeSet<usize> {
        let runs = self.awaiting.values().map(|one| one.leader);
        runs.chain(self.asked.values().map(|one| one.process)).collect()
    }
}

impl Processes {
    /// Answers a question.
    pub(super) fn answer(&self, to: usize, ticket: u64, answer: Result<Vec<Vec<u8>>>) {
        let (failed, arrays) = match answer {
            Ok(arrays) => (None, arrays),
            Err(error) => (Some(error), Vec::new()),
        };
        if let Err(why) = self.send(to, &Message::Answer { ticket, failed }, &arrays) {
            tracing::debug!(to, %why, "an answer cannot be sent");
        }
    }

    /// Takes an answer.
    pub(super) fn answered(&self, ticket: u64, failed: Option<Error>, arrays: &[ArrayBytes]) {
        let asked = self.lock().asked.remove(&ticket);
        let Some(asked) = asked else { return };
        *asked.answer.lock() = arrays.iter().map(|one| (**one).as_ref().to_vec()).collect();
        asked.answered.settle(failed.map_or(Ok(()), Err));
    }

    /// Ends what is awaited from a process that does not answer.
    fn give_up_on(&self, process: usize, patience: Duration) {
        let error = |what: &str| {
            let message = format!("{what} has not answered for {patience:?}");
            Error::Verbatim { code: Code::DeadlineExceeded, message: message.into() }
        };
        let (ended, asked) = {
            let mut state = self.lock();
            let of = |_: &_, one: &mut Awaiting| one.leader == process;
            let ended: Vec<Awaiting> =
                state.awaiting.extract_if(.., of).map(|(_, one)| one).collect();
            let of = |_: &u64, one: &mut Asked| one.process == process;
            let asked: Vec<Asked> = state.asked.extract_if(.., of).map(|(_, one)| one).collect();
            (ended, asked)
        };
        for one in ended {
            let what = format!("{}: process {process} of the slice, which runs it,", one.program);
            one.outcome.settle(Err(error(&what)));
        }
        for one in asked {
            one.answered.settle(Err(error(&format!("process {process} of the slice"))));
        }
    }
}

impl Emulator {
    /// Asks another process, and waits for the arrays that it answers with.
    ///
    /// # Errors
    /// Its own; `Unavailable` where it is gone, `DeadlineExceeded` where it does not answer at all.
    pub(super) fn ask_process(
        self: &Arc<Self>,
        processes: &Arc<Processes>,
        process: usize,
        message: impl FnOnce(u64) -> Message,
        arrays: &[Vec<u8>],
    ) -> Result<Vec<Vec<u8>>> {
        let OpenQuestion { ticket, answer, answered } = {
            let mut state = processes.lock();
            let open = state.question(process);
            self.watch_partners(processes, &mut state);
            open
        };
        let sent = processes.send(process, &message(ticket), arrays);
        // One that was lost meanwhile has ended the question.
        let outcome = sent.and_then(|()| answered.wait());
        processes.lock().asked.remove(&ticket);
        outcome?;
        Ok(std::mem::take(&mut *answer.lock()))
    }

    /// Watches whether the processes answer from which something is awaited, on one thread as long
    /// as there are any: one that has stopped is not gone.
    pub(super) fn watch_partners(self: &Arc<Self>, processes: &Arc<Processes>, state: &mut State) {
        if std::mem::replace(&mut state.partners_watched, true) {
            return;
        }
        let (machine, processes) = (Arc::clone(self), Arc::clone(processes));
        self.workers.run_dedicated(Event::pending(), move || {
            while machine.hear_partners(&processes) {}
            Ok(())
        });
    }

    /// Waits for the end of what is awaited, and asks whether the others are there where it does
    /// not come. Whether something is awaited still.
    fn hear_partners(self: &Arc<Self>, processes: &Arc<Processes>) -> bool {
        let awaited = {
            let mut state = processes.lock();
            let awaited = state.awaited();
            state.partners_watched = awaited.is_some();
            awaited
        };
        let Some(awaited) = awaited else { return false };
        // A run may take any time; an answer does not.
        let half = self.hosts_timeout() / 2;
        if awaited.wait_for(half).is_some() {
            return true;
        }
        let partners = processes.lock().partners();
        for process in self.silent(processes, partners, half) {
            processes.give_up_on(process, half);
        }
        true
    }

    /// Those of some processes that do not answer in time.
    fn silent(
        self: &Arc<Self>,
        processes: &Arc<Processes>,
        partners: BTreeSet<usize>,
        patience: Duration,
    ) -> Vec<usize> {
        let mut asked = Vec::new();
        for process in partners {
            let OpenQuestion { ticket, answered, .. } = processes.lock().question(process);
            let sender = Arc::clone(processes);
            // To send may wait for room in what a process that has stopped does not read.
            self.workers.run_dedicated(Event::pending(), move || {
                sender.send(process, &Message::Ping { ticket }, &[])
            });
            asked.push((process, ticket, answered));
        }
        let mut left = patience;
        asked.retain(|(_, ticket, answered)| {
            let silent = answered.wait_for(left).is_none();
            if silent {
                // All of them have had as long.
                left = Duration::ZERO;
            }
            processes.lock().asked.remove(ticket);
            silent
        });
        asked.into_iter().map(|(process, ..)| process).collect()
    }
}
