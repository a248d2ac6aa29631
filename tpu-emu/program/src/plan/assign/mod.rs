//! Joins values into alias sets, gives these their memory, and writes the steps.
mod join;
mod lodge;
mod parts;
mod windows;

use crate::graph::{Graph, ValueId};
use crate::passes::fuse::{StepBlock, StepKind};
use crate::plan::alias_sets::{AliasSet, AliasSets};
use crate::plan::arena::lay_out;
use crate::plan::arena_slots::PlacedValues;
use crate::plan::channels::{channels, meets};
use crate::plan::host_values::host_values;
use crate::plan::live_range::{BlockTimes, FOREVER, LiveRange, LiveRanges};
use crate::plan::parallel_copy::at_once;
use crate::plan::window::ArrayWindow;
use crate::plan::{
    ALIGN, GUARD, Plan, PlannedEach, PlannedScalarLoop, PlannedStep, Slot, Step, StorageForm,
    packed_size,
};
use crate::tuning::MIN_TOLD_CONSTANT_BYTES;
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use tpu_base::error::{Error, end_work};
use tpu_base::tensor::{DType, Shape};
use tpu_base::units::{Bytes, to_u64};
use tpu_kernels::movement::move_list::Move;
use tpu_stablehlo::ir::LocationId;
use windows::PlacedUpdate;

/// Gives every value of a program its memory; with `reuse` that of another one that nobody needs
/// any more, where that saves a copy.
pub(crate) fn assign(
    graph: &Graph,
    code: &StepBlock,
    outside: StorageForm<'_>,
    reuse: bool,
) -> Plan {
    let (ranges, times) = LiveRanges::new(code);
    let (donated, elsewhere, apart) = match outside {
        StorageForm::Packed { donated, elsewhere, apart } => (donated, Some(elsewhere), apart),
        StorageForm::Unpacked(donated) => (donated, None, false),
    };
    let mut layout = Assignment {
        graph,
        donated,
        packs: matches!(outside, StorageForm::Packed { .. }),
        reuse,
        ranges,
        sets: AliasSets::default(),
        results: Plan::PARAMETERS + number(code.parameters.len()),
        rows: Plan::PARAMETERS + number(code.parameters.len() + code.results.len()),
        homes: FxHashMap::default(),
        carried: FxHashMap::default(),
        given_up: FxHashSet::default(),
        joined: FxHashMap::default(),
        set_slots: Vec::new(),
        scratch: Vec::new(),
        scratch_offsets: Vec::new(),
        pool: Vec::new(),
        constants: Vec::new(),
        pooled: FxHashMap::default(),
        guarded: FxHashSet::default(),
        on_host: if apart { host_values(code) } else { FxHashSet::default() },
        windows: FxHashMap::default(),
        updates: FxHashMap::default(),
        window_count: 0,
    };

    for (index, &value) in code.results.iter().enumerate() {
        let memory = layout.results + number(index);
        layout.homes.entry(value).or_insert(memory);
    }
    layout.parameters(code);
    layout.declare(code);
    if reuse {
        layout.place_windows(code);
    }
    layout.join(code, &times);
    layout.pin_results(code);
    if reuse {
        layout.drop_lost_updates();
        layout.place_parts(code, &times);
    }
    if let (Some(elsewhere), true) = (elsewhere, reuse) {
        layout.lodge(code, elsewhere, times.end);
    }
    layout.write(code, &times)
}

