//! Kernels are watched: memory that is read before anybody has written it, and accesses to one
//! memory that nothing orders.
//!
//! Order is told by clocks. Each kernel has one, and each copy that runs beside kernels; an access
//! is before another if the other's clock has seen it. A semaphore carries what those have seen
//! who have signalled it to those who wait for it.
use super::instance::Instance;
use super::memory::{Bank, BufferId, Place, poison};
use super::peers::Role;
use super::semaphores::Semaphore;
use super::shadow::{AccessId, Run, Shadow, Written};
use super::view::View;
use super::{Failure, Machine};
use crate::form::Cell;
use std::collections::{BTreeMap, HashMap};
use tpu_mosaic::ir::{LocationId, user_line};

/// What kernels are watched for, beside what always is: accesses out of bounds and deadlocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Checks {
    /// Results that depend on memory that nobody has written.
    pub uninit: bool,
    /// Accesses to one memory, one of them a write, that nothing orders.
    pub races: bool,
}

/// How far each kernel and copy has come, as one of them knows it.
type Clock = Vec<u32>;

/// An access that was noted.
#[derive(Debug, Clone)]
pub(super) struct Access {
    /// Whose clock it stands on, and where.
    actor: usize,
    tick: u32,
    /// The kernel that did it, or began the copy that did.
    pub(super) by: usize,
    pub(super) place: LocationId,
    pub(super) point: Vec<i64>,
    pub(super) copy: bool,
    /// Whether it adds, at once with what others add.
    adds: bool,
}

/// What is done with memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Does {
    Reads,
    Writes,
    /// It adds, in one step: what others add at the same time is no race.
    Adds,
}

/// Where subcores meet: device, entry, core and barrier, and how often they had met there.
pub(super) type Meeting = ((usize, usize, usize, i64), u64);

/// Two accesses that nothing orders.
#[derive(Debug)]
pub(super) struct Race {
    /// The one that was seen first, and whether it wrote.
    pub(super) first: (Access, bool),
    /// The other one, and whether it wrote.
    pub(super) second: (Access, bool),
    pub(super) bytes: usize,
}

/// Who does something: a kernel, or a copy that it has begun.
#[derive(Debug, Clone)]
pub(super) struct Actor {
    /// Whose clock it is.
    pub(super) clock: usize,
    /// The kernel.
    pub(super) by: usize,
    pub(super) place: LocationId,
    pub(super) point: Vec<i64>,
}

/// What was seen so far.
#[derive(Debug)]
pub(super) struct Watch {
    pub(super) checks: Checks,
    kernels: usize,
    clocks: Vec<Clock>,
    /// Clocks of copies that each kernel has begun, used again once it knows that they are done.
    channels: Vec<Vec<usize>>,
    semaphores: HashMap<Semaphore, Clock>,
    meetings: HashMap<Meeting, Clock>,
    shadow: Shadow,
    accesses: Vec<Access>,
    /// Whose memory nobody has written, by number.
    whose: Vec<(usize, Role)>,
    /// Where memory was read that nobody has written, by whose it is.
    unwritten: BTreeMap<(usize, Role), Vec<LocationId>>,
}

impl Watch {
    /// Nothing seen yet, of so many kernels.
    pub(super) fn new(checks: Checks, kernels: usize) -> Option<Self> {
        if checks == Checks::default() {
            return None;
        }
        let mut clocks = vec![vec![0; kernels]; kernels];
        clocks.iter_mut().enumerate().for_each(|(at, clock)| clock[at] = 1);
        Some(Self {
            checks,
            kernels,
            clocks,
            channels: vec![Vec::new(); kernels],
            semaphores: HashMap::new(),
            meetings: HashMap::new(),
            whose: Vec::new(),
            shadow: Shadow::default(),
            accesses: Vec::new(),
            unwritten: BTreeMap::new(),
        })
    }

    /// Memory of a kernel that nobody has written.
    pub(super) fn fresh(&mut self, start: usize, bytes: usize, whose: (usize, Role)) {
        let known = self.whose.iter().position(|&of| of == whose);
        let number = known.unwrap_or_else(|| {
            self.whose.push(whose);
            self.whose.len() - 1
        });
        self.never(start, bytes, AccessId::try_from(number).unwrap_or(AccessId::MAX));
    }

