//! A kernel on one core: its registers, views and slots, and one step after the other.
use super::cores::Who;
use super::memory::{BufferId, Place};
use super::peers::Role;
use super::scalar::{compute, wrap};
use super::semaphores::Semaphore;
use super::view::View;
use super::windows::WindowState;
use super::{Failure, Machine, is_shared};
use crate::form::{Int, Program, Question, Register, Reshaping, SlotId, Step, Sync, ViewId};
use tpu_kernels::aligned::Aligned;
use tpu_mosaic::ir::LocationId;

/// How far an instance is.
#[derive(Debug)]
pub(super) enum State {
    /// It can go on.
    Ready,
    /// It has run.
    Ended,
    /// It waits, and tries its step again.
    Waits { what: Waiting, place: LocationId },
}

/// What an instance waits for.
#[derive(Debug, Clone, Copy)]
pub(super) enum Waiting {
    /// That a semaphore has so much.
    Semaphore { semaphore: Semaphore, amount: i64 },
    /// That all subcores of the core come to a barrier.
    Barrier(i64),
    /// That the kernel on a device allocates what this one names.
    Memory(usize),
}

/// A kernel on one core.
#[derive(Debug)]
pub(super) struct Instance {
    /// The number of this kernel among all of the launch.
    pub(super) number: usize,
    /// Where it runs.
    pub(super) who: Who,
    /// The number of its device among those of the launch.
    pub(super) device: usize,
    /// The number of the kernel's entry.
    pub(super) entry: usize,
    /// How often all had met at the barrier where it waits.
    pub(super) met: Option<u64>,
    pub(super) state: State,
    /// The number of the next step.
    pub(super) next: usize,
    /// Steps that it has done.
    pub(super) ran: u64,
    /// How often it has asked what a semaphore has.
    pub(super) asked: u64,
    pub(super) registers: Vec<i64>,
    views: Vec<Option<View>>,
    pub(super) slots: Vec<Place>,
    /// The point of the grid, and the grid.
    pub(super) point: Vec<i64>,
    pub(super) bounds: Vec<i64>,
    /// How many points are left, where those are not all.
    pub(super) left: Option<usize>,
    /// A window for each argument that has one.
    pub(super) windows: Vec<Option<WindowState>>,
    /// Memories that results are made of at the end.
    pub(super) back: Vec<(BufferId, Place)>,
    /// For what pieces read and write besides.
    pub(super) staging: Aligned,
    /// The seeds of the generator, and how often it was asked.
    pub(super) random: ([u32; 2], u64),
}

impl Instance {
    /// A kernel before its first step.
    pub(super) fn new(program: &Program, (number, who): (usize, Who), bounds: Vec<i64>) -> Self {
        let Who { device, entry, .. } = who;
        Self {
            number,
            who,
            device,
            entry,
            met: None,
            state: State::Ready,
            next: program.entries[entry].start,
            ran: 0,
            asked: 0,
            registers: vec![0; program.registers],
            views: vec![None; program.views],
            slots: Vec::new(),
            point: vec![0; bounds.len()],
            bounds,
            left: None,
            windows: Vec::new(),
            back: Vec::new(),
            staging: Aligned::default(),
            random: ([0; 2], 0),
        }
    }

    /// Goes to the first point; ends at once where there is none.
    pub(super) fn begin(&mut self, program: &Program) {
        if self.bounds.iter().any(|&bound| bound <= 0) {
            self.state = State::Ended;
        }
        let cores = program.entries[self.entry].cores;
        for (dimension, index) in [(cores.core, self.who.core), (cores.subcore, self.who.subcore)] {
            if let Some(at) = dimension {
                self.point[at] = i64::try_from(index).unwrap_or(i64::MAX);
            }
        }
        self.set_indices(program);
    }

    pub(super) fn set_indices(&mut self, program: &Program) {
        let indices = &program.entries[self.entry].indices;
        for (&Register(register), &index) in indices.iter().zip(&self.point) {
            self.registers[register as usize] = index;
        }
    }

    /// A scalar.
    pub(super) fn int(&self, int: Int) -> i64 {
        match int {
            Int::Known(value) => value,
            Int::In(Register(at)) => self.registers[at as usize],
        }
    }

    pub(super) fn ints(&self, ints: &[Int]) -> Vec<i64> {
        ints.iter().map(|&int| self.int(int)).collect()
    }

    pub(super) fn set(&mut self, Register(at): Register, value: i64) {
        self.registers[at as usize] = value;
    }

    /// A view.
    ///
    /// # Errors
    /// One that was not made: a fault of ours.
    pub(super) fn view(&self, ViewId(at): ViewId) -> Result<&View, String> {
        self.views[at as usize].as_ref().ok_or_else(|| "a view that was not made".to_owned())
    }

    pub(super) fn set_view(&mut self, ViewId(at): ViewId, view: View) {
        self.views[at as usize] = Some(view);
    }

