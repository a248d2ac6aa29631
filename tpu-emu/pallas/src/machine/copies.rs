//! Copies that run beside kernels.
//!
//! When a copy is done is not said by the kernel: [`CopyOrder`] says it. Late, it is done when
//! somebody waits for it, the last one first: what a kernel reads before it has waited is what was
//! there before.
use super::instance::{Instance, State, Waiting};
use super::memory::BufferId;
use super::peers::Found;
use super::records::Moved;
use super::rows::{Rows, row_pairs};
use super::semaphores::Semaphore;
use super::view::View;
use super::watch::{Actor, Does};
use super::{Failure, Machine};
use crate::form::{Cell, Peer, Sync};
use std::iter;
use tpu_mosaic::ir::LocationId;

/// How often a kernel asks what semaphores have before a copy is done: some wait by asking.
const PATIENT: u64 = 64;

/// When copies that run beside a kernel are done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CopyOrder {
    /// When somebody waits for them.
    #[default]
    Late,
    /// At once.
    Early,
    /// Some time between; the same for the same number.
    Random(u64),
}

/// What a copy signals, with how much.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Signalled {
    /// When it has read.
    pub(super) sent: Option<(Semaphore, i64)>,
    /// When it has written.
    pub(super) done: Option<(Semaphore, i64)>,
}

impl Signalled {
    fn all(self) -> impl Iterator<Item = (Semaphore, i64)> {
        self.sent.into_iter().chain(self.done)
    }

    fn has(self, semaphore: Semaphore) -> bool {
        self.all().any(|(of, _)| of == semaphore)
    }
}

/// A copy that was begun and is not done.
#[derive(Debug)]
struct Copy {
    source: View,
    target: View,
    /// Which semaphores it signals, with how much.
    signals: Signalled,
    /// Which rows are copied, if not all.
    rows: Option<Rows>,
    /// Who it is to those who watch.
    actor: Option<Actor>,
    /// Who began it, and where.
    by: usize,
    place: LocationId,
}

/// Copies that are not done, in the order in which they were begun.
#[derive(Debug, Default)]
pub(super) struct Copies {
    waiting: Vec<Copy>,
    order: CopyOrder,
    /// The state of the generator of [`CopyOrder::Random`].
    state: u64,
}

impl Copies {
    /// None yet.
    pub(super) fn new(order: CopyOrder) -> Self {
        let state = match order {
            CopyOrder::Random(seed) => seed,
            CopyOrder::Late | CopyOrder::Early => 0,
        };
        Self { waiting: Vec::new(), order, state }
    }

    /// The next number of a generator (splitmix64).
    fn draw(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Where each copy was begun that would signal a semaphore.
    pub(super) fn that_signal(&self, semaphore: Semaphore) -> Vec<LocationId> {
        let of = |copy: &&Copy| copy.signals.has(semaphore);
        self.waiting.iter().filter(of).map(|copy| copy.place).collect()
    }
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
        let fails = |what: String| Failure { what, place };
        match sync {
            Sync::Signal { semaphore, amount, peer } => {
                let amount = instance.int(*amount);
                let mut view = instance.view(*semaphore).map_err(fails)?.clone();
                match self.of_peer(instance, number, &mut view, *peer).map_err(fails)? {
                    Found::Later(device) => {
                        instance.state = State::Waits { what: Waiting::Memory(device), place };
                    }
                    Found::Here => {
                        let semaphore = Semaphore::of(&view).map_err(fails)?;
                        if let Some(watch) = &mut self.watch {
                            watch.signals(number, semaphore);
                            watch.tick(number);
                        }
                        self.signal(semaphore, amount, (number, place)).map_err(fails)?;
                    }
                }
            }
            Sync::Wait { semaphore, amount } => {
                let view = instance.view(*semaphore).map_err(fails)?;
                let semaphore = Semaphore::of(view).map_err(fails)?;
                let amount = instance.int(*amount);
                self.wait(instance, (semaphore, amount), place)?;
            }
            Sync::Read { semaphore, to } => {
                let view = instance.view(*semaphore).map_err(fails)?;
                let semaphore = Semaphore::of(view).map_err(fails)?;
                let value = self.count(semaphore);
                if let Some(watch) = &mut self.watch {
                    watch.waited(number, semaphore);
                }
                instance.set(*to, value);
                instance.asked += 1;
                if instance.asked.is_multiple_of(PATIENT) {
                    self.finish_one_copy()?;
                }
            }
            Sync::Barrier { to } => {
                let buffer = self.barrier(instance.who);
                let dtype = Cell::Semaphore(false).dtype();
                instance.set_view(*to, View::whole(buffer, dtype, &[]));
            }
            Sync::Meet { barrier } => {
                let barrier = instance.int(*barrier);
                self.meet(instance, barrier, place);
            }
            Sync::Indirect(copy) => self.enqueue_rows(instance, number, copy, place)?,
            Sync::FetchAdd { view, indices, value, core, to } => {
                let mut view = instance.view(*view).map_err(fails)?.clone();
                let peer = Peer { subcore: Some(*core), ..Peer::default() };
                match self.of_peer(instance, number, &mut view, peer).map_err(fails)? {
                    Found::Later(device) => {
                        instance.state = State::Waits { what: Waiting::Memory(device), place };
                    }
                    Found::Here => {
                        let one = view.one(&instance.ints(indices)).map_err(fails)?;
                        self.adds_at(instance, &one, place)?;
                        let before = self.scalar_of(&one);
                        self.set_scalar_of(&one, before.wrapping_add(instance.int(*value)));
                        instance.set(*to, before);
                    }
                }
            }
            Sync::Enqueue { .. } => self.enqueue(instance, number, sync, place)?,
            Sync::WaitCopy { semaphore, size } => {
                let view = instance.view(*semaphore).map_err(fails)?;
                let amount = self.amount(view, instance.view(*size).map_err(fails)?);
                let semaphore = Semaphore::of(view).map_err(fails)?;
                self.wait(instance, (semaphore, amount), place)?;
            }
        }
        Ok(())
    }

