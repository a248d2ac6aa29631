//! Runs kernels: instances of a program over the memories of a launch, one scheduler for all of
//! them.
//!
//! An instance is a kernel on one core of one device. It has registers, views and slots, and the
//! number of its next step; it runs until it ends or waits for a semaphore. When all that have not
//! ended wait, nothing can go on: a deadlock.
//!
//! | file | what it does |
//! |---|---|
//! | `memory` | memories of a launch, as bytes |
//! | `view` | parts of a memory, their elements read and written |
//! | `windows` | blocks of arrays, as a grid goes on |
//! | `pieces` | pieces with their loads and stores |
//! | `instance` | one step after the other |
//! | `copies` | copies beside kernels |
//! | `rows` | copies of rows at computed places |
//! | `cores` | which kernel runs where |
//! | `semaphores` | semaphores, and who waits for them |
//! | `signallers` | who could still signal a semaphore |
//! | `peers` | memories of other devices' kernels |
//! | `records` | what kernels have and move, for traces |
//! | `watch`, `shadow` | memory that is read before it is written, and races |
//! | `shares` | points of a grid that run beside each other |
//! | `unfilled` | results that are filled where nobody writes them |
//! | `unvisited` | results that nobody writes |
//! | `patience` | who interrupts kernels that run on and on |
//! | `scalar` | arithmetic on scalar integers |
pub(crate) mod copies;
mod cores;
mod instance;
pub(crate) mod memory;
mod patience;
mod peers;
mod pieces;
mod prints;
mod random;
pub(crate) mod records;
mod rows;
pub(crate) mod scalar;
mod semaphores;
mod shadow;
pub(crate) mod shares;
mod signallers;
mod unfilled;
pub(crate) mod unvisited;
pub(crate) mod view;
pub(crate) mod watch;
mod windows;

use crate::form::{Array, Cell, Cores, Entry, Extent, Program, Source};
use crate::outside::Outside;
use copies::{Copies, CopyOrder};
use cores::{Roster, Who};
use instance::{Instance, State};
use memory::{Bank, BufferId, Place};
use patience::Patience;
use peers::{Owners, Role};
pub(crate) use pieces::run_alone;
use records::Records;
use semaphores::Signals;
use shares::Share;
use std::collections::BTreeMap;
use tpu_mosaic::ir::{LocationId, MemorySpace};
use tpu_ops::core_arrays::CoreArrays;
use unvisited::{Visits, has_others};
use view::View;
use watch::{Checks, Fill, Watch};
use windows::WindowState;

/// Whether subcores have one memory of a kind.
fn is_shared(space: MemorySpace) -> bool {
    matches!(space, MemorySpace::VmemShared | MemorySpace::Hbm)
}

/// Why a kernel stopped.
#[derive(Debug)]
pub(crate) struct Failure {
    /// What went wrong.
    pub(crate) what: String,
    /// Where that was written.
    pub(crate) place: LocationId,
}

/// The arrays of a call on one device.
#[derive(Debug)]
pub(crate) struct Arrays {
    /// The operands.
    pub(crate) operands: Vec<Place>,
    /// The results.
    pub(crate) results: Vec<Place>,
    /// Whether a result has the memory of each operand.
    pub(crate) shared: Vec<bool>,
    /// The number of the device in the run.
    pub(crate) device: usize,
    /// How many cores have a part of an array for themselves; and whether each operand and result
    /// is such an array.
    pub(crate) parts: CoreArrays,
}

impl Arrays {
    /// Whether an array has a part for each core.
    fn has_parts(&self, array: Array) -> bool {
        match array {
            Array::Operand(at) => self.parts.operands[at],
            Array::Result(at) => self.parts.results[at],
        }
    }
}

/// A launch of a kernel.
pub(crate) struct Machine<'p> {
    program: &'p Program,
    bank: Bank,
    copies: Copies,
    signals: Signals,
    owners: Owners,
    roster: Roster,
    checks: Checks,
    watch: Option<Watch>,
    fill: Fill,
    devices: Vec<Arrays>,
    outside: &'p Outside,
    patience: Patience,
    records: Option<Records<'p>>,
    share: Option<Share<'p>>,
    /// Blocks of results that kernels had, by device, once all have ended.
    visits: BTreeMap<(usize, Array), Visits>,
}

