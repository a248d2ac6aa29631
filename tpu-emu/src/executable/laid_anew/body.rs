//! The operations of a program in their order, who makes a value, and how long it is needed.
use crate::executable::stored_array::Array;
use std::cell::OnceCell;
use std::collections::BTreeSet;
use tpu_ops::{
    ADD, Entry, LayoutRule, Operator, Relayout, Simplification, Structural, callee, top_k,
};
use tpu_program::import::has_line;
use tpu_stablehlo::Module;
use tpu_stablehlo::ir::{Function, LocationId, Operation, Region, Value};

/// Operations that are looked at.
const OPERATIONS: usize = 1 << 20;
/// Calls inside of calls that are followed.
const DEPTH: usize = 64;
/// No operation.
const NONE: u32 = u32::MAX;

/// A value of one call of a function: a number among the values of all calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct CallValue(u32);

impl CallValue {
    fn index(self) -> usize {
        self.0 as usize
    }
}

/// An operation of one call of a function.
#[derive(Debug, Clone, Copy)]
pub(super) struct CallOperation<'m> {
    pub(super) operation: &'m Operation,
    pub(super) operator: Operator,
    /// The number of the operation among all.
    pub(super) at: usize,
    /// Where it was written, or where the function was called that it belongs to.
    pub(super) location: LocationId,
    function: &'m Function,
    /// The number of the first value of its call.
    base: u32,
}

impl CallOperation<'_> {
    /// The array that is its operand with this number.
    pub(super) fn operand(&self, number: usize) -> Option<Array> {
        Array::of(self.function, *self.operation.operands.get(number)?)
    }

    /// The array that is its first result.
    pub(super) fn result(&self) -> Option<Array> {
        Array::of(self.function, *self.operation.results.first()?)
    }

    /// Whether it works on elements alone.
    pub(super) fn is_by_element(&self) -> bool {
        matches!(
            self.operator,
            Operator::Row(row) if row.layout == LayoutRule::LikeOperand
                && row.relayout == Relayout::Nothing
                && self.operation.regions.is_empty()
        )
    }

    /// Whether it lays arrays anew so.
    pub(super) fn is(&self, relayout: Relayout) -> bool {
        matches!(self.operator, Operator::Row(row) if row.relayout == relayout)
    }

    /// Whether it turns or reshapes an array.
    pub(super) fn is_move(&self) -> bool {
        let turns =
            matches!(self.operator, Operator::Row(row) if row.layout == LayoutRule::Permuted);
        turns || self.is(Relayout::Reshaped)
    }

    /// Whether it is the operation of an entry.
    pub(super) fn is_named(&self, entry: &Entry) -> bool {
        matches!(self.operator, Operator::Row(row) if row.mnemonic == entry.mnemonic)
    }

    /// Whether it adds two arrays.
    pub(super) fn is_sum(&self) -> bool {
        self.is_named(&ADD)
    }

    fn runs_in_its_reader(&self) -> bool {
        let joins = |row: &Entry| match row.relayout {
            Relayout::Joined => !self.stacks(),
            Relayout::Padded => {
                let between = self.operation.attributes.integers("interior_padding");
                between.unwrap_or_default().iter().all(|&room| room == 0)
            }
            _ => false,
        };
        self.is_by_element() || matches!(self.operator, Operator::Row(row) if joins(row))
    }

    /// Whether it puts arrays side by side along an axis of which they have one element each.
    fn stacks(&self) -> bool {
        let axis = self.operation.attributes.integer("dimension");
        let axis = axis.and_then(|axis| usize::try_from(axis).ok());
        let thin = |number| self.operand(number).and_then(|of| Some(*of.dims.get(axis?)? == 1));
        (0..self.operation.operands.len()).all(|number| thin(number) == Some(true))
    }
}

/// The operations of a program as if all calls were written out; those of regions come before the
/// operation that they belong to.
#[derive(Debug)]
pub(super) struct WrittenOut<'m> {
    pub(super) operations: Vec<CallOperation<'m>>,
    /// The function of each call, and the number of its first value.
    calls: Vec<(&'m Function, u32)>,
    /// What each value is: parameters and results of calls are others.
    same: Vec<CallValue>,
    /// Where the function was called that is gone through, as far as a line is known.
    called_at: Option<LocationId>,
    makers: OnceCell<Vec<u32>>,
    readers: OnceCell<Vec<u32>>,
    live_readers: OnceCell<Vec<u32>>,
    ends: OnceCell<Vec<u32>>,
}