struct Assignment<'g> {
    graph: &'g Graph,
    /// The result that takes each parameter's memory over.
    donated: &'g [Option<usize>],
    /// Whether narrow elements are packed outside.
    packs: bool,
    /// Whether values take over the memory of those that nobody needs any more.
    reuse: bool,
    ranges: LiveRanges,
    sets: AliasSets,
    /// Memory of the first result.
    results: u32,
    /// Memory of the first row of an array that lies in another memory.
    rows: u32,
    /// The memory in which each of the program's results is to lie.
    homes: FxHashMap<ValueId, u32>,
    /// The parameter of a loop's body that each value is in the next iteration.
    carried: FxHashMap<ValueId, ValueId>,
    /// Rows that nobody needs once the run that reads them has read them.
    given_up: FxHashSet<ValueId>,
    /// What of its operands a result is put together of, some of which are made there.
    joined: FxHashMap<ValueId, Vec<Move>>,
    /// Slot of each alias set, once they have one.
    set_slots: Vec<Slot>,
    /// Scratch and staging ranges, in the order in which they are asked for.
    scratch: Vec<(LiveRange, usize)>,
    scratch_offsets: Vec<usize>,
    pool: Vec<u8>,
    constants: Vec<Shape>,
    pooled: FxHashMap<ValueId, Slot>,
    /// Results of custom calls.
    guarded: FxHashSet<ValueId>,
    /// Values that take host memory and none of the arena.
    on_host: FxHashSet<ValueId>,
    /// Which piece of which other array each value is that is none of its own.
    windows: FxHashMap<ValueId, (Arc<ArrayWindow>, ValueId)>,
    /// Updates that are made where they are stored.
    updates: FxHashMap<ValueId, PlacedUpdate>,
    /// How many windows there are.
    window_count: u32,
}