impl<'p> Machine<'p> {
    /// A launch on devices.
    pub(crate) fn new(
        program: &'p Program,
        devices: Vec<Arrays>,
        outside: &'p Outside,
        (order, checks, fill): (CopyOrder, Checks, Fill),
    ) -> Self {
        let (signals, owners) = (Signals::default(), Owners::default());
        let (bank, copies) = (Bank::default(), Copies::new(order));
        let (roster, watch) = (Roster::default(), None);
        Self {
            program,
            bank,
            copies,
            signals,
            owners,
            roster,
            checks,
            watch,
            fill,
            devices,
            outside,
            patience: Patience::default(),
            records: None,
            share: None,
            visits: BTreeMap::new(),
        }
    }

    /// Runs all kernels to their ends.
    ///
    /// # Errors
    /// The first mistake of a kernel, with its place.
    pub(crate) fn run(&mut self) -> Result<(), Failure> {
        let mut instances = Vec::new();
        self.enlist()?;
        self.watch = Watch::new(self.checks, self.roster.all().len());
        for number in 0..self.roster.all().len() {
            if let Some(who) = self.roster.who(number) {
                instances.push(self.instance(number, who)?);
            }
        }
        loop {
            let mut moved = false;
            for (number, instance) in instances.iter_mut().enumerate() {
                let before = instance.ran;
                if matches!(instance.state, State::Ended) {
                    continue;
                }
                self.go_on(instance, number)?;
                moved |= instance.ran != before;
            }
            if instances.iter().all(|instance| matches!(instance.state, State::Ended)) {
                break;
            }
            if !moved && !self.finish_one_copy()? {
                return Err(self.deadlock(&instances));
            }
        }
        self.finish_copies()?;
        if self.share.is_none() {
            self.leave_out(&mut instances);
        }
        self.bank.fill_all();
        for (buffer, to) in instances.iter().flat_map(|instance| &instance.back) {
            to.copy_from(self.bank.get(*buffer).place());
        }
        self.all_are_zero()
    }