    fn never(&mut self, start: usize, bytes: usize, whose: AccessId) {
        self.shadow.change(start, start + bytes, &mut |run| {
            run.written = Written::Never(whose);
            run.reads.clear();
        });
    }

    /// Memory of which nothing else is known than that it was written.
    pub(super) fn settled(&mut self, start: usize, bytes: usize) {
        self.shadow.change(start, start + bytes, &mut |run| {
            run.written = Written::Before;
            run.reads.clear();
        });
    }

    /// The clock of a copy that a kernel begins.
    pub(super) fn begin(&mut self, kernel: usize) -> usize {
        let seen = |channel: &&usize| {
            let own = self.clocks[**channel].get(**channel).copied().unwrap_or(0);
            self.clocks[kernel].get(**channel).is_some_and(|&known| known >= own)
        };
        let free = self.channels[kernel].iter().find(seen).copied();
        let channel = free.unwrap_or_else(|| {
            let channel = self.clocks.len();
            self.clocks.push(Vec::new());
            self.channels[kernel].push(channel);
            channel
        });
        let known = self.clocks[kernel].clone();
        join(&mut self.clocks[channel], &known);
        self.tick(channel);
        self.tick(kernel);
        channel
    }

    /// A clock goes on.
    pub(super) fn tick(&mut self, clock: usize) {
        let own = &mut self.clocks[clock];
        if own.len() <= clock {
            own.resize(clock + 1, 0);
        }
        own[clock] += 1;
    }

    /// Somebody signals a semaphore.
    pub(super) fn signals(&mut self, clock: usize, semaphore: Semaphore) {
        let known = self.clocks[clock].clone();
        join(self.semaphores.entry(semaphore).or_default(), &known);
    }

    /// A kernel goes on after it has waited for a semaphore, or has asked what it has.
    pub(super) fn waited(&mut self, kernel: usize, semaphore: Semaphore) {
        if let Some(known) = self.semaphores.get(&semaphore) {
            join(&mut self.clocks[kernel], known);
        }
    }

    /// A subcore comes to a barrier.
    pub(super) fn comes(&mut self, kernel: usize, (barrier, round): Meeting) {
        // All have left the meeting before the last one.
        if let Some(before) = round.checked_sub(2) {
            self.meetings.remove(&(barrier, before));
        }
        let known = self.clocks[kernel].clone();
        join(self.meetings.entry((barrier, round)).or_default(), &known);
        self.tick(kernel);
    }

    /// A subcore leaves a barrier, once all have come.
    pub(super) fn goes(&mut self, kernel: usize, meeting: Meeting) {
        if let Some(known) = self.meetings.get(&meeting) {
            join(&mut self.clocks[kernel], known);
        }
    }

    /// Notes an access; tells the first race that it is part of.
    pub(super) fn access(
        &mut self,
        bank: &Bank,
        view: &View,
        actor: &Actor,
        does: Does,
    ) -> Option<Race> {
        let write = does != Does::Reads;
        let base = bank.get(view.buffer).address();
        let id = AccessId::try_from(self.accesses.len()).unwrap_or(AccessId::MAX);
        let clock = &self.clocks[actor.clock];
        let new = Access {
            actor: actor.clock,
            tick: clock.get(actor.clock).copied().unwrap_or(0),
            by: actor.by,
            place: actor.place,
            point: actor.point.clone(),
            copy: actor.clock >= self.kernels,
            adds: does == Does::Adds,
        };
        self.accesses.push(new);
        let (accesses, races) = (&self.accesses, self.checks.races);
        let seen = |id: AccessId| {
            let of = &accesses[id as usize];
            let both_add = of.adds && does == Does::Adds;
            both_add || clock.get(of.actor).is_some_and(|&known| known >= of.tick)
        };
        let mut found: Option<(AccessId, bool, usize)> = None;
        let mut unwritten: Vec<AccessId> = Vec::new();
        for (start, bytes) in view.runs() {
            let (from, to) = (base + start, base + start + bytes);
            self.shadow.change(from, to, &mut |run: &mut Run| {
                if let (true, Written::By(other)) = (races, run.written)
                    && !seen(other)
                {
                    found.get_or_insert((other, true, bytes));
                }
                if write {
                    if let Some(&other) = run.reads.iter().find(|&&other| races && !seen(other)) {
                        found.get_or_insert((other, false, bytes));
                    }
                    run.written = Written::By(id);
                    run.reads.clear();
                } else {
                    if let Written::Never(whose) = run.written
                        && !unwritten.contains(&whose)
                    {
                        unwritten.push(whose);
                    }
                    if races {
                        run.reads.retain(|&other| !seen(other));
                        run.reads.push(id);
                    }
                }
            });
        }
        // What a copy takes along stays unwritten where it goes.
        for whose in unwritten {
            if actor.clock >= self.kernels {
                break;
            }
            let Some(&whose) = self.whose.get(whose as usize) else { continue };
            let places = self.unwritten.entry(whose).or_default();
            if !places.contains(&actor.place) {
                places.push(actor.place);
            }
        }
        found.map(|(other, wrote, bytes)| Race {
            first: (self.accesses[other as usize].clone(), wrote),
            second: (self.accesses[id as usize].clone(), write),
            bytes,
        })
    }