impl<'m> WrittenOut<'m> {
    pub(super) fn of(module: &'m Module, entry: &'m Function) -> Self {
        let [makers, readers, live_readers, ends] = [const { OnceCell::new() }; 4];
        let (operations, calls, same) = (Vec::new(), Vec::new(), Vec::new());
        let mut body =
            Self { operations, calls, same, called_at: None, makers, readers, live_readers, ends };
        let base = body.enter(entry);
        body.region(module, &entry.body, (entry, base), 0);
        body
    }

    /// Numbers the values of one more call; gives the first number.
    fn enter(&mut self, function: &'m Function) -> u32 {
        let number = |index: usize| u32::try_from(index).unwrap_or(NONE);
        let base = self.same.len();
        let all = base..base + function.values.len();
        self.same.extend(all.map(|index| CallValue(number(index))));
        self.calls.push((function, number(base)));
        number(base)
    }

    fn region(
        &mut self,
        module: &'m Module,
        region: &'m Region,
        (function, base): (&'m Function, u32),
        depth: usize,
    ) {
        for operation in region.blocks.iter().flat_map(|block| &block.operations) {
            if self.operations.len() >= OPERATIONS || self.same.len() >= OPERATIONS {
                return;
            }
            let operator = Operator::of(operation);
            let called = match operator {
                Operator::Structural(Structural::Composite) if top_k(operation).is_some() => None,
                Operator::Structural(Structural::Call | Structural::Composite) => {
                    callee(operation).and_then(|name| module.function(name))
                }
                _ => None,
            };
            if let Some(called) = called.filter(|_| depth < DEPTH) {
                let outside = self.called_at;
                if has_line(&module.locations, operation.location) {
                    self.called_at = Some(operation.location);
                }
                self.call((module, called), (base, operation), depth + 1);
                self.called_at = outside;
                continue;
            }
            for inner in &operation.regions {
                self.region(module, inner, (function, base), depth);
            }
            let at = self.operations.len();
            let caller = self.called_at;
            let caller = caller.filter(|_| !has_line(&module.locations, operation.location));
            let location = caller.unwrap_or(operation.location);
            let one = CallOperation { operation, operator, at, location, function, base };
            self.operations.push(one);
        }
    }

    fn call(
        &mut self,
        (module, called): (&'m Module, &'m Function),
        (from, operation): (u32, &'m Operation),
        depth: usize,
    ) {
        let Some(block) = called.block() else { return };
        let base = self.enter(called);
        for (&value, &given) in block.arguments.iter().zip(&operation.operands) {
            self.same[number(base, value).index()] = self.known(number(from, given));
        }
        self.region(module, &called.body, (called, base), depth);
        let Some(last) = block.operations.last() else { return };
        // What a call returns is read where it is.
        if self.operations.last().is_some_and(|of| std::ptr::eq(of.operation, last)) {
            self.operations.pop();
        }
        for (&value, &made) in operation.results.iter().zip(&last.operands) {
            self.same[number(from, value).index()] = self.known(number(base, made));
        }
    }

    /// A value as whoever made it names it.
    fn known(&self, value: CallValue) -> CallValue {
        self.same.get(value.index()).copied().unwrap_or(value)
    }

    /// The operands of an operation.
    pub(super) fn operands(&self, of: &CallOperation<'m>) -> impl Iterator<Item = CallValue> {
        of.operation.operands.iter().map(|&value| self.known(number(of.base, value)))
    }

    /// The operands of an operation that have these extents.
    pub(super) fn operands_of(
        &self,
        of: &CallOperation<'m>,
        dims: &[u64],
    ) -> impl Iterator<Item = CallValue> {
        self.operands(of).filter(move |&of| self.array(of).is_some_and(|of| of.dims == dims))
    }

    /// The first result of an operation.
    pub(super) fn result(&self, of: &CallOperation<'m>) -> Option<CallValue> {
        of.operation.results.first().map(|&value| number(of.base, value))
    }

    /// The arrays that are its results.
    pub(super) fn results(&self, of: &CallOperation<'m>) -> Vec<(Array, CallValue)> {
        let result =
            |&value: &Value| Some((Array::of(of.function, value)?, number(of.base, value)));
        of.operation.results.iter().filter_map(result).collect()
    }

    /// The loops.
    pub(super) fn loops(&self) -> impl Iterator<Item = CallOperation<'m>> {
        let is_loop = |of: &&CallOperation<'m>| {
            matches!(of.operator, Operator::Structural(Structural::While))
        };
        self.operations.iter().filter(is_loop).copied()
    }