    /// A kernel on a device, before its first step.
    fn instance(&mut self, number: usize, who: Who) -> Result<Instance, Failure> {
        let program = self.program;
        let Who { device, entry, core, .. } = who;
        let fails = |what: String| Failure { what, place: LocationId::UNKNOWN };
        let of = &program.entries[entry];
        let bounds = self.bounds(device, of)?;
        let mut instance = Instance::new(program, (number, who), bounds);
        let mut arena = 0;
        let mut offsets = Vec::with_capacity(program.slots.len());
        for bytes in &program.slots {
            offsets.push(arena);
            arena += bytes.next_multiple_of(64);
        }
        let cell = Cell::Element(tpu_base::tensor::DType::U8);
        let id = self.bank.own(arena, cell);
        let whole = self.bank.get(id).place();
        instance.slots =
            offsets.iter().zip(&program.slots).map(|(&at, &bytes)| whole.part(at, bytes)).collect();
        // Copies of operands whose memory a result has, too.
        let mut copies: Vec<(Place, BufferId)> = Vec::new();
        for (place, argument) in of.arguments.iter().enumerate() {
            let (dtype, dims) = (argument.cell.dtype(), &argument.dims);
            let bytes = dims.iter().product::<usize>() * dtype.host_bytes();
            let role = Role::Argument(place);
            let own = |machine: &mut Self| {
                let id = machine.bank.own(bytes, argument.cell);
                machine.unwritten(machine.bank.get(id).place(), argument.cell, (number, role));
                id
            };
            let mut window = None;
            let mut back = None;
            let buffer = match &argument.source {
                Source::Scratch if is_shared(argument.space) => self.of_core((who, role), own),
                Source::Scratch => {
                    let id = own(self);
                    if let (Some(share), Cell::Element(_)) = (&mut self.share, argument.cell) {
                        share.takes(id, bytes);
                    }
                    id
                }
                Source::Whole(array) => {
                    let lent = self.place_of((device, core), *array);
                    if lent.len() != bytes {
                        let had = lent.len();
                        return Err(fails(format!(
                            "an array of {had} bytes, {bytes} are expected"
                        )));
                    }
                    let shared = self.is_shared(device, *array);
                    self.of_device((who, *array), |machine| match array {
                        Array::Result(_) if !shared => {
                            if let Cell::Semaphore(_) = argument.cell {
                                lent.bytes_mut().fill(0);
                            }
                            let id = machine.bank.lent(lent, argument.cell);
                            machine.unwritten_result(id, argument.cell, (number, role));
                            id
                        }
                        // What the program goes on with stays as it is.
                        Array::Operand(_) if argument.written && !shared => {
                            let id = machine.bank.own(bytes, argument.cell);
                            machine.bank.get(id).place().copy_from(lent);
                            id
                        }
                        _ => machine.bank.lent(lent, argument.cell),
                    })
                }
                Source::Copy(array) => {
                    let lent = self.place_of((device, core), *array);
                    if lent.len() != bytes {
                        let had = lent.len();
                        return Err(fails(format!(
                            "an array of {had} bytes, {bytes} are expected"
                        )));
                    }
                    match array {
                        Array::Operand(_)
                            if !argument.written && !self.is_shared(device, *array) =>
                        {
                            self.bank.lent(lent, argument.cell)
                        }
                        Array::Operand(_) => {
                            let id = self.bank.own(bytes, argument.cell);
                            self.bank.get(id).place().copy_from(lent);
                            if self.is_shared(device, *array) {
                                copies.push((lent, id));
                            }
                            id
                        }
                        Array::Result(_) => {
                            match copies.iter().find(|(from, _)| *from == lent) {
                                // One memory, as outside of the kernel.
                                Some((_, id)) => {
                                    back = Some((*id, lent));
                                    *id
                                }
                                // Cores beside each other have one each.
                                None if of.cores != Cores::default() => {
                                    let id = own(self);
                                    back = Some((id, lent));
                                    id
                                }
                                None => {
                                    if !argument.covered || self.minds_what_is_unwritten() {
                                        self.unwritten(lent, argument.cell, (number, role));
                                    }
                                    self.bank.lent(lent, argument.cell)
                                }
                            }
                        }
                    }
                }
                Source::Window(of) => {
                    let lent = self.place_of((device, core), of.array);
                    let whole = of.of.iter().product::<usize>() * dtype.host_bytes();
                    if lent.len() != whole {
                        let had = lent.len();
                        return Err(fails(format!(
                            "an array of {had} bytes, {whole} are expected"
                        )));
                    }
                    let array = self.bank.lent(lent, argument.cell);
                    // It is filled block by block.
                    let id = self.bank.own(bytes, argument.cell);
                    let shared = self.is_shared(device, of.array);
                    let result = matches!(of.array, Array::Result(_)) && !shared;
                    if result && !has_others(of) {
                        self.of_device((who, of.array), |machine| {
                            machine.unwritten(lent, argument.cell, (number, role));
                            array
                        });
                    } else if let Some(watch) = self.watch.as_mut().filter(|_| result) {
                        watch.fresh(lent.address(), lent.len(), (number, role));
                    }
                    self.owners.add(array, number, Role::Array(place));
                    window = Some(WindowState::new(array, id, shared));
                    id
                }
            };
            self.owners.add(buffer, number, role);
            instance.back.extend(back);
            instance.windows.push(window);
            let view = View::whole(buffer, dtype, dims);
            let view = match argument.space {
                MemorySpace::Any | MemorySpace::Hbm if program.compact_arrays => view.in_tiles(),
                MemorySpace::Any | MemorySpace::Hbm => view.in_words(),
                _ => view,
            };
            instance.set_view(argument.view, view);
        }
        self.records_arguments(who);
        instance.begin(program);
        if let Some(share) = &self.share {
            instance.begin_share(program, share);
        }
        Ok(instance)
    }

    /// The grid of an entry on a device.
    ///
    /// # Errors
    /// An operand that is no extent.
    pub(crate) fn bounds(&self, device: usize, of: &Entry) -> Result<Vec<i64>, Failure> {
        let extent = |extent: &Extent| match *extent {
            Extent::Known(extent) => Ok(extent),
            Extent::Operand(at) => {
                let bytes = self.devices[device].operands[at].bytes();
                bytes.try_into().map(|bytes| i64::from(i32::from_le_bytes(bytes))).map_err(|_| {
                    let what = format!("operand {at} is no extent of a grid");
                    Failure { what, place: LocationId::UNKNOWN }
                })
            }
        };
        of.grid.iter().map(extent).collect()
    }

    /// The memory of an array, or of a core's own part of it.
    fn place_of(&self, (device, core): (usize, usize), array: Array) -> Place {
        let arrays = &self.devices[device];
        let whole = match array {
            Array::Operand(at) => arrays.operands[at],
            Array::Result(at) => arrays.results[at],
        };
        if !arrays.has_parts(array) {
            return whole;
        }
        let bytes = whole.len() / arrays.parts.cores;
        whole.part(core * bytes, bytes)
    }

    /// Whether an operand and a result have one memory.
    fn is_shared(&self, device: usize, array: Array) -> bool {
        let arrays = &self.devices[device];
        match array {
            Array::Operand(at) => arrays.shared[at],
            Array::Result(at) => {
                let place = arrays.results[at];
                arrays
                    .operands
                    .iter()
                    .zip(&arrays.shared)
                    .any(|(of, &shared)| shared && *of == place)
            }
        }
    }
}