    /// Makes a view of another one, in place of what it was before.
    fn make_view(&mut self, from: ViewId, how: &Reshaping, to: ViewId) -> Result<(), String> {
        let mut made = match self.views[to.0 as usize].take() {
            Some(before) => before,
            None => self.view(from)?.clone(),
        };
        let view = self.view(from)?;
        match how {
            Reshaping::Slice { indices, sizes } => {
                let size = |axis: usize| self.int(sizes[axis]);
                if let Some(size) = (0..sizes.len()).map(size).find(|&size| size < 0) {
                    return Err(format!("a slice of size {size}"));
                }
                let part = |axis: usize| {
                    (self.int(indices[axis]), usize::try_from(size(axis)).unwrap_or(0))
                };
                view.slice_to(&mut made, &part, None)?;
            }
            Reshaping::Squeeze(dropped) => {
                made.set(view);
                made.squeeze(dropped);
            }
            Reshaping::Reshape(dims) => {
                made.set(view);
                made.reshape(dims)?;
            }
            Reshaping::Bitcast(dtype, dims) => {
                made.set(view);
                made.bitcast(*dtype, dims)?;
            }
        }
        self.set_view(to, made);
        Ok(())
    }

    pub(super) fn slot(&self, SlotId(at): SlotId) -> Place {
        self.slots[at as usize]
    }

    /// Goes to the next point; whether there is one.
    fn next_point(&mut self, program: &Program) -> bool {
        if let Some(left) = &mut self.left {
            *left = left.saturating_sub(1);
            if *left == 0 {
                return false;
            }
        }
        let cores = program.entries[self.entry].cores;
        let points = self.point.iter_mut().zip(&self.bounds).enumerate();
        for (at, (index, bound)) in points.rev() {
            // Other cores have the other points.
            if cores.core == Some(at) || cores.subcore == Some(at) {
                continue;
            }
            *index += 1;
            if *index < *bound {
                self.set_indices(program);
                return true;
            }
            *index = 0;
        }
        false
    }
}

