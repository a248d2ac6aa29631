//! Joins values into classes, gives the classes their places, and writes the steps.
use super::super::graph::{Graph, ValueId};
use super::super::passes::fuse::{FusedStep, StepBlock, StepKind};
use super::alias_sets::Classes;
use super::arena::lay_out;
use super::channels::{channels, meets};
use super::live_range::{BlockTimes, FOREVER, LiveRange, Lives, Times};
use super::parallel_copy::at_once;
use super::{
    ALIGN, GUARD, Plan, PlannedScalarLoop, PlannedStep, Slot, Step, StorageForm, packed_size,
};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use tpu_base::error::{Error, end_work};
use tpu_base::tensor::{DType, Shape};
use tpu_base::units::{Bytes, to_u64};
use tpu_stablehlo::ir::LocationId;

/// Gives every value of a program its memory; with `reuse` that of another one that nobody needs
/// any more, where that saves a copy.
pub(crate) fn assign(
    graph: &Graph,
    code: &StepBlock,
    outside: StorageForm<'_>,
    reuse: bool,
) -> Plan {
    let (lives, times) = Lives::new(code);
    let donated = match outside {
        StorageForm::Packed(donated) => donated,
        StorageForm::Unpacked => &[],
    };
    let mut layout = Assignment {
        graph,
        donated,
        packs: matches!(outside, StorageForm::Packed(_)),
        reuse,
        lives,
        classes: Classes::default(),
        results: Plan::PARAMETERS + number(code.parameters.len()),
        places: Vec::new(),
        extra: Vec::new(),
        extra_at: Vec::new(),
        pool: Vec::new(),
        pooled: HashMap::new(),
        guarded: HashSet::new(),
    };

    layout.parameters(code);
    layout.declare(code);
    layout.join(code, &times);
    layout.pin_results(code);
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
    lives: Lives,
    classes: Classes,
    /// Memory of the first result.
    results: u32,
    /// Slot of each class, once they have one.
    places: Vec<Slot>,
    /// Scratch and staging pieces, in the order in which they are asked for.
    extra: Vec<(LiveRange, usize)>,
    extra_at: Vec<usize>,
    pool: Vec<u8>,
    pooled: HashMap<ValueId, Slot>,
    /// Results of custom calls.
    guarded: HashSet<ValueId>,
}