fn number(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

impl Assignment<'_> {
    fn live_range(&self, value: ValueId) -> LiveRange {
        self.ranges.of.get(&value).copied().unwrap_or(LiveRange { defined: 0, last: FOREVER })
    }

    fn add(&mut self, value: ValueId, pin: Option<u32>) {
        if self.sets.number(value).is_none() {
            self.sets.add(value, self.live_range(value), self.graph.bytes(value), pin);
        }
    }

    /// Whether a value is packed outside of the program.
    fn packed(&self, value: ValueId) -> bool {
        let dtype = self.graph.value(value).shape.dtype;
        self.packs && dtype.element().bits < 8 && dtype != DType::Token
    }

    /// Where a parameter's bytes are when the program starts.
    fn memory(&self, index: usize) -> u32 {
        let taken = self.donated.get(index).copied().flatten();
        taken.map_or(Plan::PARAMETERS + number(index), |result| self.results + number(result))
    }

    /// Whether an alias set lies in host memory.
    fn is_on_host(&self, set: &AliasSet) -> bool {
        set.members.iter().any(|member| self.on_host.contains(member))
    }

    /// Whether a custom call writes to an alias set, behind which memory is watched.
    fn is_guarded(&self, set: &AliasSet) -> bool {
        set.members.iter().any(|member| self.guarded.contains(member))
    }

    fn parameters(&mut self, code: &StepBlock) {
        for (index, &parameter) in code.parameters.iter().enumerate() {
            let pin = (!self.packed(parameter)).then_some(self.memory(index));
            self.add(parameter, pin);
        }
    }

    /// An alias set for every value that a step makes or a block takes.
    fn declare(&mut self, code: &StepBlock) {
        code.parameters.iter().for_each(|&parameter| self.add(parameter, None));
        for step in &code.steps {
            step.results.iter().for_each(|&result| self.add(result, None));
            if let StepKind::Each(each) = &step.kind {
                let rows = each.body.parameters.iter().chain(&each.made);
                rows.zip(self.rows..).for_each(|(&row, memory)| self.add(row, Some(memory)));
            }
            if matches!(&step.kind, StepKind::Kernel(kernel) if kernel.custom_call().is_some()) {
                self.guarded.extend(&step.results);
            }
            step.kind.blocks().for_each(|block| self.declare(block));
        }
    }

    /// Whether the memory of a dying value may be written to.
    fn writable(&self, value: ValueId) -> bool {
        let Some(set) = self.sets.get(value).filter(|_| self.reuse) else { return false };
        set.pin.is_none_or(|pin| {
            let given_up = || set.members.iter().any(|member| self.given_up.contains(member));
            pin >= self.results && (pin < self.rows || given_up())
        })
    }

    fn write(mut self, code: &StepBlock, times: &BlockTimes) -> Plan {
        // Once to learn which scratch ranges there are, once with everything in its slot.
        self.set_slots = self.unplaced();
        let _ = self.program(code, times);
        let mut sets: Vec<(usize, usize, Option<u32>)> = Vec::new();
        let (mut live, mut host) = (Vec::new(), Vec::new());
        for (at, set) in self.sets.all() {
            sets.push((at, set.bytes, set.pin));
            let guard = if self.is_guarded(set) && set.bytes > 0 { GUARD } else { 0 };
            let bytes = if set.is_free() { set.bytes + guard } else { 0 };
            let on_host = self.is_on_host(set);
            host.push((set.range, if on_host { bytes } else { 0 }));
            live.push((set.range, if on_host { 0 } else { bytes }));
        }
        let (_, host) = lay_out(&host);
        live.extend_from_slice(&self.scratch);
        let (offsets, arena) = lay_out(&live);
        for (&(at, bytes, pin), &offset) in sets.iter().zip(&offsets) {
            let (base, offset) = pin.map_or((Plan::ARENA, offset), |pin| (pin, 0));
            self.set_slots[at] = Slot { base, offset, bytes };
        }
        let placed = std::mem::take(&mut self.set_slots);
        self.set_slots = self.with_parts(placed);
        self.scratch_offsets = offsets[sets.len()..].to_vec();
        let scratch = std::mem::take(&mut self.scratch);
        let scratch = scratch.into_iter().zip(self.scratch_offsets.iter().copied());
        let values = PlacedValues {
            graph: self.graph,
            sets: &self.sets,
            set_slots: &self.set_slots,
            ranges: &self.ranges,
            on_host: &self.on_host,
        };
        let slots = values.arena_slots(code, times.end, scratch);
        let steps = self.program(code, times);
        let mut largest: Vec<_> = Vec::new();
        self.note_largest(code, &mut largest);
        largest.sort_by_key(|(shape, ..)| std::cmp::Reverse(shape.bytes()));
        largest.truncate(8);
        let loops = steps.iter().any(|step| matches!(step.kind, PlannedStep::While { .. }));
        Plan {
            steps,
            arena,
            host,
            stored: None,
            pool: self.pool,
            constants: self.constants,
            parameters: code.parameters.len(),
            work: self.graph.bytes_accessed + self.graph.cost.flops,
            largest,
            slots,
            positions: times.end + 1,
            calls: self.graph.calls,
            loops,
            channels: channels(code),
            meets: meets(code),
            windows: self.window_count as usize,
        }
    }

    fn note_largest(&self, code: &StepBlock, into: &mut Vec<(Shape, Arc<str>, LocationId)>) {
        for step in &code.steps {
            for &result in &step.results {
                let in_arena = |set: &AliasSet| set.is_free() && !self.is_on_host(set);
                if self.sets.get(result).is_some_and(in_arena) {
                    let shape = self.graph.value(result).shape.clone();
                    into.push((shape, Arc::clone(&step.name), step.location));
                }
            }
            step.kind.blocks().for_each(|block| self.note_largest(block, into));
        }
    }

    fn unplaced(&self) -> Vec<Slot> {
        let last = self.sets.all().map(|(at, _)| at + 1).max().unwrap_or(0);
        let mut set_slots = vec![Slot::default(); last];
        // Slots differ from one another, so that copies between equal ones are recognised.
        for (at, set) in self.sets.all() {
            let base = set.pin.unwrap_or(u32::MAX - number(at));
            set_slots[at] = Slot { base, offset: 0, bytes: set.bytes };
        }
        self.with_parts(set_slots)
    }

    /// The slots of all alias sets, by those of the sets that lie in no other one's memory.
    fn with_parts(&self, mut set_slots: Vec<Slot>) -> Vec<Slot> {
        for (at, set) in self.sets.all() {
            if set.inside.is_some() {
                let (whole, offset) = self.sets.place(at);
                set_slots[at] = set_slots[whole].part(offset, set.bytes);
            }
        }
        set_slots
    }

    fn slot(&mut self, value: ValueId) -> Slot {
        if let Some(number) = self.sets.number(value) {
            return self.set_slots[number];
        }
        if let Some(&slot) = self.pooled.get(&value) {
            return slot;
        }
        // Not made by a step: a constant. The loader binds nothing else.
        let known = self.graph.value(value).known.clone().unwrap_or_default();
        let offset = self.pool.len().next_multiple_of(ALIGN);
        let more = offset - self.pool.len() + known.len();
        if let Err(why) = self.pool.try_reserve(more) {
            let asked = Bytes(to_u64(more));
            end_work(Error::HostMemory { asked, what: "constants", why: why.to_string() });
        }
        self.pool.resize(offset, 0);
        self.pool.extend_from_slice(&known);
        if known.len() >= MIN_TOLD_CONSTANT_BYTES {
            self.constants.push(self.graph.value(value).shape.clone());
        }
        let slot = Slot { base: Plan::POOL, offset, bytes: known.len() };
        self.pooled.insert(value, slot);
        slot
    }

    fn slots(&mut self, values: &[ValueId]) -> Box<[Slot]> {
        values.iter().map(|&value| self.slot(value)).collect()
    }

    /// A slot of the arena for one step.
    fn scratch_slot(&mut self, at: usize, bytes: usize) -> Slot {
        let index = self.scratch.len();
        self.scratch.push((LiveRange { defined: at, last: at }, bytes));
        let offset = self.scratch_offsets.get(index).copied().unwrap_or(0);
        Slot { base: Plan::ARENA, offset, bytes }
    }

    /// Copies values to the slots of others, all at once.
    fn copies(&mut self, at: usize, (from, to): (&[ValueId], &[ValueId]), into: &mut Vec<Step>) {
        let pairs = from.iter().zip(to);
        let copies: Vec<(Slot, Slot)> =
            pairs.map(|(&from, &to)| (self.slot(from), self.slot(to))).collect();
        let copies = at_once(&copies, |bytes| self.scratch_slot(at, bytes));
        if !copies.is_empty() {
            into.push(plain(PlannedStep::Copies(copies), Vec::new(), Vec::new()));
        }
    }

    fn program(&mut self, code: &StepBlock, times: &BlockTimes) -> Vec<Step> {
        let mut steps = Vec::new();
        for (index, &parameter) in code.parameters.iter().enumerate() {
            let shape = self.graph.value(parameter).shape.clone();
            if !self.packed(parameter) {
                continue;
            }
            let (bits, bytes) = packed_size(&shape);
            let from = Slot { base: self.memory(index), offset: 0, bytes };
            let signed = matches!(shape.dtype, DType::S1 | DType::S2 | DType::S4);
            let to = self.slot(parameter);
            steps.push(plain(PlannedStep::Unpack { bits, signed }, vec![from], vec![to]));
        }
        steps.extend(self.steps(code, times));
        let mut copies = Vec::new();
        for (index, &value) in code.results.iter().enumerate() {
            let shape = self.graph.value(value).shape.clone();
            let from = self.slot(value);
            let base = self.results + number(index);
            if self.packed(value) {
                let (bits, bytes) = packed_size(&shape);
                // The result's memory may still hold another value.
                let staged = self.scratch_slot(times.end, bytes);
                steps.push(plain(PlannedStep::Pack { bits }, vec![from], vec![staged]));
                copies.push((staged, Slot { base, offset: 0, bytes }));
            } else {
                copies.push((from, Slot { base, offset: 0, bytes: from.bytes }));
            }
        }
        let copies = at_once(&copies, |bytes| self.scratch_slot(times.end, bytes));
        if !copies.is_empty() {
            steps.push(plain(PlannedStep::Copies(copies), Vec::new(), Vec::new()));
        }
        steps
    }

    fn steps(&mut self, code: &StepBlock, times: &BlockTimes) -> Vec<Step> {
        let mut steps = Vec::new();
        for (step, times) in code.steps.iter().zip(&times.steps) {
            steps.extend(self.windows_of_updates(step));
            let kind = match &step.kind {
                StepKind::Fused(fused) => PlannedStep::Fused(Arc::clone(fused)),
                StepKind::Copy(copy) => PlannedStep::StridedCopy(Arc::clone(copy)),
                StepKind::Rows(rows) => {
                    let scratch = self.scratch_slot(times.start, rows.state_bytes);
                    PlannedStep::Rows { rows: Arc::clone(rows), scratch }
                }
                StepKind::Kernel(_) if self.is_joined(step) => {
                    PlannedStep::Copies(self.missing_parts(step))
                }
                StepKind::Kernel(_) if self.stores_placed(step) => PlannedStep::Copies(Vec::new()),
                StepKind::Kernel(_) if self.window(step).is_some() => {
                    let Some(window) = self.window(step) else { continue };
                    PlannedStep::Window(window)
                }
                StepKind::Kernel(kernel) => {
                    let mut starts = Vec::new();
                    for (index, &result) in step.results.iter().enumerate() {
                        let from = kernel.starts_from(index).and_then(|at| step.operands.get(at));
                        if let Some(&from) = from {
                            let (from, to) = (self.slot(from), self.slot(result));
                            if from != to {
                                starts.push((from, to));
                            }
                        }
                    }
                    let scratch = self.scratch_slot(times.start, kernel.scratch());
                    PlannedStep::Kernel { kernel: Arc::clone(kernel), starts, scratch }
                }
                StepKind::While { condition, body, scalar } => {
                    let [before, inside] = &times.blocks[..] else { continue };
                    self.copies(times.start, (&step.operands, &step.results), &mut steps);
                    let tested = self.steps(condition, before);
                    let decision = self.slot(condition.results[0]);
                    let mut again = self.steps(body, inside);
                    self.copies(inside.end, (&body.results, &body.parameters), &mut again);
                    let scalar = scalar.as_ref().map(|program| {
                        Box::new(PlannedScalarLoop::new(program, |value| self.slot(value)))
                    });
                    PlannedStep::While {
                        condition: tested,
                        decision,
                        body: again,
                        scalar,
                        was_hot: AtomicBool::new(false),
                    }
                }
                StepKind::Branch(branches) => {
                    let selector = self.slot(step.operands[0]);
                    let mut written = Vec::new();
                    for (branch, times) in branches.iter().zip(&times.blocks) {
                        let mut inside = self.steps(branch, times);
                        self.copies(times.end, (&branch.results, &step.results), &mut inside);
                        written.push(inside);
                    }
                    PlannedStep::Branch { selector, branches: written }
                }
                StepKind::Each(each) => {
                    let [inside] = &times.blocks[..] else { continue };
                    let mut body = self.steps(&each.body, inside);
                    self.copies(inside.end, (&each.body.results, &each.made), &mut body);
                    let rows = each.body.parameters.iter().chain(&each.made);
                    PlannedStep::Each(Box::new(PlannedEach {
                        body,
                        runs: each.runs,
                        rows: each.rows.clone(),
                        devices: Arc::clone(&each.devices),
                        row_bytes: rows.map(|&row| self.graph.bytes(row)).collect(),
                        first: self.rows,
                    }))
                }
            };
            // Control flow has its values in the steps inside.
            let (operands, results) = match kind {
                PlannedStep::While { .. } | PlannedStep::Branch { .. } => {
                    (Box::default(), Box::default())
                }
                _ => (self.slots(&step.operands), self.slots(&step.results)),
            };
            let (name, location) = (Arc::clone(&step.name), step.location);
            steps.push(Step { kind, operands, results, name, location });
        }
        steps
    }
}

fn plain(kind: PlannedStep, operands: Vec<Slot>, results: Vec<Slot>) -> Step {
    Step {
        kind,
        operands: operands.into(),
        results: results.into(),
        name: "copy".into(),
        location: LocationId::UNKNOWN,
    }
}