    /// After a copy: what nobody has written at the source is not written at the target.
    pub(super) fn carried(&mut self, bank: &Bank, source: &View, target: &View) {
        let from = bank.get(source.buffer).address();
        let to = bank.get(target.buffer).address();
        let (source, target) = &source.both_there(target);
        let parts: Vec<(usize, Written)> = source
            .runs()
            .into_iter()
            .flat_map(|(start, bytes)| self.shadow.written(from + start, from + start + bytes))
            .collect();
        if !parts.iter().any(|(_, written)| matches!(written, Written::Never(_))) {
            return;
        }
        let mut parts = parts.into_iter();
        let mut left = (0, Written::Before);
        for (start, mut bytes) in target.runs() {
            let mut at = to + start;
            while bytes > 0 {
                if left.0 == 0 {
                    let Some(next) = parts.next() else { return };
                    left = next;
                    continue;
                }
                let count = left.0.min(bytes);
                if let Written::Never(whose) = left.1 {
                    self.never(at, count, whose);
                }
                (at, bytes, left.0) = (at + count, bytes - count, left.0 - count);
            }
        }
    }

    /// Where memory was read that nobody has written, by whose it is.
    pub(super) fn unwritten(&self) -> &BTreeMap<(usize, Role), Vec<LocationId>> {
        &self.unwritten
    }

    /// Blocks that a pipeline has moved: they are written, but for what nobody had written.
    pub(super) fn moved(&mut self, bank: &Bank, source: &View, target: &View) {
        let base = bank.get(target.buffer).address();
        for (start, bytes) in target.runs() {
            self.settled(base + start, bytes);
        }
        self.carried(bank, source, target);
    }

    /// Which bytes of a memory somebody has written: how many, and whether.
    pub(super) fn written(&self, start: usize, bytes: usize) -> Vec<(usize, bool)> {
        let parts = self.shadow.written(start, start + bytes).into_iter();
        let known = |written| !matches!(written, Written::Never(_));
        parts.map(|(bytes, written)| (bytes, known(written))).collect()
    }
}

fn join(clock: &mut Clock, known: &[u32]) {
    if clock.len() < known.len() {
        clock.resize(known.len(), 0);
    }
    for (own, other) in clock.iter_mut().zip(known) {
        *own = (*own).max(*other);
    }
}

/// What memory has that nobody has written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Fill {
    /// Numbers that show where they are used.
    #[default]
    Usual,
    /// Others, of one of [`OTHERS`], in one kernel's memory or in all.
    Other(u8, Option<(usize, Role)>),
}

/// Bytes of numbers other than the usual ones: numbers below zero, zeros, numbers above.
pub(crate) const OTHERS: [u8; 3] = [0xc4, 0, 0x3b];

