//! Follows a plan with symbols for values: whatever a step reads must still be what was made.
use super::super::graph::{Graph, ValueId};
use super::super::passes::fuse::{EachStep, FusedStep, StepBlock, StepKind};
use super::{Plan, PlannedEach, PlannedScalarLoop, PlannedStep, Slot, Step, StorageForm};
use crate::compile::{Passes, fitted};
use std::collections::HashMap;

/// What lies in a slot.
type Symbol = usize;

/// Iterations of a loop that are followed: what one iteration destroys, the next one misses.
const ITERATIONS: usize = 3;

/// Panics where a plan reads what is not there any more, or writes to what is not its own.
pub(crate) fn check(graph: &Graph, code: &StepBlock, plan: &Plan, donated: &[Option<usize>]) {
    let results = plan.results();
    let mut checker = Checker {
        graph,
        plan,
        values: HashMap::new(),
        known: HashMap::new(),
        contents: Vec::new(),
        windows: Vec::new(),
        replaced: Vec::new(),
        next: 0,
    };
    let mut readonly = vec![Plan::POOL];
    for (index, &parameter) in code.parameters.iter().enumerate() {
        let own = Plan::PARAMETERS + u32::try_from(index).unwrap();
        let base = donated.get(index).copied().flatten();
        let base = base.map_or(own, |result| results + u32::try_from(result).unwrap());
        readonly.push(own);
        let symbol = checker.fresh();
        checker.values.insert(parameter, symbol);
        let bytes = graph.bytes(parameter);
        checker.contents.push((Slot { base, offset: 0, bytes }, symbol));
    }
    checker.block(code, &plan.steps);
    for (base, &value) in (results..).zip(&code.results) {
        let slot = Slot { base, offset: 0, bytes: graph.bytes(value) };
        checker.read(slot, value, "the caller");
    }
    each_write(&plan.steps, &mut |slot| {
        assert!(slot.bytes == 0 || !readonly.contains(&slot.base), "{slot:?} is written");
        let outside = slot.base != Plan::ARENA || slot.offset + slot.bytes <= plan.arena;
        assert!(outside, "{slot:?} in {} bytes", plan.arena);
    });
}

/// The program's plan, which the checker has followed.
pub(crate) fn planned(graph: &mut Graph, donated: &[Option<usize>], passes: Passes) -> Plan {
    let storage = StorageForm::Packed { donated, elsewhere: &[], apart: false };
    let (code, plan) = fitted(graph, storage, passes, |_| 0);
    check(graph, &code, &plan, donated);
    plan
}

fn each_write(steps: &[Step], visit: &mut dyn FnMut(Slot)) {
    for step in steps {
        step.results.iter().for_each(|&slot| visit(slot));
        match &step.kind {
            PlannedStep::Kernel { starts, scratch, .. } => {
                visit(*scratch);
                starts.iter().for_each(|&(_, to)| visit(to));
            }
            PlannedStep::Rows { scratch, .. } => visit(*scratch),
            PlannedStep::Copies(copies) => copies.iter().for_each(|&(_, to)| visit(to)),
            PlannedStep::While { .. } | PlannedStep::Branch { .. } | PlannedStep::Each(_) => {
                step.kind.blocks().for_each(|steps| each_write(steps, visit));
            }
            PlannedStep::Fused(_)
            | PlannedStep::StridedCopy(_)
            | PlannedStep::Window(_)
            | PlannedStep::Unpack { .. }
            | PlannedStep::Pack { .. } => {}
        }
    }
}

fn overlap(a: Slot, b: Slot) -> bool {
    a.base == b.base && a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes
}

struct Checker<'c> {
    graph: &'c Graph,
    plan: &'c Plan,
    values: HashMap<ValueId, Symbol>,
    /// Symbols of constants, by their bytes.
    known: HashMap<Vec<u8>, Symbol>,
    contents: Vec<(Slot, Symbol)>,
    /// Windows, the arrays that they are pieces of, and whether updates are made in them.
    windows: Vec<(Slot, Slot, bool)>,
    /// What is left in arrays in which a piece was replaced: the window, and what was there.
    replaced: Vec<(Slot, Slot, Symbol)>,
    next: Symbol,
}

