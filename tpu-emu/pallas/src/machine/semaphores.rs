//! Semaphores: counted, waited for, and zero when their kernels end.
use super::instance::{Instance, State, Waiting};
use super::memory::BufferId;
use super::peers::Role;
use super::view::View;
use super::{Failure, Machine};
use crate::form::{Argument, Array, Cell, Source, Window};
use std::collections::BTreeMap;
use tpu_mosaic::ir::{LocationId, user_line};

/// Waiting kernels that a report has.
const TOLD: usize = 32;
/// Signals of one semaphore that are kept.
const KEPT: usize = 8;

/// A semaphore: its memory, and the byte that it begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Semaphore {
    pub(super) buffer: BufferId,
    at: usize,
}

/// What was done with each semaphore since it was last taken to zero, for reports.
#[derive(Debug, Default)]
pub(super) struct Signals {
    /// Who has signalled it, and where: the last one first, each once.
    by: BTreeMap<Semaphore, Vec<(usize, LocationId)>>,
}

impl Signals {
    fn of(&self, semaphore: Semaphore) -> &[(usize, LocationId)] {
        self.by.get(&semaphore).map_or(&[], Vec::as_slice)
    }

    fn add(&mut self, semaphore: Semaphore, by: (usize, LocationId)) {
        let all = self.by.entry(semaphore).or_default();
        match all.iter().position(|&other| other == by) {
            Some(at) => all[..=at].rotate_right(1),
            None => all.insert(0, by),
        }
        all.truncate(KEPT);
    }
}

impl Semaphore {
    /// The one semaphore of a view.
    pub(super) fn of(view: &View) -> Result<Self, String> {
        if view.elements() != 1 {
            return Err(format!("semaphores {:?} where one is expected", view.dims()));
        }
        Ok(Self { buffer: view.buffer, at: view.start() })
    }
}