fn number(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

impl Assignment<'_> {
    fn life(&self, value: ValueId) -> LiveRange {
        self.lives.of.get(&value).copied().unwrap_or(LiveRange { defined: 0, last: FOREVER })
    }

    fn add(&mut self, value: ValueId, pin: Option<u32>) {
        if self.classes.number(value).is_none() {
            self.classes.add(value, self.life(value), self.graph.bytes(value), pin);
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

    fn parameters(&mut self, code: &StepBlock) {
        for (index, &parameter) in code.parameters.iter().enumerate() {
            let pin = (!self.packed(parameter)).then_some(self.memory(index));
            self.add(parameter, pin);
        }
    }

    /// A class for every value that a step makes or a block takes.
    fn declare(&mut self, code: &StepBlock) {
        code.parameters.iter().for_each(|&parameter| self.add(parameter, None));
        for step in &code.steps {
            step.results.iter().for_each(|&result| self.add(result, None));
            if matches!(&step.work, StepKind::Kernel(kernel) if kernel.custom_call().is_some()) {
                self.guarded.extend(&step.results);
            }
            step.work.blocks().for_each(|block| self.declare(block));
        }
    }

    /// Whether the memory of a dying value may be written to.
    fn writable(&self, value: ValueId) -> bool {
        self.reuse
            && self
                .classes
                .get(value)
                .is_some_and(|class| class.pin.is_none_or(|pin| pin >= self.results))
    }

    fn join(&mut self, code: &StepBlock, times: &BlockTimes) {
        for (step, times) in code.steps.iter().zip(&times.steps) {
            match &step.work {
                StepKind::Fused(_) | StepKind::Rows(_) => {
                    let dies = |value: ValueId| {
                        self.life(value).last == times.start && self.writable(value)
                    };
                    let all = 0..step.operands.len();
                    let mut dying: Vec<usize> = all.filter(|&at| dies(step.operands[at])).collect();
                    for (number, &result) in step.results.iter().enumerate() {
                        let bytes = self.graph.bytes(result);
                        let fits = |&at: &usize| {
                            let class = self.classes.get(step.operands[at]);
                            class.map(|class| class.bytes) == Some(bytes)
                                && step.work.takes_over(at, number)
                        };
                        if let Some(at) = dying.iter().position(fits) {
                            let operand = step.operands[dying.swap_remove(at)];
                            self.classes.join(operand, result);
                        }
                    }
                }
                StepKind::Kernel(kernel) => {
                    for (index, &result) in step.results.iter().enumerate() {
                        let Some(from) = kernel.starts_from(index) else { continue };
                        let Some(&value) = step.operands.get(from) else { continue };
                        let once =
                            step.operands.iter().filter(|&&other| other == value).count() == 1;
                        let others =
                            (0..index).any(|other| kernel.starts_from(other) == Some(from));
                        let dies = self.life(value).last == times.start;
                        if once && !others && dies && self.writable(value) {
                            self.classes.join(value, result);
                        }
                    }
                }
                StepKind::While { condition, body, .. } => {
                    self.join_loop(step, times, condition, body)
                }
                StepKind::Branch(branches) => self.join_branches(step, times, branches),
                StepKind::Copy(_) => {}
            }
        }
    }

    fn join_loop(
        &mut self,
        step: &FusedStep,
        times: &Times,
        condition: &StepBlock,
        body: &StepBlock,
    ) {
        let [before, inside] = &times.blocks[..] else { return };
        let mut uses: HashMap<ValueId, usize> = HashMap::new();
        step.operands.iter().for_each(|&value| *uses.entry(value).or_default() += 1);
        for (index, &initial) in step.operands.iter().enumerate() {
            let [carried, tested, result] =
                [body.parameters[index], condition.parameters[index], step.results[index]];
            self.classes.join(result, tested);
            self.classes.join(result, carried);
            // The body reads what the condition has read.
            if let Some(life) = self.lives.of.get_mut(&tested) {
                life.last = life.last.max(inside.start);
            }
            if uses[&initial] == 1
                && self.life(initial).last == times.start
                && self.writable(initial)
            {
                self.classes.join(initial, result);
            }
        }
        self.join(condition, before);
        self.join(body, inside);
        if !self.reuse {
            return;
        }
        for (index, &made) in body.results.iter().enumerate() {
            let carried = body.parameters[index];
            if self.classes.same(made, carried) {
                continue;
            }
            let Some(class) = self.classes.get(made) else { continue };
            let (first, pinned) = (class.life.defined, class.pin.is_some());
            let own = first > inside.start && first < inside.end && !pinned;
            let read = self.classes.last_inside(carried, &self.lives.of, inside.start, inside.end);
            if own && read < first {
                self.classes.join(carried, made);
            }
        }
    }

    fn join_branches(&mut self, step: &FusedStep, times: &Times, branches: &[StepBlock]) {
        let results: HashSet<ValueId> = step.results.iter().copied().collect();
        for (branch, times) in branches.iter().zip(&times.blocks) {
            self.join(branch, times);
            if !self.reuse {
                continue;
            }
            for (&result, &made) in step.results.iter().zip(&branch.results) {
                let Some(class) = self.classes.get(made) else { continue };
                let own = class.life.defined > times.start && class.life.defined < times.end;
                let taken = class.members.iter().any(|member| results.contains(member));
                if own && !taken && class.pin.is_none() {
                    self.classes.join(result, made);
                }
            }
        }
    }

    /// Lets values be made where the caller wants them.
    fn pin_results(&mut self, code: &StepBlock) {
        if !self.reuse {
            return;
        }
        let mut donors = vec![None; code.results.len()];
        for (parameter, taken) in self.donated.iter().enumerate() {
            if let Some(donor) = taken.and_then(|result| donors.get_mut(result)) {
                donor.get_or_insert(parameter);
            }
        }
        for (index, &value) in code.results.iter().enumerate() {
            let memory = self.results + number(index);
            let Some(class) = self.classes.get(value) else { continue };
            if class.pin.is_some() || self.packed(value) {
                continue;
            }
            let free = donors[index].is_none_or(|parameter: usize| {
                let parameter = code.parameters.get(parameter);
                let old = parameter.and_then(|&parameter| self.classes.get(parameter));
                old.is_none_or(|old| old.life.last < class.life.defined)
            });
            if free {
                self.classes.pin(value, memory);
            }
        }
    }

    fn write(mut self, code: &StepBlock, times: &BlockTimes) -> Plan {
        // Once to learn which extra pieces there are, once with everything in its place.
        self.places = self.unplaced();
        let _ = self.program(code, times);
        let mut classes: Vec<(usize, usize, Option<u32>)> = Vec::new();
        let mut pieces: Vec<(LiveRange, usize)> = Vec::new();
        for (at, class) in self.classes.all() {
            classes.push((at, class.bytes, class.pin));
            let guarded = class.members.iter().any(|member| self.guarded.contains(member));
            let guard = if guarded && class.bytes > 0 { GUARD } else { 0 };
            pieces.push((class.life, if class.pin.is_none() { class.bytes + guard } else { 0 }));
        }
        pieces.extend_from_slice(&self.extra);
        let (offsets, arena) = lay_out(&pieces);
        for (&(at, bytes, pin), &offset) in classes.iter().zip(&offsets) {
            let (base, offset) = pin.map_or((Plan::ARENA, offset), |pin| (pin, 0));
            self.places[at] = Slot { base, offset, bytes };
        }
        self.extra_at = offsets[classes.len()..].to_vec();
        self.extra.clear();
        let steps = self.program(code, times);
        let mut largest: Vec<_> = Vec::new();
        self.note_largest(code, &mut largest);
        largest.sort_by_key(|(shape, ..)| std::cmp::Reverse(shape.bytes()));
        largest.truncate(8);
        let loops = steps.iter().any(|step| matches!(step.op, PlannedStep::While { .. }));
        Plan {
            steps,
            arena,
            pool: self.pool,
            parameters: code.parameters.len(),
            work: self.graph.bytes_accessed + self.graph.cost.flops,
            largest,
            calls: self.graph.calls,
            loops,
            channels: channels(code),
            meets: meets(code),
        }
    }

    fn note_largest(&self, code: &StepBlock, into: &mut Vec<(Shape, Arc<str>, LocationId)>) {
        for step in &code.steps {
            for &result in &step.results {
                if self.classes.get(result).is_some_and(|class| class.pin.is_none()) {
                    let shape = self.graph.value(result).shape.clone();
                    into.push((shape, Arc::clone(&step.name), step.location));
                }
            }
            step.work.blocks().for_each(|block| self.note_largest(block, into));
        }
    }

    fn unplaced(&self) -> Vec<Slot> {
        let last = self.classes.all().map(|(at, _)| at + 1).max().unwrap_or(0);
        let mut places = vec![Slot::default(); last];
        // Places differ from one another, so that copies between equal places are recognised.
        for (at, class) in self.classes.all() {
            let base = class.pin.unwrap_or(u32::MAX - number(at));
            places[at] = Slot { base, offset: 0, bytes: class.bytes };
        }
        places
    }

    fn slot(&mut self, value: ValueId) -> Slot {
        if let Some(number) = self.classes.number(value) {
            return self.places[number];
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
        let slot = Slot { base: Plan::POOL, offset, bytes: known.len() };
        self.pooled.insert(value, slot);
        slot
    }

    fn slots(&mut self, values: &[ValueId]) -> Box<[Slot]> {
        values.iter().map(|&value| self.slot(value)).collect()
    }

    /// A piece of the arena for one moment.
    fn moment(&mut self, at: usize, bytes: usize) -> Slot {
        let index = self.extra.len();
        self.extra.push((LiveRange { defined: at, last: at }, bytes));
        let offset = self.extra_at.get(index).copied().unwrap_or(0);
        Slot { base: Plan::ARENA, offset, bytes }
    }

    /// Copies values to the places of others, all at once.
    fn copies(&mut self, at: usize, (from, to): (&[ValueId], &[ValueId]), into: &mut Vec<Step>) {
        let pairs = from.iter().zip(to);
        let copies: Vec<(Slot, Slot)> =
            pairs.map(|(&from, &to)| (self.slot(from), self.slot(to))).collect();
        let copies = at_once(&copies, |bytes| self.moment(at, bytes));
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
                let staged = self.moment(times.end, bytes);
                steps.push(plain(PlannedStep::Pack { bits }, vec![from], vec![staged]));
                copies.push((staged, Slot { base, offset: 0, bytes }));
            } else {
                copies.push((from, Slot { base, offset: 0, bytes: from.bytes }));
            }
        }
        let copies = at_once(&copies, |bytes| self.moment(times.end, bytes));
        if !copies.is_empty() {
            steps.push(plain(PlannedStep::Copies(copies), Vec::new(), Vec::new()));
        }
        steps
    }

    fn steps(&mut self, code: &StepBlock, times: &BlockTimes) -> Vec<Step> {
        let mut steps = Vec::new();
        for (step, times) in code.steps.iter().zip(&times.steps) {
            let op = match &step.work {
                StepKind::Fused(fused) => PlannedStep::Fused(Arc::clone(fused)),
                StepKind::Copy(copy) => PlannedStep::StridedCopy(Arc::clone(copy)),
                StepKind::Rows(rows) => {
                    let scratch = self.moment(times.start, rows.states);
                    PlannedStep::Rows { rows: Arc::clone(rows), scratch }
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
                    let scratch = self.moment(times.start, kernel.scratch());
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
                    PlannedStep::While { condition: tested, decision, body: again, scalar }
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
            };
            // Control flow has its values in the steps inside.
            let (operands, results) = match op {
                PlannedStep::While { .. } | PlannedStep::Branch { .. } => {
                    (Box::default(), Box::default())
                }
                _ => (self.slots(&step.operands), self.slots(&step.results)),
            };
            let (name, location) = (Arc::clone(&step.name), step.location);
            steps.push(Step { op, operands, results, name, location });
        }
        steps
    }
}

fn plain(op: PlannedStep, operands: Vec<Slot>, results: Vec<Slot>) -> Step {
    Step {
        op,
        operands: operands.into(),
        results: results.into(),
        name: "copy".into(),
        location: LocationId::UNKNOWN,
    }
}
