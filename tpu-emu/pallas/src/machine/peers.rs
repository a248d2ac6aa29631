//! Memories of other kernels of a launch: a kernel names its own, and means the same one of
//! another device or core.
use super::Machine;
use super::cores::Who;
use super::instance::Instance;
use super::memory::BufferId;
use super::view::View;
use crate::form::{Cell, Int, Peer, Source};
use std::collections::HashMap;
use tpu_mosaic::ir::CoreType;

/// Which of its memories a kernel means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Role {
    /// The memory behind an argument.
    Argument(usize),
    /// The array of which an argument shows blocks.
    Array(usize),
    /// What a step has allocated.
    Allocated(usize),
    /// The barrier of the device.
    Barrier,
}

/// Whose each memory is.
#[derive(Debug, Default)]
pub(super) struct Owners {
    of: HashMap<BufferId, (usize, Role)>,
    by: HashMap<(usize, Role), BufferId>,
}

/// Whether a memory of another kernel is there.
#[derive(Debug)]
pub(super) enum Found {
    /// It is.
    Here,
    /// The kernel on this device has not come to where it allocates it.
    Later(usize),
}

impl Owners {
    /// Notes whose a memory is.
    pub(super) fn add(&mut self, buffer: BufferId, instance: usize, role: Role) {
        self.of.insert(buffer, (instance, role));
        self.by.insert((instance, role), buffer);
    }

    /// Forgets a memory that was given back.
    pub(super) fn remove(&mut self, buffer: BufferId) {
        if let Some(whose) = self.of.remove(&buffer)
            && self.by.get(&whose) == Some(&buffer)
        {
            self.by.remove(&whose);
        }
    }

    /// A kernel needs a memory no more that others still have.
    pub(super) fn leave(&mut self, instance: usize, role: Role) {
        self.by.remove(&(instance, role));
    }

    /// Whose a memory is.
    pub(super) fn of(&self, buffer: BufferId) -> Option<(usize, Role)> {
        self.of.get(&buffer).copied()
    }

    /// All memories in one role, in the order of the kernels.
    pub(super) fn all(&self) -> Vec<(usize, Role, BufferId)> {
        let mut all: Vec<_> = self.by.iter().map(|(&(of, role), &id)| (of, role, id)).collect();
        all.sort_unstable();
        all
    }
}

impl Machine<'_> {
    /// The barrier semaphore of a device, of which each TensorCore has its own.
    pub(super) fn barrier(&mut self, of: Who) -> BufferId {
        let entries = &self.program.entries;
        let own = |who: &Who| match entries[of.entry].core {
            CoreType::TensorCore => (who.entry, who.core) == (of.entry, of.core),
            CoreType::ScalarSubcore | CoreType::VectorSubcore => true,
        };
        let is = |who: &Who| who.device == of.device && own(who);
        let first = self.roster.all().iter().position(is).unwrap_or(0);
        match self.owners.by.get(&(first, Role::Barrier)) {
            Some(&buffer) => buffer,
            None => {
                let cell = Cell::Semaphore(false);
                let buffer = self.bank.own(4, cell);
                self.owners.add(buffer, first, Role::Barrier);
                buffer
            }
        }
    }

    /// Whether a memory is that of a whole array of the call.
    fn is_array(&self, buffer: BufferId) -> bool {
        let Some((number, Role::Argument(at))) = self.owners.of(buffer) else { return false };
        let entry = self.roster.who(number).and_then(|who| self.program.entries.get(who.entry));
        let argument = entry.and_then(|entry| entry.arguments.get(at));
        argument.is_some_and(|argument| matches!(argument.source, Source::Whole(_)))
    }

    /// Makes a view of a kernel's own memory what it means on a peer.
    ///
    /// # Errors
    /// A device or core that is not in the launch.
    pub(super) fn of_peer(
        &mut self,
        instance: &Instance,
        number: usize,
        view: &mut View,
        peer: Peer,
    ) -> Result<Found, String> {
        if peer == Peer::default() {
            return Ok(Found::Here);
        }
        let device = match peer.device.map(|device| instance.int(device)) {
            None => instance.device,
            Some(wanted) => {
                let is = |arrays: &super::Arrays| i64::try_from(arrays.device) == Ok(wanted);
                self.devices.iter().position(is).ok_or_else(|| {
                    let count = self.devices.len();
                    match self.devices.as_slice() {
                        [one] => format!(
                            "device {wanted} is named in a kernel that runs on device {} alone",
                            one.device
                        ),
                        _ => format!("device {wanted} is not one of the {count} of the launch"),
                    }
                })?
            }
        };
        let entries = &self.program.entries;
        let own = |core: CoreType| core == entries[instance.entry].core;
        let entry = match peer.kind.filter(|&kind| !own(kind)) {
            None => instance.entry,
            Some(kind) => match entries.iter().position(|entry| entry.core == kind) {
                Some(entry) => entry,
                // An array of the call that lies in the memory of another core.
                None if self.is_array(view.buffer) => return Ok(Found::Here),
                None => return Err(format!("no kernel runs on a {}", kind.word())),
            },
        };
        let one = |named: Option<Int>, own: usize| match named.map(|named| instance.int(named)) {
            None => Ok(own),
            Some(wanted) => {
                usize::try_from(wanted).map_err(|_| format!("core or subcore {wanted}"))
            }
        };
        let core = one(peer.core, instance.who.core)?;
        let subcore = match entries[entry].core {
            CoreType::VectorSubcore => one(peer.subcore, instance.who.subcore)?,
            CoreType::ScalarSubcore | CoreType::TensorCore => 0,
        };
        let who = Who { device, entry, core, subcore };
        let Some(other) = self.roster.number(who) else {
            return Err(match entries[entry].core {
                CoreType::VectorSubcore => {
                    format!("core {core}, subcore {subcore} does not run the kernel")
                }
                _ => format!("core {core} does not run the kernel"),
            });
        };
        if other == number {
            return Ok(Found::Here);
        }
        let role = match self.owners.of(view.buffer) {
            Some((_, Role::Barrier)) => {
                view.buffer = self.barrier(who);
                return Ok(Found::Here);
            }
            Some((_, role)) => role,
            None => return Err("a memory that is of no kernel".to_owned()),
        };
        match self.owners.by.get(&(other, role)) {
            Some(&buffer) => {
                view.buffer = buffer;
                Ok(Found::Here)
            }
            None => Ok(Found::Later(device)),
        }
    }
}
