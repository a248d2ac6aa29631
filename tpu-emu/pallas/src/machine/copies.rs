//! Copies that run beside kernels, and semaphores.
//!
//! A copy is done when somebody waits for it, the last one first: what a kernel reads before it
//! has waited is what was there before.
use super::instance::{Instance, State};
use super::memory::BufferId;
use super::view::View;
use super::{Failure, Machine};
use crate::form::{Cell, Peer, Sync, ViewId};
use std::collections::BTreeMap;
use tpu_base::tensor::DType;
use tpu_mosaic::ir::LocationId;

/// A semaphore: its memory, and the byte that it begins with.
pub(super) type Semaphore = (BufferId, usize);

/// A copy that was begun and is not done.
#[derive(Debug)]
struct Copy {
    source: View,
    target: View,
    /// Semaphores that it signals when it is done, with how much.
    signals: Vec<(Semaphore, i64)>,
}

/// Copies that are not done, in the order in which they were begun, and barriers.
#[derive(Debug, Default)]
pub(super) struct Copies {
    waiting: Vec<Copy>,
    /// The barrier of each device.
    barriers: BTreeMap<usize, BufferId>,
}

impl Machine<'_> {
    /// One step of this kind.
    pub(super) fn sync(
        &mut self,
        instance: &mut Instance,
        number: usize,
        sync: &Sync,
        place: LocationId,
    ) -> Result<(), Failure> {
        let _ = number;
        let fails = |what: String| Failure { what, place };
        match sync {
            Sync::Signal { semaphore, amount, peer } => {
                self.own(instance, *peer).map_err(fails)?;
                let semaphore = semaphore_of(instance, *semaphore).map_err(fails)?;
                let amount = instance.int(*amount);
                self.signal(semaphore, amount);
            }
            Sync::Wait { semaphore, amount } => {
                let semaphore = semaphore_of(instance, *semaphore).map_err(fails)?;
                let amount = instance.int(*amount);
                self.wait(instance, semaphore, amount, place);
            }
            Sync::Read { semaphore, to } => {
                let semaphore = semaphore_of(instance, *semaphore).map_err(fails)?;
                let value = self.count(semaphore);
                instance.set(*to, value);
            }
            Sync::Barrier { to } => {
                let device = instance.device;
                let buffer = match self.copies.barriers.get(&device) {
                    Some(&buffer) => buffer,
                    None => {
                        let cell = Cell::Semaphore(false);
                        let buffer = self.bank.own(4, cell);
                        self.copies.barriers.insert(device, buffer);
                        buffer
                    }
                };
                instance.set_view(*to, View::whole(buffer, DType::S32, &[]));
            }
            Sync::Enqueue { source, source_semaphore, target, target_semaphore, peer, .. } => {
                self.own(instance, *peer).map_err(fails)?;
                let source = instance.view(*source).map_err(fails)?.clone();
                let target = instance.view(*target).map_err(fails)?.clone();
                if source.dims() != target.dims() || source.dtype != target.dtype {
                    let (from, to) = (source.dims(), target.dims());
                    return Err(fails(format!("a copy of {from:?} to {to:?}")));
                }
                let mut signals = Vec::new();
                for semaphore in [source_semaphore, target_semaphore].into_iter().flatten() {
                    let view = instance.view(*semaphore).map_err(fails)?;
                    let bytes = matches!(self.bank.get(view.buffer).cell, Cell::Semaphore(true));
                    let amount = if bytes { bytes_of(&target) } else { 1 };
                    let semaphore = semaphore_of(instance, *semaphore).map_err(fails)?;
                    signals.push((semaphore, amount));
                }
                self.copies.waiting.push(Copy { source, target, signals });
            }
            Sync::WaitCopy { semaphore, size } => {
                let view = instance.view(*semaphore).map_err(fails)?;
                let bytes = matches!(self.bank.get(view.buffer).cell, Cell::Semaphore(true));
                let amount = if bytes { bytes_of(instance.view(*size).map_err(fails)?) } else { 1 };
                let semaphore = semaphore_of(instance, *semaphore).map_err(fails)?;
                self.wait(instance, semaphore, amount, place);
            }
        }
        Ok(())
    }

    /// Whether a peer is the instance itself.
    fn own(&self, instance: &Instance, peer: Peer) -> Result<(), String> {
        let device = i64::try_from(self.devices[instance.device].device).unwrap_or(0);
        match peer.device.map(|device| instance.int(device)) {
            Some(other) if other != device => {
                Err(format!("device {other} is not reached from device {device}"))
            }
            _ => Ok(()),
        }
    }

    fn count(&self, (buffer, at): Semaphore) -> i64 {
        let bytes = self.bank.get(buffer).place.part(at, 4).bytes();
        bytes.try_into().map_or(0, |bytes| i64::from(i32::from_le_bytes(bytes)))
    }

    fn signal(&mut self, semaphore: Semaphore, amount: i64) {
        let count = super::scalar::wrap(32, self.count(semaphore) + amount);
        let place = self.bank.get(semaphore.0).place.part(semaphore.1, 4);
        place.bytes_mut().copy_from_slice(&count.to_le_bytes()[..4]);
    }

    /// Waits until a semaphore has so much, and takes it away.
    fn wait(
        &mut self,
        instance: &mut Instance,
        semaphore: Semaphore,
        amount: i64,
        place: LocationId,
    ) {
        while self.count(semaphore) < amount {
            let last = self.copies.waiting.iter().rposition(|copy| {
                copy.signals.iter().any(|(signalled, _)| *signalled == semaphore)
            });
            let Some(last) = last else {
                instance.state = State::Waits { semaphore, amount, place };
                return;
            };
            self.finish(last);
        }
        self.signal(semaphore, -amount);
    }

    /// Does a copy.
    fn finish(&mut self, number: usize) {
        let Copy { source, target, signals } = self.copies.waiting.remove(number);
        target.copy_from(&self.bank, &source);
        for (semaphore, amount) in signals {
            self.signal(semaphore, amount);
        }
    }

    /// Does the copy that was begun first, if there is one.
    pub(super) fn finish_one_copy(&mut self) -> bool {
        let any = !self.copies.waiting.is_empty();
        if any {
            self.finish(0);
        }
        any
    }

    /// Does all copies.
    pub(super) fn finish_copies(&mut self) {
        while self.finish_one_copy() {}
    }

    /// Does the copies that need a memory which is given back.
    pub(super) fn finish_copies_of(&mut self, buffer: BufferId) {
        let needs = |copy: &Copy| {
            copy.source.buffer == buffer
                || copy.target.buffer == buffer
                || copy.signals.iter().any(|((of, _), _)| *of == buffer)
        };
        while let Some(at) = self.copies.waiting.iter().position(needs) {
            self.finish(at);
        }
    }

    /// What all instances wait for.
    pub(super) fn deadlock(&self, instances: &[Instance]) -> Failure {
        let mut what = "deadlock: nobody can go on".to_owned();
        let mut first = None;
        for instance in instances {
            let State::Waits { semaphore, amount, place } = &instance.state else { continue };
            first.get_or_insert(*place);
            let line = self.program.locations.line(*place).unwrap_or_else(|| "?".to_owned());
            let (device, has) = (self.devices[instance.device].device, self.count(*semaphore));
            what.push_str(&format!(
                "\n{line}: device {device} waits for {amount} of a semaphore that has {has}"
            ));
        }
        Failure { what, place: first.unwrap_or(LocationId::UNKNOWN) }
    }
}

fn bytes_of(view: &View) -> i64 {
    let of = view.dtype.element();
    i64::try_from(view.elements() * (of.bits * of.parts) as usize / 8).unwrap_or(i64::MAX)
}

fn semaphore_of(instance: &Instance, view: ViewId) -> Result<Semaphore, String> {
    let view = instance.view(view)?;
    if view.elements() != 1 {
        return Err(format!("semaphores {:?} where one is expected", view.dims()));
    }
    Ok((view.buffer, view.start()))
}