    fn enqueue(
        &mut self,
        instance: &mut Instance,
        number: usize,
        sync: &Sync,
        place: LocationId,
    ) -> Result<(), Failure> {
        let Sync::Enqueue { source, source_semaphore, target, target_semaphore, peer, .. } = sync
        else {
            return Ok(());
        };
        let fails = |what: String| Failure { what, place };
        let source = instance.view(*source).map_err(fails)?.clone();
        let mut target = instance.view(*target).map_err(fails)?.clone();
        if !source.has_dims_of(&target) || source.dtype != target.dtype {
            let (from, to) = (source.dims(), target.dims());
            return Err(fails(format!("a copy of {from:?} to {to:?}")));
        }
        let mut signals = Signalled::default();
        if let Some(semaphore) = source_semaphore {
            let view = instance.view(*semaphore).map_err(fails)?;
            let amount = self.amount(view, &source);
            signals.sent = Some((Semaphore::of(view).map_err(fails)?, amount));
        }
        // The other end, as that one's own kernel has it.
        let end = target_semaphore.map(|of| instance.view(of).cloned()).transpose();
        let mut end = end.map_err(fails)?;
        for view in iter::once(&mut target).chain(&mut end) {
            match self.of_peer(instance, number, view, *peer).map_err(fails)? {
                Found::Here => {}
                Found::Later(device) => {
                    instance.state = State::Waits { what: Waiting::Memory(device), place };
                    return Ok(());
                }
            }
        }
        if let Some(view) = end {
            let amount = self.amount(&view, &target);
            signals.done = Some((Semaphore::of(&view).map_err(fails)?, amount));
        }
        self.begin_copy((source, target, None), signals, (instance, number), place)
    }

    /// Begins a copy.
    pub(super) fn begin_copy(
        &mut self,
        (source, target, rows): (View, View, Option<Rows>),
        signals: Signalled,
        (instance, by): (&Instance, usize),
        place: LocationId,
    ) -> Result<(), Failure> {
        let mut actor = self.actor(instance, place);
        if let (Some(actor), Some(watch)) = (&mut actor, &mut self.watch) {
            actor.clock = watch.begin(by);
        }
        let copy = Copy { source, target, signals, rows, actor, by, place };
        self.copies.waiting.push(copy);
        match self.copies.order {
            CopyOrder::Late => {}
            CopyOrder::Early => self.finish_copies()?,
            CopyOrder::Random(_) => {
                while !self.copies.waiting.is_empty() && self.copies.draw().is_multiple_of(2) {
                    let any = self.copies.draw() % (self.copies.waiting.len() as u64);
                    self.finish(usize::try_from(any).unwrap_or(0))?;
                }
            }
        }
        Ok(())
    }

