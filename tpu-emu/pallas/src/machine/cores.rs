//! The kernels of a launch: which runs on which core of which device, what cores share, and
//! barriers of a core's subcores.
use super::instance::{Instance, State, Waiting};
use super::memory::BufferId;
use super::peers::Role;
use super::{Failure, Machine};
use crate::form::{Array, Extent};
use std::collections::{BTreeMap, HashMap};
use tpu_mosaic::ir::LocationId;

/// Where a kernel runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Who {
    /// The number of the device among those of the launch.
    pub(super) device: usize,
    /// The number of the kernel's entry.
    pub(super) entry: usize,
    /// The number of the core.
    pub(super) core: usize,
    /// The number of the subcore.
    pub(super) subcore: usize,
}

/// All kernels of a launch.
#[derive(Debug, Default)]
pub(super) struct Roster {
    all: Vec<Who>,
    number: HashMap<Who, usize>,
    /// Memory that subcores share: by device, core and role.
    shared: HashMap<(usize, usize, Role), (BufferId, usize)>,
    /// Arrays of the call, by device, and by core where each has its own part.
    arrays: HashMap<(usize, usize, Array), BufferId>,
    /// Who waits at each barrier, by device, entry, core and number, and how often all have met.
    meetings: BTreeMap<(usize, usize, usize, i64), (usize, u64)>,
}

impl Roster {
    /// All kernels, by number.
    pub(super) fn all(&self) -> &[Who] {
        &self.all
    }

    /// Where a kernel runs.
    pub(super) fn who(&self, number: usize) -> Option<Who> {
        self.all.get(number).copied()
    }

    /// The number of a kernel.
    pub(super) fn number(&self, who: Who) -> Option<usize> {
        self.number.get(&who).copied()
    }

    fn add(&mut self, who: Who) {
        self.number.insert(who, self.all.len());
        self.all.push(who);
    }

    /// One subcore needs a shared memory no more; whether it was the last one.
    pub(super) fn leave(&mut self, who: Who, role: Role) -> bool {
        let key = (who.device, who.core, role);
        let Some((_, users)) = self.shared.get_mut(&key) else { return true };
        *users = users.saturating_sub(1);
        let last = *users == 0;
        if last {
            self.shared.remove(&key);
        }
        last
    }

    /// How many subcores of a core run a kernel.
    fn subcores(&self, of: Who) -> usize {
        let beside =
            |who: &&Who| (who.device, who.entry, who.core) == (of.device, of.entry, of.core);
        self.all.iter().filter(beside).count()
    }
}

impl Machine<'_> {
    /// The memory of an array, once for all kernels of a device, or of a core that has a part of it.
    pub(super) fn of_device(
        &mut self,
        (who, array): (Who, Array),
        make: impl FnOnce(&mut Self) -> BufferId,
    ) -> BufferId {
        let core = if self.devices[who.device].has_parts(array) { who.core } else { 0 };
        let key = (who.device, core, array);
        if let Some(&buffer) = self.roster.arrays.get(&key) {
            return buffer;
        }
        let buffer = make(self);
        self.roster.arrays.insert(key, buffer);
        buffer
    }

    /// A memory that the subcores of a core share; the first one makes it.
    pub(super) fn of_core(
        &mut self,
        (who, role): (Who, Role),
        make: impl FnOnce(&mut Self) -> BufferId,
    ) -> BufferId {
        let key = (who.device, who.core, role);
        if let Some((buffer, users)) = self.roster.shared.get_mut(&key) {
            *users += 1;
            return *buffer;
        }
        let buffer = make(self);
        self.roster.shared.insert(key, (buffer, 1));
        buffer
    }

    /// Lists the kernels of the launch.
    ///
    /// # Errors
    /// A number of cores that is none.
    pub(super) fn enlist(&mut self) -> Result<(), Failure> {
        for device in 0..self.devices.len() {
            for (entry, of) in self.program.entries.iter().enumerate() {
                let extent = |dimension: Option<usize>| match dimension.map(|at| of.grid[at]) {
                    None => Ok(1),
                    Some(Extent::Known(extent)) if extent >= 0 => {
                        usize::try_from(extent).map_err(|error| error.to_string())
                    }
                    Some(other) => Err(format!("{other:?} cores")),
                };
                let fails = |what| Failure { what, place: LocationId::UNKNOWN };
                let cores = extent(of.cores.core).map_err(fails)?;
                let subcores = extent(of.cores.subcore).map_err(fails)?;
                for core in 0..cores {
                    for subcore in 0..subcores {
                        self.roster.add(Who { device, entry, core, subcore });
                    }
                }
            }
        }
        Ok(())
    }

    /// Waits until all subcores of the core have come to a barrier.
    pub(super) fn meet(&mut self, instance: &mut Instance, barrier: i64, place: LocationId) {
        let who = instance.who;
        let all = self.roster.subcores(who);
        let key = (who.device, who.entry, who.core, barrier);
        let (waiting, met) = self.roster.meetings.entry(key).or_default();
        let (number, round) = (instance.number, instance.met.unwrap_or(*met));
        let first = instance.met.is_none();
        match instance.met {
            // All have come since.
            Some(before) if before < *met => instance.met = None,
            Some(_) => instance.state = State::Waits { what: Waiting::Barrier(barrier), place },
            None => {
                *waiting += 1;
                if *waiting == all {
                    *waiting = 0;
                    *met += 1;
                } else {
                    instance.met = Some(*met);
                    instance.state = State::Waits { what: Waiting::Barrier(barrier), place };
                    // It has come: that is a step.
                    instance.ran += 1;
                }
            }
        }
        let Some(watch) = &mut self.watch else { return };
        if first {
            watch.comes(number, (key, round));
        }
        if !matches!(instance.state, State::Waits { .. }) {
            watch.goes(number, (key, round));
        }
    }

    /// A kernel of the launch in words.
    pub(super) fn called(&self, number: usize) -> String {
        let Some(who) = self.roster.who(number) else { return "a kernel".to_owned() };
        let device = self.devices.get(who.device).map_or(0, |arrays| arrays.device);
        match self.core_of(who) {
            core if core.is_empty() => format!("device {device}"),
            core => format!("device {device}, {core}"),
        }
    }
}