impl Machine<'_> {
    /// Runs an instance until it ends or waits.
    pub(super) fn go_on(&mut self, instance: &mut Instance, number: usize) -> Result<(), Failure> {
        let program = self.program;
        instance.state = State::Ready;
        while matches!(instance.state, State::Ready) {
            let at = instance.next;
            let Some(step) = program.steps.get(at) else {
                instance.state = State::Ended;
                break;
            };
            instance.next += 1;
            instance.ran += 1;
            let place = program.places[at];
            let may = self.goes_on(place);
            match may.and_then(|()| self.run_step(instance, number, step, place)) {
                Ok(()) => {}
                Err(failure) => return Err(self.told(instance, failure)),
            }
            if matches!(instance.state, State::Waits { .. }) {
                // The step is tried again.
                instance.next = at;
                instance.ran -= 1;
            } else if gives_turn(step) && self.roster.all().len() > 1 {
                break;
            }
        }
        Ok(())
    }

    /// A failure with the point of the grid.
    fn told(&self, instance: &Instance, failure: Failure) -> Failure {
        let mut what = failure.what;
        if !instance.point.is_empty() {
            what.push_str(&format!("; at grid point {:?}", instance.point));
        }
        if self.devices.len() > 1 {
            what.push_str(&format!("; on device {}", self.devices[instance.device].device));
        }
        Failure { what, place: failure.place }
    }

    fn run_step(
        &mut self,
        instance: &mut Instance,
        number: usize,
        step: &Step,
        place: LocationId,
    ) -> Result<(), Failure> {
        let fails = |what: String| Failure { what, place };
        match step {
            Step::Scalar(scalar) => {
                let (a, b) = (instance.int(scalar.a), instance.int(scalar.b));
                instance.set(scalar.to, compute(scalar.op, scalar.bits, a, b));
            }
            Step::Choose { condition, a, b, to } => {
                let chosen = if instance.int(*condition) != 0 { a } else { b };
                let value = instance.int(*chosen);
                instance.set(*to, value);
            }
            Step::Move { from, to } => {
                let value = instance.int(*from);
                instance.set(*to, value);
            }
            Step::Jump(to) => instance.next = *to,
            Step::JumpUnless(condition, to) => {
                if instance.int(*condition) == 0 {
                    instance.next = *to;
                }
            }
            Step::Run(run) => self.run_piece(instance, run)?,
            Step::Exchange(a, b) => instance.slots.swap(a.0 as usize, b.0 as usize),
            Step::Copy(from, to) => instance.slot(*to).copy_from(instance.slot(*from)),
            Step::Load { from, indices, to } => {
                let value = self.load_scalar(instance, *from, indices, place)?;
                instance.set(*to, value);
            }
            Step::Store { value, to, indices } => {
                let value = instance.int(*value);
                self.store_scalar(instance, (*to, indices), value, place)?;
            }
            Step::View { from, how, to } => instance.make_view(*from, how, *to).map_err(fails)?,
            Step::Allocate { to, cell, dims, space } => {
                let dtype = cell.dtype();
                let bytes = dims.iter().product::<usize>() * dtype.host_bytes();
                let whose = (number, Role::Allocated(instance.next - 1));
                let make = |machine: &mut Self| {
                    let id = machine.bank.own(bytes, *cell);
                    machine.unwritten(machine.bank.get(id).place(), *cell, whose);
                    id
                };
                let id = if is_shared(*space) {
                    self.of_core((instance.who, whose.1), make)
                } else {
                    make(self)
                };
                self.owners.add(id, whose.0, whose.1);
                if self.records.is_some() {
                    let who = (instance.who, &instance.point[..]);
                    self.records_allocation(who, (id, *cell, *space), dims, place);
                }
                instance.set_view(*to, View::whole(id, dtype, dims));
            }
            Step::Free(views) => {
                for &view in views {
                    let buffer = instance.view(view).map_err(fails)?.buffer;
                    if let Some((_, role)) = self.owners.of(buffer)
                        && !self.roster.leave(instance.who, role)
                    {
                        self.owners.leave(number, role);
                        continue;
                    }
                    self.finish_copies_of(buffer)?;
                    self.are_zero(buffer)?;
                    self.owners.remove(buffer);
                    if let Some(watch) = &mut self.watch {
                        let memory = self.bank.get(buffer);
                        watch.settled(memory.address(), memory.len());
                    }
                    self.records_free(buffer);
                    self.bank.drop(buffer);
                }
            }
            Step::Blocks => self.blocks(instance, place)?,
            Step::NextPoint(start) => {
                if instance.next_point(self.program) {
                    instance.next = *start;
                } else {
                    self.flush(instance, place)?;
                }
            }
            Step::End => instance.state = State::Ended,
            Step::Assert { condition, message } => {
                if instance.int(*condition) == 0 {
                    return Err(fails(message.to_string()));
                }
            }
            Step::Log(log) => self.print(instance, log).map_err(fails)?,
            Step::Ask { what, to } => {
                let value = match what {
                    Question::Bound(dim) => instance.bounds.get(*dim).copied().unwrap_or(1),
                    Question::Device => {
                        i64::try_from(self.devices[instance.device].device).unwrap_or(0)
                    }
                    Question::Core => i64::try_from(instance.who.core).unwrap_or(0),
                    Question::Subcore => i64::try_from(instance.who.subcore).unwrap_or(0),
                };
                instance.set(*to, value);
            }
            Step::Sync(sync) => self.sync(instance, number, sync, place)?,
            Step::Seed(seeds) => instance.seed(seeds),
            Step::Random { elements, to } => instance.draw(*elements, *to),
        }
        Ok(())
    }

    fn load_scalar(
        &mut self,
        instance: &Instance,
        from: ViewId,
        indices: &[Int],
        place: LocationId,
    ) -> Result<i64, Failure> {
        let one = element(instance, from, indices).map_err(|what| Failure { what, place })?;
        self.share_reads(&one, place)?;
        self.touched(instance, &one, place, false)?;
        Ok(self.scalar_of(&one))
    }

    /// The integer that a view of one element has.
    pub(super) fn scalar_of(&self, one: &View) -> i64 {
        let mut bytes = [0; 8];
        let size = one.dtype.host_bytes().min(8);
        one.read(&self.bank, Place::of_mut(&mut bytes[..size]));
        let of = one.dtype.element();
        // Booleans are bytes.
        wrap(of.bits * of.parts, i64::from_le_bytes(bytes))
    }

    fn store_scalar(
        &mut self,
        instance: &Instance,
        (to, indices): (ViewId, &[Int]),
        value: i64,
        place: LocationId,
    ) -> Result<(), Failure> {
        let one = element(instance, to, indices).map_err(|what| Failure { what, place })?;
        self.share_writes(&one);
        self.touched(instance, &one, place, true)?;
        self.set_scalar_of(&one, value);
        Ok(())
    }

    /// Puts an integer where a view of one element is.
    pub(super) fn set_scalar_of(&self, one: &View, value: i64) {
        let size = one.dtype.host_bytes().min(8);
        let of = one.dtype.element();
        let bytes = wrap(of.bits * of.parts, value).to_le_bytes();
        one.write(&self.bank, Place::of(&bytes[..size]));
    }
}

/// Whether other kernels have their turn behind a step, so that all go on side by side.
fn gives_turn(step: &Step) -> bool {
    let Step::Sync(sync) = step else { return false };
    matches!(
        **sync,
        Sync::Wait { .. } | Sync::WaitCopy { .. } | Sync::Meet { .. } | Sync::Read { .. }
    )
}

/// One element of a view.
fn element(instance: &Instance, of: ViewId, indices: &[Int]) -> Result<View, String> {
    let view = instance.view(of)?;
    view.part(&|axis| (instance.int(indices[axis]), 1), None)
}