impl Machine<'_> {
    /// What a semaphore has.
    pub(super) fn count(&self, semaphore: Semaphore) -> i64 {
        let bytes = self.bank.get(semaphore.buffer).part(semaphore.at, 4).bytes();
        bytes.try_into().map_or(0, |bytes| i64::from(i32::from_le_bytes(bytes)))
    }

    fn set_count(&self, semaphore: Semaphore, count: i64) -> Result<(), String> {
        let count = i32::try_from(count)
            .map_err(|_| format!("a semaphore would have {count}: more than 32 bits"))?;
        let place = self.bank.get(semaphore.buffer).part(semaphore.at, 4);
        place.bytes_mut().copy_from_slice(&count.to_le_bytes());
        Ok(())
    }

    /// Adds to a semaphore.
    pub(super) fn signal(
        &mut self,
        semaphore: Semaphore,
        amount: i64,
        by: (usize, LocationId),
    ) -> Result<(), String> {
        self.signals.add(semaphore, by);
        self.set_count(semaphore, self.count(semaphore).saturating_add(amount))
    }

    /// Waits until a semaphore has so much, and takes it away.
    pub(super) fn wait(
        &mut self,
        instance: &mut Instance,
        (semaphore, amount): (Semaphore, i64),
        place: LocationId,
    ) -> Result<(), Failure> {
        self.copies_for(semaphore, amount)?;
        let count = self.count(semaphore);
        if count < amount {
            let what = Waiting::Semaphore { semaphore, amount };
            instance.state = State::Waits { what, place };
            return Ok(());
        }
        if let Some(watch) = &mut self.watch {
            watch.waited(instance.number, semaphore);
        }
        if count == amount
            && let Some(signals) = self.signals.by.get_mut(&semaphore)
        {
            signals.clear();
        }
        self.set_count(semaphore, count - amount).map_err(|what| Failure { what, place })
    }

    /// Whether the semaphores of a memory that is given back are zero.
    ///
    /// # Errors
    /// One that is not, with who signalled it last.
    pub(super) fn are_zero(&self, buffer: BufferId) -> Result<(), Failure> {
        let of = self.bank.get(buffer);
        let Cell::Semaphore(_) = of.cell else { return Ok(()) };
        if !self.program.semaphore_checks {
            return Ok(());
        }
        for at in (0..of.len()).step_by(4) {
            let semaphore = Semaphore { buffer, at };
            let count = self.count(semaphore);
            if count != 0 {
                let signals = self.signals.of(semaphore);
                let place = signals.first().map_or(LocationId::UNKNOWN, |(_, place)| *place);
                let mut by = signals.first().map_or_else(String::new, |&(number, _)| {
                    format!("; this signalled it last, on {}", self.called(number))
                });
                if let Some(others) = signals.get(1..).filter(|others| !others.is_empty()) {
                    let others: Vec<String> =
                        others.iter().map(|&one| self.signalled(one)).collect();
                    by.push_str(&format!("; before that {}", others.join(", ")));
                }
                let what = format!(
                    "{} has {count} when its kernel ends, and nobody waits for it{by}",
                    self.name_of(semaphore)
                );
                return Err(Failure { what, place });
            }
        }
        Ok(())
    }

    /// Whether all semaphores of kernels that have ended are zero.
    ///
    /// # Errors
    /// One that is not.
    pub(super) fn all_are_zero(&self) -> Result<(), Failure> {
        for (_, role, buffer) in self.owners.all() {
            let of_call = match role {
                Role::Argument(_) | Role::Array(_) => self.bank.is_lent(buffer),
                Role::Allocated(_) | Role::Barrier => false,
            };
            if !of_call {
                self.are_zero(buffer)?;
            }
        }
        Ok(())
    }

    /// Who has signalled a semaphore, and where, in words.
    fn signalled(&self, (by, place): (usize, LocationId)) -> String {
        let line = user_line(&self.program.locations, place).unwrap_or_else(|| "?".to_owned());
        format!("{} signalled it at {line}", self.called(by))
    }

    /// A semaphore in words.
    fn name_of(&self, semaphore: Semaphore) -> String {
        let count = self.bank.get(semaphore.buffer).len() / 4;
        let kind = match self.bank.get(semaphore.buffer).cell {
            Cell::Semaphore(true) => "a DMA semaphore",
            _ => "a semaphore",
        };
        let number =
            if count > 1 { format!(" (number {})", semaphore.at / 4) } else { String::new() };
        match self.owners.of(semaphore.buffer) {
            Some((of, Role::Argument(at) | Role::Array(at))) => {
                format!("{kind}{number} of {}, {},", self.called(of), self.called_argument(of, at))
            }
            Some((of, Role::Allocated(step))) => {
                let line = self.program.places.get(step).copied();
                let line = line.and_then(|line| user_line(&self.program.locations, line));
                let line = line.map_or_else(String::new, |line| format!(", allocated at {line},"));
                format!("{kind}{number} of {}{line}", self.called(of))
            }
            Some((of, Role::Barrier)) => format!("the barrier semaphore of {}", self.called(of)),
            None => kind.to_owned(),
        }
    }

    /// A kernel's own memory in words.
    pub(crate) fn called_memory(&self, (of, role): (usize, Role)) -> String {
        let what = match role {
            Role::Argument(at) | Role::Array(at) => self.called_argument(of, at),
            Role::Allocated(step) => {
                let place = self.program.places.get(step).copied();
                let line = place.and_then(|place| user_line(&self.program.locations, place));
                line.map_or_else(|| "scratch".to_owned(), |line| format!("scratch of {line}"))
            }
            Role::Barrier => "the barrier".to_owned(),
        };
        format!("{what}, on {}", self.called(of))
    }

    /// What an argument of a kernel is, in the words of who calls it.
    fn called_argument(&self, kernel: usize, at: usize) -> String {
        let entry = self.roster.who(kernel).map_or(0, |who| who.entry);
        let arguments = self.program.entries.get(entry).map_or(&[][..], |entry| &entry.arguments);
        let scratch = |of: &&Argument| matches!(of.source, Source::Scratch);
        match arguments.get(at).map(|argument| &argument.source) {
            Some(Source::Scratch) => {
                format!("scratch {}", arguments[..at].iter().filter(scratch).count())
            }
            Some(Source::Window(Window { array: Array::Operand(of), .. })) => {
                format!("what lies behind the end of operand {of} in its blocks")
            }
            Some(source) => match source.array() {
                Some(Array::Operand(of)) => format!("operand {of}"),
                Some(Array::Result(of)) => format!("result {of}"),
                None => "scratch".to_owned(),
            },
            None => format!("argument {at}"),
        }
    }

    /// What all instances wait for.
    pub(super) fn deadlock(&self, instances: &[Instance]) -> Failure {
        let waiting = instances.iter().filter(|of| matches!(of.state, State::Waits { .. })).count();
        let ended = instances.len() - waiting;
        let mut first = None;
        let mut lines = Vec::new();
        for (number, instance) in instances.iter().enumerate() {
            let State::Waits { what, place } = &instance.state else { continue };
            first.get_or_insert(*place);
            let line = user_line(&self.program.locations, *place).unwrap_or_else(|| "?".to_owned());
            let who = self.called(number);
            let point = if instance.point.is_empty() {
                String::new()
            } else {
                format!(" at grid point {:?}", instance.point)
            };
            lines.push(match what {
                Waiting::Semaphore { semaphore, amount } => {
                    let (name, has) = (self.name_of(*semaphore), self.count(*semaphore));
                    let last = self.signals.of(*semaphore).first();
                    let last = last.map(|&one| format!("; {} last", self.signalled(one)));
                    let last = last.unwrap_or_else(|| "; nobody has signalled it".to_owned());
                    let could = self.who_could_signal(*semaphore, instances);
                    let coming = self.copies.that_signal(*semaphore).len();
                    let coming = match coming {
                        0 => String::new(),
                        some => format!("; {some} copies that would signal it are not done"),
                    };
                    format!(
                        "{line}: {who}{point} waits for {amount} of {name} which has {has}{last}\
                         {coming}{could}"
                    )
                }
                Waiting::Barrier(barrier) => {
                    format!("{line}: {who}{point} waits at barrier {barrier} for other subcores")
                }
                Waiting::Memory(device) => {
                    let other = self.devices.get(*device).map_or(0, |arrays| arrays.device);
                    format!(
                        "{line}: {who}{point} waits for device {other} to allocate what it names"
                    )
                }
            });
        }
        let head = match ended {
            0 => format!("deadlock: all {waiting} kernels wait, and nobody can signal"),
            _ => format!("deadlock: {waiting} kernels wait, and the other {ended} have ended"),
        };
        let more = lines.len().saturating_sub(TOLD);
        lines.truncate(TOLD);
        if more > 0 {
            lines.push(format!("and {more} more"));
        }
        let what = format!("{head}\n{}", lines.join("\n"));
        Failure { what, place: first.unwrap_or(LocationId::UNKNOWN) }
    }
}
