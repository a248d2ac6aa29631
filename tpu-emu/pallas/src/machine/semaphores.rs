//! Semaphores: counted, waited for, and zero when their kernels end.
use super::instance::{Instance, State, Waiting};
use super::memory::BufferId;
use super::peers::Role;
use super::view::View;
use super::{Failure, Machine};
use crate::form::Cell;
use std::collections::HashMap;
use tpu_mosaic::ir::LocationId;

/// Waiting kernels that a report has.
const TOLD: usize = 32;

/// A semaphore: its memory, and the byte that it begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Semaphore {
    pub(super) buffer: BufferId,
    at: usize,
}

/// What was last done with each semaphore, for reports.
#[derive(Debug, Default)]
pub(super) struct Signals {
    /// Who has signalled it last, and where.
    last: HashMap<Semaphore, (usize, LocationId)>,
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
        let place = self.bank.get(semaphore.buffer).place;
        let bytes = place.part(semaphore.at, 4).bytes();
        bytes.try_into().map_or(0, |bytes| i64::from(i32::from_le_bytes(bytes)))
    }

    fn set_count(&self, semaphore: Semaphore, count: i64) -> Result<(), String> {
        let count = i32::try_from(count)
            .map_err(|_| format!("a semaphore would have {count}: more than 32 bits"))?;
        let place = self.bank.get(semaphore.buffer).place.part(semaphore.at, 4);
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
        self.signals.last.insert(semaphore, by);
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
        for at in (0..of.place.len()).step_by(4) {
            let semaphore = Semaphore { buffer, at };
            let count = self.count(semaphore);
            if count != 0 {
                let last = self.signals.last.get(&semaphore);
                let place = last.map_or(LocationId::UNKNOWN, |(_, place)| *place);
                let by = last.map_or_else(String::new, |&(number, _)| {
                    format!("; this signalled it last, on {}", self.called(number))
                });
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

    /// A semaphore in words.
    fn name_of(&self, semaphore: Semaphore) -> String {
        let count = self.bank.get(semaphore.buffer).place.len() / 4;
        let kind = match self.bank.get(semaphore.buffer).cell {
            Cell::Semaphore(true) => "a DMA semaphore",
            _ => "a semaphore",
        };
        let number =
            if count > 1 { format!(" (number {})", semaphore.at / 4) } else { String::new() };
        match self.owners.of(semaphore.buffer) {
            Some((of, Role::Argument(at) | Role::Array(at))) => {
                let device = self.called(of);
                format!("{kind}{number} of {device}, argument {at} of the kernel behind the grid,")
            }
            Some((of, Role::Allocated(step))) => {
                let line = self.program.places.get(step).copied();
                let line = line.and_then(|line| self.program.locations.line(line));
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
            Role::Argument(at) | Role::Array(at) => format!("argument {at} behind the grid"),
            Role::Allocated(step) => {
                let place = self.program.places.get(step).copied();
                let line = place.and_then(|place| self.program.locations.line(place));
                line.map_or_else(|| "scratch".to_owned(), |line| format!("scratch of {line}"))
            }
            Role::Barrier => "the barrier".to_owned(),
        };
        format!("{what}, on {}", self.called(of))
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
            let line = self.program.locations.line(*place).unwrap_or_else(|| "?".to_owned());
            let who = self.called(number);
            let point = if instance.point.is_empty() {
                String::new()
            } else {
                format!(" at grid point {:?}", instance.point)
            };
            lines.push(match what {
                Waiting::Semaphore { semaphore, amount } => {
                    let (name, has) = (self.name_of(*semaphore), self.count(*semaphore));
                    let last = self.signals.last.get(semaphore).map(|&(by, place)| {
                        let line = self.program.locations.line(place);
                        let line = line.unwrap_or_else(|| "?".to_owned());
                        format!("; {} signalled it last, at {line}", self.called(by))
                    });
                    let last = last.unwrap_or_else(|| "; nobody has signalled it".to_owned());
                    let coming = self.copies.that_signal(*semaphore).len();
                    let coming = match coming {
                        0 => String::new(),
                        some => format!("; {some} copies that would signal it are not done"),
                    };
                    format!(
                        "{line}: {who}{point} waits for {amount} of {name} which has {has}{last}\
                         {coming}"
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