impl Checker<'_> {
    fn fresh(&mut self) -> Symbol {
        self.next += 1;
        self.next
    }

    fn constant(&mut self, bytes: &[u8]) -> Symbol {
        let fresh = self.fresh();
        *self.known.entry(bytes.to_vec()).or_insert(fresh)
    }

    fn symbol(&mut self, value: ValueId) -> Symbol {
        if let Some(&symbol) = self.values.get(&value) {
            return symbol;
        }
        let bytes = self.graph.value(value).known.clone();
        self.constant(&bytes.unwrap_or_else(|| panic!("{value:?} is not made")))
    }

    /// What lies in a slot.
    fn held(&mut self, slot: Slot) -> Option<Symbol> {
        if slot.base == Plan::POOL {
            let bytes = self.plan.pool[slot.offset..slot.offset + slot.bytes].to_vec();
            return Some(self.constant(&bytes));
        }
        self.contents.iter().find(|(held, _)| *held == slot).map(|(_, symbol)| *symbol)
    }

    fn read(&mut self, slot: Slot, value: ValueId, by: &str) {
        let wanted = self.symbol(value);
        assert_eq!(slot.bytes, self.graph.bytes(value), "{by} reads {value:?}");
        if slot.bytes > 0 {
            let held = self.held(slot);
            assert_eq!(held, Some(wanted), "{by} reads {value:?} at {slot:?}");
        }
    }

    fn write(&mut self, slot: Slot, symbol: Symbol) {
        if slot.bytes > 0 {
            let array = self.windows.iter().find(|&&(window, _, made)| made && window == slot);
            if let Some(&(window, array, _)) = array
                && let Some(was) = self.held(array)
            {
                self.forget(array);
                self.replaced.push((window, array, was));
            }
            self.forget(slot);
            self.contents.push((slot, symbol));
        }
    }

    /// A window is a piece of an array from now on.
    fn open(&mut self, window: Slot, array: Slot, made: bool) {
        self.windows.retain(|&(other, ..)| other != window);
        self.windows.push((window, array, made));
    }

    /// What a step stores lies there already, and nothing else has changed the array.
    fn stored(&mut self, wanted: &FusedStep, step: &Step) {
        let [array, update] = [step.operands[0], step.operands[1]];
        self.read(update, wanted.operands[1], &wanted.name);
        let was = self.symbol(wanted.operands[0]);
        let kept = self.replaced.contains(&(update, array, was));
        assert!(kept && step.results[..] == [array], "{} stores in another array", wanted.name);
        let symbol = self.fresh();
        self.values.insert(wanted.results[0], symbol);
        self.contents.push((array, symbol));
    }

    /// Nothing is in a slot any more, nor in the windows that are pieces of it.
    fn forget(&mut self, slot: Slot) {
        self.contents.retain(|(held, _)| !overlap(*held, slot));
        self.replaced.retain(|(_, array, _)| !overlap(*array, slot));
        let on = self.windows.iter().filter(|(_, array, _)| overlap(*array, slot));
        let on: Vec<Slot> = on.map(|&(window, ..)| window).collect();
        on.into_iter().for_each(|window| self.forget(window));
    }

    fn make(&mut self, slot: Slot, value: ValueId) {
        let symbol = self.fresh();
        self.values.insert(value, symbol);
        self.write(slot, symbol);
    }

    fn copies(&mut self, copies: &[(Slot, Slot)]) {
        for &(from, to) in copies {
            assert_eq!(from.bytes, to.bytes);
            assert!(!overlap(from, to), "a copy from {from:?} to {to:?}");
            let fresh = self.fresh();
            let symbol = self.held(from).unwrap_or(fresh);
            self.write(to, symbol);
        }
    }

    fn block(&mut self, code: &StepBlock, steps: &[Step]) {
        let mut wanted = code.steps.iter();
        for step in steps {
            match &step.kind {
                PlannedStep::Copies(copies) if step.results.is_empty() => self.copies(copies),
                // For an update that the next step makes: it is no step of the program.
                PlannedStep::Window(_) if &*step.name == "copy" => {
                    self.open(step.results[0], step.operands[0], true);
                }
                PlannedStep::Pack { .. } | PlannedStep::Unpack { .. } => {
                    panic!("no narrow types in this test")
                }
                _ => self.step(wanted.next().expect("a step of the program"), step),
            }
        }
        assert!(wanted.next().is_none(), "steps are missing");
    }

    fn step(&mut self, wanted: &FusedStep, step: &Step) {
        let name = &*wanted.name;
        let is_stored = matches!(&step.kind, PlannedStep::Copies(copies) if copies.is_empty());
        if let (StepKind::Kernel(kernel), true) = (&wanted.kind, is_stored)
            && kernel.starts_from(0).is_some()
        {
            return self.stored(wanted, step);
        }
        for (&slot, &value) in step.operands.iter().zip(&*wanted.operands) {
            self.read(slot, value, name);
        }
        for (index, &result) in step.results.iter().enumerate() {
            let clash = step.results[..index].iter().any(|&other| overlap(other, result));
            assert!(!clash, "{name} has two results in one place");
            for (number, &operand) in step.operands.iter().enumerate() {
                let in_place = wanted.kind.takes_over(number, index);
                let same = in_place && operand == result;
                // Parts that were made in their places: what is copied beside them is followed below.
                let joined = matches!(step.kind, PlannedStep::Copies(_));
                let free = same || joined || !overlap(operand, result);
                assert!(free, "{name} writes what it reads");
            }
        }
        match (&wanted.kind, &step.kind) {
            (StepKind::Fused(_), PlannedStep::Fused(_))
            | (StepKind::Copy(_), PlannedStep::StridedCopy(_)) => {}
            (StepKind::Kernel(_), PlannedStep::Window(_)) => {
                self.open(step.results[0], step.operands[0], false);
            }
            (StepKind::Rows(_), PlannedStep::Rows { scratch, .. }) => {
                let mut around = step.operands.iter().chain(&step.results);
                assert!(around.all(|&slot| !overlap(slot, *scratch)), "{name}: scratch");
                let junk = self.fresh();
                self.write(*scratch, junk);
            }
            (StepKind::Kernel(_), PlannedStep::Kernel { starts, scratch, .. }) => {
                let around = step.operands.iter().chain(&step.results);
                assert!(
                    around.into_iter().all(|&slot| !overlap(slot, *scratch)),
                    "{name}: scratch"
                );
                self.copies(starts);
                let junk = self.fresh();
                self.write(*scratch, junk);
            }
            (
                StepKind::While { condition, body, .. },
                PlannedStep::While { condition: tests, decision, body: again, scalar, .. },
            ) => {
                let scalar = scalar.as_deref();
                self.iterations(wanted, (condition, tests, *decision), (body, again), scalar);
            }
            (StepKind::Branch(branches), PlannedStep::Branch { selector, branches: steps }) => {
                self.read(*selector, wanted.operands[0], name);
                self.branches(wanted, branches, steps);
            }
            (StepKind::Each(code), PlannedStep::Each(each)) => self.runs(step, code, each),
            (StepKind::Kernel(kernel), PlannedStep::Copies(copies)) => {
                self.copies(copies);
                let moved = kernel.moves(step.operands.len()).expect("a join");
                for run in moved.moves {
                    let value = wanted.operands[run.operand];
                    let from = step.operands[run.operand].part(run.from, run.bytes);
                    let to = step.results[0].part(run.to, run.bytes);
                    if run.bytes == self.graph.bytes(value) {
                        self.read(to, value, name);
                    } else {
                        assert!(copies.contains(&(from, to)), "{name} lacks a part of {value:?}");
                    }
                }
            }
            _ => panic!("{name} is another step"),
        }
        for (&slot, &value) in step.results.iter().zip(&*wanted.results) {
            self.make(slot, value);
        }
    }

    fn iterations(
        &mut self,
        wanted: &FusedStep,
        (condition, tests, decision): (&StepBlock, &[Step], Slot),
        (body, again): (&StepBlock, &[Step]),
        scalar: Option<&PlannedScalarLoop>,
    ) {
        let mut carried: Vec<Symbol> =
            wanted.operands.iter().map(|&value| self.symbol(value)).collect();
        for iteration in 0..ITERATIONS {
            self.values.extend(condition.parameters.iter().copied().zip(carried.clone()));
            let results = wanted.results.iter().copied();
            self.values.extend(results.zip(carried.clone()));
            scalar.iter().for_each(|scalar| self.memories(scalar));
            self.block(condition, tests);
            self.read(decision, condition.results[0], "a loop");
            if iteration + 1 < ITERATIONS {
                self.values.extend(body.parameters.iter().copied().zip(carried));
                self.block(body, again);
                carried = body.results.iter().map(|&value| self.symbol(value)).collect();
            } else {
                self.values.extend(wanted.results.iter().copied().zip(carried.clone()));
            }
        }
    }

    /// Two runs over rows of their own.
    fn runs(&mut self, step: &Step, code: &EachStep, each: &PlannedEach) {
        let count = u32::try_from(each.row_bytes.len()).unwrap();
        let slots: Vec<Slot> = (each.first..each.first + count)
            .zip(&each.row_bytes)
            .map(|(base, &bytes)| Slot { base, offset: 0, bytes })
            .collect();
        for _ in 0..2 {
            for (&slot, &row) in slots.iter().zip(&code.body.parameters) {
                self.make(slot, row);
            }
            self.block(&code.body, &each.body);
            let made = slots.iter().skip(code.body.parameters.len());
            for (&slot, &value) in made.zip(&code.body.results) {
                // What was made where a row of an operand is has its place there.
                let symbol = self.symbol(value);
                let held = self
                    .contents
                    .iter()
                    .any(|&(at, held)| held == symbol && (at == slot || at.base >= each.first));
                assert!(held || slot.bytes == 0, "{} has not made {value:?}", step.name);
            }
        }
        let mut written = Vec::new();
        each_write(&each.body, &mut |slot| written.push(slot.base));
        for (slot, &operand) in slots.iter().zip(&step.operands) {
            if written.contains(&slot.base) {
                let junk = self.fresh();
                self.write(operand, junk);
            }
        }
        self.contents.retain(|(held, _)| held.base < each.first);
    }

    /// The memories of a scalar loop, at the beginning of an iteration.
    fn memories(&mut self, scalar: &PlannedScalarLoop) {
        for (range, &slot) in scalar.program.memories.iter().zip(&scalar.memories) {
            assert_eq!(slot.bytes, range.bytes);
            let bytes = self.graph.bytes(range.value);
            let whole = Slot { base: slot.base, offset: slot.offset - range.offset, bytes };
            self.read(whole, range.value, "a scalar loop");
        }
    }

    fn branches(&mut self, wanted: &FusedStep, branches: &[StepBlock], steps: &[Vec<Step>]) {
        let before = self.contents.clone();
        let mut ends = Vec::new();
        for (code, steps) in branches.iter().zip(steps) {
            self.contents.clone_from(&before);
            self.block(code, steps);
            let made: Vec<Symbol> = code.results.iter().map(|&value| self.symbol(value)).collect();
            ends.push((std::mem::take(&mut self.contents), made));
        }
        // Afterwards only that is there which every branch leaves in its place.
        let mut merged: HashMap<Vec<Symbol>, Symbol> = HashMap::new();
        for (index, &result) in wanted.results.iter().enumerate() {
            let symbols: Vec<Symbol> = ends.iter().map(|(_, made)| made[index]).collect();
            let same = symbols.iter().all(|&symbol| symbol == symbols[0]);
            let fresh = if same { symbols[0] } else { self.fresh() };
            let symbol = *merged.entry(symbols).or_insert(fresh);
            self.values.insert(result, symbol);
        }
        for &(held, symbol) in &ends[0].0 {
            let others = ends.iter().map(|(contents, _)| {
                contents.iter().find(|(other, _)| *other == held).map(|(_, symbol)| *symbol)
            });
            let Some(symbols) = others.collect::<Option<Vec<Symbol>>>() else { continue };
            let same = symbols.iter().all(|&other| other == symbol);
            if let Some(symbol) = merged.get(&symbols).copied().or(same.then_some(symbol)) {
                self.contents.push((held, symbol));
            }
        }
    }
}
