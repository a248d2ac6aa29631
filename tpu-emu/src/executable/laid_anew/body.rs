//! The operations of a program in their order, who makes a value, and how long it is needed.
use crate::executable::stored_array::Array;
use std::cell::OnceCell;
use std::collections::HashMap;
use tpu_ops::{LayoutRule, Operator, Relayout, Structural, callee, top_k};
use tpu_stablehlo::Module;
use tpu_stablehlo::ir::{Function, Operation, Region, Value};

/// Operations that are looked at.
const OPERATIONS: usize = 1 << 20;
/// Calls inside of calls that are followed.
const DEPTH: usize = 64;

/// A value of one call of a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct CallValue {
    call: usize,
    value: Value,
}

/// An operation of one call of a function.
#[derive(Debug, Clone, Copy)]
pub(super) struct CallOperation<'m> {
    pub(super) operation: &'m Operation,
    /// The number of the operation among all.
    pub(super) at: usize,
    function: &'m Function,
    call: usize,
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
}

/// The operations of a program as if all calls were written out; those of regions come before the
/// operation that they belong to.
#[derive(Debug)]
pub(super) struct WrittenOut<'m> {
    pub(super) operations: Vec<CallOperation<'m>>,
    /// The function of each call.
    functions: Vec<&'m Function>,
    /// What parameters and results of calls are.
    same: HashMap<CallValue, CallValue>,
    makers: OnceCell<HashMap<CallValue, usize>>,
    ends: OnceCell<HashMap<CallValue, usize>>,
}

impl<'m> WrittenOut<'m> {
    pub(super) fn of(module: &'m Module, entry: &'m Function) -> Self {
        let (makers, ends) = (OnceCell::new(), OnceCell::new());
        let (functions, same) = (vec![entry], HashMap::new());
        let mut body = Self { operations: Vec::new(), functions, same, makers, ends };
        body.region(module, &entry.body, 0, 0);
        body
    }

    fn region(&mut self, module: &'m Module, region: &'m Region, call: usize, depth: usize) {
        let function = self.functions[call];
        for operation in region.blocks.iter().flat_map(|block| &block.operations) {
            if self.operations.len() >= OPERATIONS {
                return;
            }
            let called = match Operator::of(operation) {
                Operator::Structural(Structural::Composite) if top_k(operation).is_some() => None,
                Operator::Structural(Structural::Call | Structural::Composite) => {
                    callee(operation).and_then(|name| module.function(name))
                }
                _ => None,
            };
            if let Some(called) = called.filter(|_| depth < DEPTH) {
                self.call((module, called), (call, operation), depth + 1);
                continue;
            }
            for inner in &operation.regions {
                self.region(module, inner, call, depth);
            }
            let at = self.operations.len();
            self.operations.push(CallOperation { operation, at, function, call });
        }
    }

    fn call(
        &mut self,
        (module, called): (&'m Module, &'m Function),
        (from, operation): (usize, &'m Operation),
        depth: usize,
    ) {
        let call = self.functions.len();
        self.functions.push(called);
        let Some(block) = called.block() else { return };
        for (&value, &given) in block.arguments.iter().zip(&operation.operands) {
            let given = self.known(CallValue { call: from, value: given });
            self.same.insert(CallValue { call, value }, given);
        }
        self.region(module, &called.body, call, depth);
        let Some(last) = block.operations.last() else { return };
        // What a call returns is read where it is.
        if self.operations.last().is_some_and(|of| std::ptr::eq(of.operation, last)) {
            self.operations.pop();
        }
        for (&value, &made) in operation.results.iter().zip(&last.operands) {
            let made = self.known(CallValue { call, value: made });
            self.same.insert(CallValue { call: from, value }, made);
        }
    }

    /// A value as whoever made it names it.
    fn known(&self, value: CallValue) -> CallValue {
        self.same.get(&value).copied().unwrap_or(value)
    }

    /// The operands of an operation.
    pub(super) fn operands(&self, of: &CallOperation<'m>) -> impl Iterator<Item = CallValue> {
        of.operation.operands.iter().map(|&value| self.known(CallValue { call: of.call, value }))
    }

    /// The first result of an operation.
    pub(super) fn result(&self, of: &CallOperation<'m>) -> Option<CallValue> {
        of.operation.results.first().map(|&value| CallValue { call: of.call, value })
    }

    /// The arrays that are its results.
    pub(super) fn results(&self, of: &CallOperation<'m>) -> Vec<(Array, CallValue)> {
        let result = |&value: &Value| {
            Some((Array::of(of.function, value)?, CallValue { call: of.call, value }))
        };
        of.operation.results.iter().filter_map(result).collect()
    }

    /// The operation that makes a value; `None` for a parameter of the program.
    pub(super) fn maker(&self, value: CallValue) -> Option<CallOperation<'m>> {
        let makers = self.makers.get_or_init(|| {
            let mut makers = HashMap::new();
            for of in &self.operations {
                let results = of.operation.results.iter();
                makers.extend(results.map(|&value| (CallValue { call: of.call, value }, of.at)));
            }
            makers
        });
        makers.get(&value).map(|&at| self.operations[at])
    }

    /// The array that a value is.
    pub(super) fn array(&self, value: CallValue) -> Option<Array> {
        Array::of(self.functions.get(value.call)?, value.value)
    }

    /// Whether a value is a parameter of the program.
    pub(super) fn is_given(&self, value: CallValue) -> bool {
        let entry = self.functions.first().and_then(|entry| entry.block());
        value.call == 0 && entry.is_some_and(|block| block.arguments.contains(&value.value))
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
            let mut readers: HashMap<CallValue, usize> = HashMap::new();
            for operand in self.operations.iter().flat_map(|of| self.operands(of)) {
                *readers.entry(operand).or_default() += 1;
            }
            let mut ends: HashMap<CallValue, usize> = HashMap::new();
            for of in self.operations.iter().rev() {
                let until = self
                    .result(of)
                    .filter(|result| {
                        runs_in_its_reader(of.operation) && readers.get(result) == Some(&1)
                    })
                    .and_then(|result| ends.get(&result).copied())
                    .unwrap_or(of.at);
                for operand in self.operands(of) {
                    let end = ends.entry(operand).or_insert(until);
                    *end = until.max(*end);
                }
            }
            ends
        });
        ends.get(&value).copied()
    }

    /// Whether a value becomes a result of the program by operations on elements alone, or joins.
    pub(super) fn ends_as_result(&self, value: CallValue) -> bool {
        self.end(value).is_some_and(|end| end + 1 == self.operations.len())
    }
}

/// Whether an operation works on elements alone.
pub(super) fn is_by_element(operation: &Operation) -> bool {
    matches!(
        Operator::of(operation),
        Operator::Row(row) if row.layout == LayoutRule::LikeOperand
            && row.relayout == Relayout::Nothing
            && operation.regions.is_empty()
    )
}

fn runs_in_its_reader(operation: &Operation) -> bool {
    let joins = |row: &tpu_ops::Entry| matches!(row.relayout, Relayout::Joined | Relayout::Padded);
    is_by_element(operation) || matches!(Operator::of(operation), Operator::Row(row) if joins(row))
}