impl Machine<'_> {
    /// Notes an access of a kernel or copy.
    ///
    /// # Errors
    /// A race.
    pub(super) fn notes(&mut self, view: &View, actor: &Actor, does: Does) -> Result<(), Failure> {
        let Some(watch) = &mut self.watch else { return Ok(()) };
        match watch.access(&self.bank, view, actor, does) {
            None => Ok(()),
            Some(race) => Err(self.raced(&race)),
        }
    }

    /// A kernel as one who does something; `None` where nobody watches.
    pub(super) fn actor(&self, instance: &Instance, place: LocationId) -> Option<Actor> {
        self.watch.as_ref()?;
        let number = instance.number;
        Some(Actor { clock: number, by: number, place, point: instance.point.clone() })
    }

    /// Notes a load or store of a kernel.
    ///
    /// # Errors
    /// A race.
    pub(super) fn touched(
        &mut self,
        instance: &Instance,
        view: &View,
        place: LocationId,
        write: bool,
    ) -> Result<(), Failure> {
        match self.actor(instance, place) {
            None => Ok(()),
            Some(actor) => self.notes(view, &actor, if write { Does::Writes } else { Does::Reads }),
        }
    }

    /// Notes that a kernel adds to memory at once: who does so behind it knows what it knew.
    ///
    /// # Errors
    /// A race.
    pub(super) fn adds_at(
        &mut self,
        instance: &Instance,
        one: &View,
        place: LocationId,
    ) -> Result<(), Failure> {
        let Some(actor) = self.actor(instance, place) else { return Ok(()) };
        let Ok(counter) = Semaphore::of(one) else { return Ok(()) };
        if let Some(watch) = &mut self.watch {
            watch.waited(instance.number, counter);
        }
        self.notes(one, &actor, Does::Adds)?;
        if let Some(watch) = &mut self.watch {
            watch.signals(instance.number, counter);
            watch.tick(instance.number);
        }
        Ok(())
    }

    /// Whether it matters that nobody has written a memory, even if a kernel writes it all before
    /// it reads there.
    pub(super) fn minds_what_is_unwritten(&self) -> bool {
        self.watch.is_some()
    }

    /// Memory that nobody has written, from now on.
    pub(super) fn unwritten(&mut self, place: Place, cell: Cell, whose: (usize, Role)) {
        let Cell::Element(dtype) = cell else { return };
        match self.fill {
            Fill::Other(byte, only) if only.is_none_or(|only| only == whose) => {
                place.fill_otherwise(dtype, byte)
            }
            _ => poison(place, dtype),
        }
        if let Some(watch) = &mut self.watch {
            watch.fresh(place.address(), place.len(), whose);
        }
    }

    /// A result that nobody has written, from now on.
    pub(super) fn unwritten_result(&mut self, result: BufferId, cell: Cell, whose: (usize, Role)) {
        match cell {
            // What others know by another number is filled at once.
            Cell::Element(dtype)
                if self.program.entries.len() == 1
                    && self.watch.is_none()
                    && matches!(self.fill, Fill::Usual) =>
            {
                self.bank.fill_later(result, dtype)
            }
            _ => self.unwritten(self.bank.get(result).place(), cell, whose),
        }
    }

    /// A race in words.
    fn raced(&self, race: &Race) -> Failure {
        let told = |(access, write): &(Access, bool)| {
            let verb = match (access.copy, write) {
                (false, false) => "a read",
                (false, true) => "a write",
                (true, false) => "a copy that reads, begun",
                (true, true) => "a copy that writes, begun",
            };
            let point = if access.point.is_empty() {
                String::new()
            } else {
                format!(" at grid point {:?}", access.point)
            };
            format!("{verb} by {}{point}", self.called(access.by))
        };
        let line = user_line(&self.program.locations, race.first.0.place);
        let line = line.unwrap_or_else(|| "a place that is not known".to_owned());
        let what = format!(
            "race: {} and, at {line}, {} touch the same {} bytes, and nothing orders them",
            told(&race.second),
            told(&race.first),
            race.bytes
        );
        Failure { what, place: race.second.0.place }
    }

    /// Where memory was read that nobody has written, by whose it is, once all has run.
    pub(crate) fn suspects(&self) -> Vec<((usize, Role), Vec<LocationId>)> {
        let unwritten = self.watch.as_ref().map(Watch::unwritten).into_iter().flatten();
        unwritten.map(|(&whose, places)| (whose, places.clone())).collect()
    }

    /// Which bytes of a result somebody has written: how many, and whether.
    pub(crate) fn written(&self, device: usize, result: usize) -> Vec<(usize, bool)> {
        let place = self.devices[device].results[result];
        self.written_at(place.address(), place.len())
    }

    /// Which bytes from an address on somebody has written: how many, and whether.
    pub(super) fn written_at(&self, address: usize, bytes: usize) -> Vec<(usize, bool)> {
        let watch = self.watch.as_ref();
        watch.map_or_else(|| vec![(bytes, true)], |watch| watch.written(address, bytes))
    }
}