    /// What the body of a loop is given, with what it gives for the next round.
    pub(super) fn carried(&self, of: &CallOperation<'m>) -> Vec<(CallValue, CallValue)> {
        let block = of.operation.regions.get(1).and_then(|region| region.blocks.first());
        let Some(block) = block else { return Vec::new() };
        let made = block.operations.last().map_or(&[][..], |last| &last.operands);
        let known = |&value: &Value| self.known(number(of.base, value));
        block.arguments.iter().map(known).zip(made.iter().map(known)).collect()
    }

    /// The operation that makes a value; `None` for a parameter of the program.
    pub(super) fn maker(&self, value: CallValue) -> Option<CallOperation<'m>> {
        let makers = self.makers.get_or_init(|| {
            let mut makers = vec![NONE; self.same.len()];
            for (of, at) in self.operations.iter().zip(0_u32..) {
                for &result in &of.operation.results {
                    makers[number(of.base, result).index()] = at;
                }
            }
            makers
        });
        let at = *makers.get(value.index())?;
        self.operations.get(at as usize).copied()
    }

    /// The operation that cuts a piece of an array, if one makes a value.
    pub(super) fn cut(&self, value: CallValue) -> Option<CallOperation<'m>> {
        self.maker(value).filter(|maker| maker.is(Relayout::Cut))
    }

    /// The array that a value is.
    pub(super) fn array(&self, value: CallValue) -> Option<Array> {
        let call = self.calls.partition_point(|&(_, base)| base <= value.0).checked_sub(1)?;
        let &(function, base) = self.calls.get(call)?;
        Array::of(function, Value(value.0 - base))
    }

    /// Whether a value is a parameter of the program.
    pub(super) fn is_given(&self, value: CallValue) -> bool {
        self.parameter(value).is_some()
    }

    /// The number of the parameter of the program that a value is.
    pub(super) fn parameter(&self, value: CallValue) -> Option<usize> {
        let (entry, _) = self.calls.first()?;
        entry.block()?.arguments.iter().position(|&of| of == Value(value.0))
    }

    /// Whether a value is a result of the program as it is.
    pub(super) fn is_returned(&self, value: CallValue) -> bool {
        self.operations.last().is_some_and(|last| self.operands(last).any(|of| of == value))
    }

    /// The position at which a value is read last, `None` where nobody reads it. A chip runs
    /// operations on elements, and joins, in the one loop that reads what they make, if only one
    /// does: there it reads what they read.
    pub(super) fn end(&self, value: CallValue) -> Option<usize> {
        let ends = self.ends.get_or_init(|| {
            let readers = self.readers();
            let mut ends = vec![NONE; self.same.len()];
            let all = (0_u32..).zip(&self.operations).collect::<Vec<_>>();
            for (at, of) in all.into_iter().rev() {
                let result = self.result(of).map(CallValue::index);
                let one = result.filter(|&of| readers[of] == 1);
                let until = one.filter(|_| of.runs_in_its_reader()).map_or(at, |of| ends[of]);
                for operand in self.operands(of) {
                    let end = &mut ends[operand.index()];
                    *end = if *end == NONE { until } else { until.max(*end) };
                }
            }
            ends
        });
        ends.get(value.index()).filter(|&&end| end != NONE).map(|&end| end as usize)
    }

    /// Whether a value has elements that are there several times, such as a constant everywhere.
    pub(super) fn is_spread(&self, value: CallValue) -> bool {
        let repeats = |of: CallOperation<'m>| {
            let moves = matches!(of.operator, Operator::Row(row) if row.simplification == Simplification::Moved);
            let fewer = |from: Array| of.result().is_some_and(|to| from.dense() < to.dense());
            of.operation.operands.is_empty() || moves && of.operand(0).is_some_and(fewer)
        };
        self.maker(value).is_some_and(repeats)
    }

    /// Whether a value is made of one parameter or constant at most, by operations of one operand.
    pub(super) fn is_of_parameters(&self, mut value: CallValue) -> bool {
        while let Some(maker) = self.maker(value) {
            match &self.operands(&maker).collect::<Vec<_>>()[..] {
                [] => return true,
                &[one] if maker.operation.regions.is_empty() => value = one,
                _ => return false,
            }
        }
        self.is_given(value)
    }

    /// How many operands of operations each value is.
    fn readers(&self) -> &[u32] {
        self.readers.get_or_init(|| {
            let mut readers = vec![0_u32; self.same.len()];
            for operand in self.operations.iter().flat_map(|of| self.operands(of)) {
                readers[operand.index()] += 1;
            }
            readers
        })
    }

    /// How many operands each value is of operations whose results somebody needs.
    fn live_readers(&self) -> &[u32] {
        self.live_readers.get_or_init(|| {
            let mut readers = vec![0_u32; self.same.len()];
            for of in self.operations.iter().rev() {
                if self.is_needed(of, &readers) {
                    self.operands(of).for_each(|operand| readers[operand.index()] += 1);
                }
            }
            readers
        })
    }

    /// Whether somebody reads what an operation makes, or it may do something else besides.
    fn is_needed(&self, of: &CallOperation<'m>, readers: &[u32]) -> bool {
        let results = &of.operation.results;
        let is_read = |&result: &Value| readers[number(of.base, result).index()] > 0;
        results.is_empty()
            || !matches!(of.operator, Operator::Row(_))
            || results.iter().any(is_read)
    }

    /// Whether operations that are needed read a value so many times in all.
    pub(super) fn is_read(&self, value: CallValue, times: u32) -> bool {
        self.live_readers().get(value.index()) == Some(&times)
    }

    /// Whether a value is read once.
    pub(super) fn is_read_once(&self, value: CallValue) -> bool {
        self.readers().get(value.index()) == Some(&1)
    }

    /// The operations that read a value.
    pub(super) fn reading(&self, value: CallValue) -> impl Iterator<Item = &CallOperation<'m>> {
        self.operations.iter().filter(move |of| self.operands(of).any(|of| of == value))
    }

    /// Whether an operation on elements reads a value.
    pub(super) fn is_read_by_elements(&self, value: CallValue) -> bool {
        self.reading(value).any(CallOperation::is_by_element)
    }

    /// How many convolutions have a value as their image, or what operations on its elements alone
    /// make of it.
    pub(super) fn convolutions(&self, value: CallValue) -> usize {
        let of = |of: &CallOperation<'m>| match of.operator {
            Operator::Row(row) if row.relayout == Relayout::Convolved => {
                usize::from(self.operands(of).next() == Some(value))
            }
            _ => {
                let alone = of.is_by_element()
                    && self.operands(of).all(|of| of == value || self.is_spread(of));
                self.result(of).filter(|_| alone).map_or(0, |result| self.convolutions(result))
            }
        };
        self.reading(value).map(of).sum()
    }

    /// Whether operations that lay arrays anew so are all that reads a value, at once or behind a
    /// few operations on elements, joins and reshapes.
    pub(super) fn ends_in(&self, value: CallValue, relayout: Relayout, steps: usize) -> bool {
        let mut readers = self.reading(value).peekable();
        readers.peek().is_some()
            && readers.all(|of| match of.operator {
                Operator::Row(row) if row.relayout == relayout => true,
                Operator::Row(row) if steps > 0 => {
                    let passes = matches!(row.relayout, Relayout::Joined | Relayout::Reshaped);
                    (passes || of.is_by_element())
                        && self.result(of).is_some_and(|of| self.ends_in(of, relayout, steps - 1))
                }
                _ => false,
            })
    }

    /// All values that an operation needs, its operands and what these are made of.
    pub(super) fn needed(&self, of: &CallOperation<'m>) -> BTreeSet<CallValue> {
        let mut needed: BTreeSet<CallValue> = self.operands(of).collect();
        let mut open: Vec<CallValue> = needed.iter().copied().collect();
        while let Some(value) = open.pop() {
            for operand in self.maker(value).iter().flat_map(|maker| self.operands(maker)) {
                if needed.insert(operand) {
                    open.push(operand);
                }
            }
        }
        needed
    }

    /// The operations on elements that make arrays of a value in its extents, and the position at
    /// which the last one of all these is read: one of them is stored, and the others are made of it
    /// as they are read.
    pub(super) fn made_of(&self, value: CallValue) -> (Vec<usize>, Option<usize>) {
        let (mut makers, mut end) = (Vec::new(), None);
        let (Some(array), Some(maker)) = (self.array(value), self.maker(value)) else {
            return (makers, end);
        };
        let mut made = vec![false; self.same.len()];
        made[value.index()] = true;
        for of in &self.operations[maker.at..] {
            if self.operands(of).any(|of| made[of.index()]) {
                end = Some(of.at);
                let same = of.is_by_element()
                    && of.result().is_some_and(|of| of.dims == array.dims)
                    && self
                        .operands_of(of, &array.dims)
                        .all(|of| made[of.index()] || self.is_spread(of));
                if let Some(result) = self.result(of).filter(|_| same) {
                    made[result.index()] = true;
                    makers.push(of.at);
                }
            }
        }
        (makers, end)
    }

    /// Whether a value becomes a result of the program by operations on elements alone, or joins.
    pub(super) fn ends_as_result(&self, value: CallValue) -> bool {
        self.end(value).is_some_and(|end| end + 1 == self.operations.len())
    }
}

/// The number of a value of the call whose first value has the number `base`.
fn number(base: u32, value: Value) -> CallValue {
    CallValue(base.saturating_add(value.0))
}
