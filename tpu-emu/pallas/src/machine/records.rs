//! What kernels have of the memories of their cores, and how much they move, told to those who
//! record it.
use super::cores::Who;
use super::memory::BufferId;
use super::{Machine, is_shared};
use crate::form::{Array, Cell};
use crate::lower::{cell, extents};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use tpu_base::units::{Nanos, to_u64};
use tpu_mosaic::ir::{CoreType, LocationId, MemorySpace, user_line};
use tpu_mosaic::memory::{Budget, Role as Taking, Taken, Tiling};
use tpu_ops::core_records::{CoreBlock, CoreRecords};
use tpu_ops::custom_call::{Backend, CallSite};
use tpu_stablehlo::ir::{Attribute, Attributes, Element};

/// Points of the grid that a launch names in what it allocates; the others have no name.
const NAMED: usize = 1024;

/// Bytes of a semaphore.
const SEMAPHORE: u64 = 4;

/// What a kernel moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Moved {
    /// Blocks of an array of the call.
    Blocks(Array),
    /// Copies that run beside it.
    Copies,
    /// Those of them to other devices.
    CopiesAway,
}

/// What a launch has told so far.
#[derive(Debug)]
pub(crate) struct Records<'p> {
    to: &'p dyn CoreRecords,
    budgets: &'p [Budget],
    tiling: Tiling,
    site: &'p Arc<CallSite>,
    began: Nanos,
    /// What kernels have allocated.
    held: HashMap<BufferId, u64>,
    /// What kernels have until they end.
    kept: Vec<u64>,
    named: usize,
    moved: BTreeMap<(usize, Moved), (u64, u64)>,
}

impl<'p> Records<'p> {
    /// Nothing told yet. `budgets` say what each entry takes.
    pub(crate) fn new(
        to: &'p dyn CoreRecords,
        (budgets, tiling): (&'p [Budget], Tiling),
        site: &'p Arc<CallSite>,
    ) -> Self {
        Self {
            to,
            budgets,
            tiling,
            site,
            began: to.now(),
            held: HashMap::new(),
            kept: Vec::new(),
            named: 0,
            moved: BTreeMap::new(),
        }
    }
}

/// The name of a memory of a core, if it is one that is recorded.
fn named(cell: Cell, space: MemorySpace) -> Option<&'static str> {
    match (cell, space) {
        (Cell::Semaphore(_), _) => Some("semaphores"),
        (Cell::Element(_), MemorySpace::Vmem) => Some("vmem"),
        (Cell::Element(_), MemorySpace::Smem) => Some("smem"),
        (Cell::Element(_), MemorySpace::VmemShared) => Some("vmem_shared"),
        (Cell::Element(_), _) => None,
    }
}

/// What an argument of a kernel is for.
fn purpose(taken: &Taken) -> Option<String> {
    let buffers = if taken.buffers > 1 { ", two buffers" } else { "" };
    Some(match taken.role {
        Taking::Input(at) => format!("window of operand {at}{buffers}"),
        Taking::Output(at) => format!("window of result {at}{buffers}"),
        Taking::Scalar(at) => format!("scalar operand {at}"),
        Taking::Scratch(at) => format!("scratch {at}"),
        Taking::Internal => "internal scratch".to_owned(),
        Taking::Allocated => return None,
    })
}

impl<'p> Machine<'p> {
    /// Tells what kernels do from now on.
    pub(crate) fn record(&mut self, records: Records<'p>) {
        self.records = Some(records);
    }

    /// The core of a kernel in words; nothing for a TensorCore alone.
    pub(super) fn core_of(&self, who: Who) -> String {
        let entries = &self.program.entries;
        let Some(entry) = entries.get(who.entry) else { return String::new() };
        match entry.core {
            CoreType::VectorSubcore => {
                format!("core {}, vector subcore {}", who.core, who.subcore)
            }
            CoreType::ScalarSubcore => format!("core {}, scalar subcore", who.core),
            CoreType::TensorCore if entry.cores.core.is_some() || entries.len() > 1 => {
                format!("core {}", who.core)
            }
            CoreType::TensorCore => String::new(),
        }
    }

    /// Whose a memory is: that of all subcores is the core's.
    fn holder(&self, who: Who, space: MemorySpace) -> String {
        if is_shared(space) { format!("core {}", who.core) } else { self.core_of(who) }
    }