    /// How much a copy of a view adds to a semaphore.
    pub(super) fn amount(&self, semaphore: &View, copied: &View) -> i64 {
        match self.bank.get(semaphore.buffer).cell {
            Cell::Semaphore(true) => bytes_of(copied),
            _ => 1,
        }
    }

    /// Does copies until a semaphore has so much, the last one first.
    pub(super) fn copies_for(&mut self, semaphore: Semaphore, amount: i64) -> Result<(), Failure> {
        while self.count(semaphore) < amount {
            let last = self.copies.waiting.iter().rposition(|copy| copy.signals.has(semaphore));
            let Some(last) = last else { break };
            self.finish(last)?;
        }
        Ok(())
    }

    /// Does a copy.
    fn finish(&mut self, number: usize) -> Result<(), Failure> {
        let copy = self.copies.waiting.remove(number);
        self.note_copy(&copy)?;
        let Copy { source, target, signals, rows, by, place, .. } = copy;
        if self.records.is_some() {
            self.records_copy(by, &source, &target);
        }
        match rows {
            None => target.copy_from(&self.bank, &source),
            Some(rows) => {
                self.copy_rows(&source, &target, &rows).map_err(|what| Failure { what, place })?
            }
        }
        for (semaphore, amount) in signals.all() {
            self.signal(semaphore, amount, (by, place)).map_err(|what| Failure { what, place })?;
        }
        Ok(())
    }

    /// Notes what a copy reads and writes.
    fn note_copy(&mut self, copy: &Copy) -> Result<(), Failure> {
        let Some(actor) = &copy.actor else { return Ok(()) };
        let place = copy.place;
        let pairs = match &copy.rows {
            None => vec![(copy.source.clone(), copy.target.clone())],
            Some(rows) => {
                let pairs = row_pairs(&copy.source, &copy.target, rows);
                pairs.map_err(|what| Failure { what, place })?
            }
        };
        for (source, _) in &pairs {
            self.notes(source, actor, Does::Reads)?;
        }
        if let Some(watch) = &mut self.watch {
            if let Some((semaphore, _)) = copy.signals.sent {
                watch.signals(actor.clock, semaphore);
            }
            watch.tick(actor.clock);
        }
        let adds = copy.rows.as_ref().is_some_and(|rows| rows.add.is_some());
        for (source, target) in &pairs {
            self.notes(target, actor, if adds { Does::Adds } else { Does::Writes })?;
            if let Some(watch) = &mut self.watch {
                watch.carried(&self.bank, source, target);
            }
        }
        if let Some(watch) = &mut self.watch
            && let Some((semaphore, _)) = copy.signals.done
        {
            watch.signals(actor.clock, semaphore);
        }
        Ok(())
    }

    /// Counts what a copy moves.
    fn records_copy(&mut self, by: usize, source: &View, target: &View) {
        let device = |number: usize| self.roster.who(number).map_or(0, |who| who.device);
        let of = |view: &View| self.owners.of(view.buffer).map(|(number, _)| device(number));
        let own = device(by);
        let away = of(target).is_some_and(|device| device != own);
        let what = if away { Moved::CopiesAway } else { Moved::Copies };
        let bytes = bytes_of(source).min(bytes_of(target));
        self.records_moved(own, what, u64::try_from(bytes).unwrap_or(0));
    }

    /// Does the copy that was begun first, if there is one.
    pub(super) fn finish_one_copy(&mut self) -> Result<bool, Failure> {
        let any = !self.copies.waiting.is_empty();
        if any {
            self.finish(0)?;
        }
        Ok(any)
    }

    /// Does all copies.
    pub(super) fn finish_copies(&mut self) -> Result<(), Failure> {
        while self.finish_one_copy()? {}
        Ok(())
    }

    /// Does the copies that need a memory which is given back.
    pub(super) fn finish_copies_of(&mut self, buffer: BufferId) -> Result<(), Failure> {
        let needs = |copy: &Copy| {
            copy.source.buffer == buffer
                || copy.target.buffer == buffer
                || copy.signals.all().any(|(of, _)| of.buffer == buffer)
        };
        while let Some(at) = self.copies.waiting.iter().position(needs) {
            self.finish(at)?;
        }
        Ok(())
    }
}

fn bytes_of(view: &View) -> i64 {
    let of = view.dtype.element();
    let bits = u64::from(of.bits * of.parts);
    i64::try_from(view.elements() as u64 * bits / 8).unwrap_or(i64::MAX)
}
