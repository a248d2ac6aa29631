//! What a launch that found no room would have needed, for who explains it.
use super::emulator::Emulator;
use super::refused_program::with_donations;
use super::request::{DeviceRequest, LaunchRequest};
use crate::buffer::Buffer;
use crate::executable::Executable;
use crate::hbm::spec::ArraySpec;
use crate::memory::{Memory, MemoryKind, NotTaken, Refused};
use crate::origin::Record;
use crate::trace::{LaunchArgument, LaunchNeeds};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use tpu_base::error::Error;
use tpu_base::units::{Bytes, DevAddr, to_u64};

/// Why a run was not started.
#[derive(Debug)]
pub(super) struct NotStarted {
    error: Error,
    /// The block that was not taken, if it is for want of one.
    wanted: Option<Box<Wanted>>,
}

/// A block that was not taken, of which the ledger has not heard yet.
#[derive(Debug)]
struct Wanted {
    spec: Arc<ArraySpec>,
    memory: Memory,
    record: Record,
}

impl NotStarted {
    /// For want of a block.
    pub(super) fn new(why: NotTaken, spec: &Arc<ArraySpec>, memory: Memory) -> Self {
        let NotTaken { error, record } = why;
        let wanted = record.map(|record| Wanted { spec: Arc::clone(spec), memory, record });
        Self { error, wanted: wanted.map(Box::new) }
    }
}

impl From<Error> for NotStarted {
    fn from(error: Error) -> Self {
        Self { error, wanted: None }
    }
}

impl Emulator {
    /// The error of a launch, with the reasons why the memory of its device had no room for it.
    /// The launch has given back what it had taken; now the ledger hears of the refusal.
    pub(super) fn explained_launch(
        self: &Arc<Self>,
        why: NotStarted,
        request: &LaunchRequest<'_>,
    ) -> Error {
        let NotStarted { error, wanted } = why;
        let Some(wanted) = wanted else { return error };
        let Wanted { ref spec, memory, record: Record { origin, label, .. } } = *wanted;
        let refused = Refused { spec, memory, label, origin };
        let one = request.devices.iter().find(|one| one.device == memory.device);
        let needs = one.and_then(|one| self.needs(request, one, &wanted));
        self.note_refusal(refused, needs.as_ref());
        self.explained(error, refused, needs.as_ref())
    }

    /// All that a launch asks a device for, in its order, around what was refused.
    fn needs(
        self: &Arc<Self>,
        request: &LaunchRequest<'_>,
        one: &DeviceRequest<'_>,
        wanted: &Wanted,
    ) -> Option<LaunchNeeds> {
        let LaunchRequest { executable, options, .. } = *request;
        let memory = Memory { device: one.device, kind: MemoryKind::Device };
        let refused = wanted.record.label;
        // Constants, if this is the first launch; results in new memory; temporaries; a result
        // whose donated argument somebody else reads.
        let mut asks = Vec::new();
        let constants = executable.pool.as_ref().map(|pool| (pool, executable.labels.constants));
        asks.extend(constants.filter(|&(_, label)| label == refused));
        let results = || executable.results.iter().zip(&executable.labels.results);
        let mut open = Vec::new();
        for (index, (result, &label)) in results().enumerate().filter(|_| one.results.is_none()) {
            let is_given = result.alias.is_some_and(|index| options.gives(executable, index));
            if result.kind == MemoryKind::Device && !is_given && result.spec.padded.0 > 0 {
                open.push(Open { ask: asks.len(), result: index, spec: result.spec.number });
                asks.push((&result.spec, label));
            }
        }
        if let Some(arena) = executable.arena.as_ref().filter(|arena| arena.padded.0 > 0) {
            asks.push((arena, executable.labels.temporaries));
        }
        if !asks.iter().any(|&(_, label)| label == refused) {
            asks.extend(
                results()
                    .map(|(result, &label)| (&result.spec, label))
                    .find(|ask| ask.1 == refused),
            );
        }
        let refused = asks.iter().position(|&(_, label)| label == refused)?;
        let places: Vec<Option<DevAddr>> =
            one.arguments.iter().map(|argument| place(argument, memory)).collect();
        let mut times: HashMap<DevAddr, usize> = HashMap::new();
        places.iter().flatten().for_each(|&at| *times.entry(at).or_default() += 1);
        let mut arguments = Vec::new();
        let mut donations = Vec::new();
        for (number, (argument, address)) in one.arguments.iter().zip(places).enumerate() {
            let Some(address) = address else { continue };
            let spec = argument.spec().number;
            // What is given twice cannot be donated.
            let can = !options.gives(executable, number) && times[&address] == 1;
            let saves = open.iter().position(|open| can && open.spec == spec);
            let saves = saves.map(|at| open.remove(at));
            if let Some(saves) = &saves {
                donations.push((number, saves.result));
            }
            let saves = saves.map_or(0, |saves| to_u64(saves.ask) + 1);
            arguments.push(LaunchArgument { number: to_u64(number), address, saves });
        }
        let in_place = self.in_place(executable, &donations);
        for argument in &mut arguments {
            if !in_place.iter().any(|&(number, _)| to_u64(number) == argument.number) {
                argument.saves = 0;
            }
        }
        let size = |&(spec, _): &(&Arc<ArraySpec>, _)| self.rounded(memory, spec.padded);
        let sizes = |asks: &[_]| asks.iter().map(size).collect::<Vec<Bytes>>();
        Some(LaunchNeeds {
            program: executable.name.to_string(),
            before: sizes(&asks[..refused]),
            rest: sizes(&asks[refused + 1..]),
            arguments,
        })
    }
}

/// A result in new memory that an argument could save.
struct Open {
    /// The result's place among what is asked for.
    ask: usize,
    /// The result's number.
    result: usize,
    spec: u32,
}

/// Donations that are tried one by one.
const TRIED: usize = 8;

impl Emulator {
    /// Those donations, of parameters to results, with which a program needs no more temporaries:
    /// a result that is written while the argument is still read has to be put elsewhere first.
    fn in_place(
        self: &Arc<Self>,
        executable: &Executable,
        donations: &[(usize, usize)],
    ) -> Vec<(usize, usize)> {
        // The temporaries of a run over several devices know no donations.
        if executable.io_shardings.is_some() || self.is_in_place(executable, donations) {
            return donations.to_vec();
        }
        let alone = donations.iter().take(TRIED);
        alone.copied().filter(|&one| self.is_in_place(executable, &[one])).collect()
    }

    /// Whether a program that is compiled with donations needs no more temporaries.
    fn is_in_place(
        self: &Arc<Self>,
        executable: &Executable,
        donations: &[(usize, usize)],
    ) -> bool {
        if donations.is_empty() {
            return true;
        }
        // What the other compiler would make of it is not known.
        if executable.other.is_some() {
            return false;
        }
        let Some(module) = with_donations(&executable.module, donations) else { return false };
        let source = executable.source.clone();
        let devices = (executable.devices.clone(), None);
        let options = executable.options.clone();
        let (limit, none) = (self.memory_limit(), BTreeMap::new());
        let made = self.compiled_within(limit, module, source, options, devices, &none);
        let bytes = |executable: &Executable| executable.arena.as_ref().map_or(0, |of| of.padded.0);
        made.is_ok_and(|made| bytes(&made) <= bytes(executable))
    }
}

/// Where an argument lies in a memory.
fn place(argument: &Arc<Buffer>, memory: Memory) -> Option<DevAddr> {
    let hold = argument.hold().ok()?;
    let region = hold.region().filter(|_| argument.memory() == memory)?;
    Some(region.addr())
}