    /// Tells what a kernel has from its begin to its end.
    pub(super) fn records_arguments(&mut self, who: Who) {
        let Some(records) = &self.records else { return };
        let Some(budget) = records.budgets.get(who.entry) else { return };
        let mut kept = Vec::new();
        for taken in &budget.taken {
            let (Some(purpose), Ok(cell)) = (purpose(taken), cell(taken.of.cell)) else { continue };
            let Some(memory) = named(cell, taken.memory) else { continue };
            if is_shared(taken.memory) && who.subcore > 0 {
                continue;
            }
            let Ok(mut dims) = extents(&taken.of.dims) else { continue };
            if let Some(buffers) = usize::try_from(taken.buffers).ok().filter(|&count| count > 1) {
                dims.insert(0, buffers);
            }
            let semaphores = matches!(cell, Cell::Semaphore(_));
            let size = if semaphores { taken.size * SEMAPHORE } else { taken.size };
            let core = self.holder(who, taken.memory);
            let label = format!("{purpose} of kernel {}", self.program.name);
            kept.push(records.to.takes(&CoreBlock {
                device: who.device,
                core: &core,
                memory,
                dtype: cell.dtype(),
                dims: &dims,
                size,
                label: &label,
            }));
        }
        if let Some(records) = &mut self.records {
            records.kept.extend(kept);
        }
    }

    /// Tells what a kernel allocates while it runs.
    pub(super) fn records_allocation(
        &mut self,
        (who, point): (Who, &[i64]),
        (buffer, cell, space): (BufferId, Cell, MemorySpace),
        dims: &[usize],
        place: LocationId,
    ) {
        let Some(memory) = named(cell, space) else { return };
        let core = self.holder(who, space);
        let line = user_line(&self.program.locations, place);
        let Some(records) = &mut self.records else { return };
        if records.held.contains_key(&buffer) {
            return;
        }
        let of = cell.dtype().element();
        let size = match cell {
            Cell::Semaphore(_) => dims.iter().fold(SEMAPHORE, |size, &dim| size * to_u64(dim)),
            Cell::Element(_) => {
                let extents: Vec<u64> = dims.iter().map(|&dim| to_u64(dim)).collect();
                records.tiling.padded((of.bits * of.parts).into(), &extents, space)
            }
        };
        let mut label = format!("allocated by kernel {}", self.program.name);
        if let Some(line) = line {
            label.push_str(&format!(" at {line}"));
        }
        if !point.is_empty() && records.named < NAMED {
            records.named += 1;
            label.push_str(&format!(", grid point {point:?}"));
        }
        let block = CoreBlock {
            device: who.device,
            core: &core,
            memory,
            dtype: cell.dtype(),
            dims,
            size,
            label: &label,
        };
        let number = records.to.takes(&block);
        records.held.insert(buffer, number);
    }

    /// Tells that a memory was given back.
    pub(super) fn records_free(&mut self, buffer: BufferId) {
        let Some(records) = &mut self.records else { return };
        if let Some(number) = records.held.remove(&buffer) {
            records.to.gives_back(number);
        }
    }

    /// Counts bytes that a kernel of a device has moved.
    pub(super) fn records_moved(&mut self, device: usize, what: Moved, bytes: u64) {
        let Some(records) = &mut self.records else { return };
        let (count, sum) = records.moved.entry((device, what)).or_default();
        *count += 1;
        *sum += bytes;
    }

    /// Tells the end of the launch.
    pub(crate) fn records_end(&mut self, error: Option<&str>) {
        let Some(records) = self.records.take() else { return };
        let all = records.held.values().chain(&records.kept);
        let mut all: Vec<u64> = all.copied().collect();
        all.sort_unstable();
        all.into_iter().rev().for_each(|number| records.to.gives_back(number));
        for device in 0..self.devices.len() {
            let name = self.program.name.as_bytes().into();
            let mut told = vec![("kernel".into(), Attribute::String(name))];
            for ((_, what), (count, bytes)) in
                records.moved.range((device, Moved::FIRST)..=(device, Moved::CopiesAway))
            {
                let of = match what {
                    Moved::Blocks(Array::Operand(at)) => format!("operand {at}: blocks"),
                    Moved::Blocks(Array::Result(at)) => format!("result {at}: blocks"),
                    Moved::Copies => "copies".to_owned(),
                    Moved::CopiesAway => "copies to other devices".to_owned(),
                };
                for (name, value) in [(of.clone(), *count), (format!("{of}, bytes"), *bytes)] {
                    let value = Attribute::Integer(value.into(), Element::S64);
                    told.push((name.into(), value));
                }
            }
            let backend = Backend::Attributes(Attributes(told));
            let site = Arc::new(CallSite { backend, ..CallSite::clone(records.site) });
            records.to.ran(device, &site, records.began, error);
        }
    }
}

impl Moved {
    /// The least of all.
    const FIRST: Self = Self::Blocks(Array::Operand(0));
}
