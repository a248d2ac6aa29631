//! Sums over devices that wait, so that many are made at once (docs/decisions/0104).
use super::emit::Emitter;
use std::collections::HashSet;
use tpu_ops::{ALL_REDUCE, CUSTOM_CALL, DeviceDependence, Entry, Operator, ShardingRule};
use tpu_stablehlo::ir::{Block, Element, Function, LocationId, Operation, TensorType, Value};

/// Sums over the devices along some axes that are made at once.
#[derive(Debug)]
pub(super) struct PendingSums {
    /// What the values that wait for it are known by.
    number: usize,
    axes: Vec<u8>,
    element: Option<Element>,
    sums: Vec<Sum>,
    /// What reads nothing but sums, behind which it is written.
    behind: Vec<Operation>,
    location: LocationId,
}

/// A summand and its sum.
#[derive(Debug)]
struct Sum {
    of: Value,
    sum: Value,
    /// Whether nothing reads the sum but one operation that moves its elements.
    moves: bool,
}

/// The row of an operation that only moves all elements of its operand.
fn moving(operation: &Operation) -> bool {
    let row = Operator::of(operation).row();
    row.is_some_and(|row| matches!(row.sharding, ShardingRule::Permuted | ShardingRule::Reshaped))
}

/// The values of a function that one operation reads, which moves their elements.
pub(super) fn moved_once(function: &Function) -> HashSet<Value> {
    fn note(block: &Block, read: &mut HashSet<Value>, moved: &mut HashSet<Value>) {
        for operation in &block.operations {
            for &operand in &operation.operands {
                if !read.insert(operand) {
                    moved.remove(&operand);
                } else if moving(operation) {
                    moved.insert(operand);
                }
            }
            let inside = operation.regions.iter().flat_map(|region| &region.blocks);
            inside.for_each(|block| note(block, read, moved));
        }
    }
    let (mut read, mut moved) = (HashSet::new(), HashSet::new());
    function.block().into_iter().for_each(|block| note(block, &mut read, &mut moved));
    moved
}

impl Emitter<'_> {
    /// Notes a sum over the devices along some axes, which is made together with others when
    /// something reads the first of them that cannot wait; `result` is what it stands for.
    pub(super) fn later(&mut self, of: Value, axes: Vec<u8>, result: Value) -> Value {
        self.sum_before(&[of]);
        let made = self.written(of).clone();
        let element = made.tensor().map(|tensor| tensor.element);
        let sum = self.value(made);
        let one = Sum { of, sum, moves: self.moved_once.contains(&result) };
        let known = self.pending.iter().position(|one| one.axes == axes && one.element == element);
        let at = known.unwrap_or_else(|| {
            self.groups_of_sums += 1;
            self.pending.push(PendingSums {
                number: self.groups_of_sums,
                axes,
                element,
                sums: Vec::new(),
                behind: Vec::new(),
                location: self.location,
            });
            self.pending.len() - 1
        });
        self.waiting.insert(sum, self.pending[at].number);
        self.pending[at].sums.push(one);
        sum
    }

    /// Writes an operation now, unless it can wait for sums that are made later.
    pub(super) fn write_or_wait(&mut self, mut operation: Operation) {
        let Some(at) = self.waits_for(&operation) else {
            self.sum_before(&operation.operands);
            self.out.push(operation);
            return;
        };
        let number = self.pending[at].number;
        let alone = |one: &Sum| one.moves && operation.operands[..] == [one.sum];
        let place = self.pending[at].sums.iter().rposition(alone).filter(|_| moving(&operation));
        if let (Some(place), &[sum]) = (place, &operation.results[..]) {
            // The elements may as well be moved before they are summed.
            let of = self.value(self.written(sum).clone());
            let moved = Sum { of, sum, moves: false };
            let before = std::mem::replace(&mut self.pending[at].sums[place], moved);
            self.waiting.remove(&before.sum);
            self.waiting.insert(sum, number);
            operation.operands = vec![before.of];
            operation.results = vec![of];
            self.out.push(operation);
            return;
        }
        for &result in &operation.results {
            self.waiting.insert(result, number);
        }
        self.pending[at].behind.push(operation);
    }

    /// Which sums an operation waits for that needs nothing else but scalars.
    fn waits_for(&self, operation: &Operation) -> Option<usize> {
        let mut numbers = operation.operands.iter().filter_map(|value| self.waiting.get(value));
        let number = *numbers.next()?;
        let scalar =
            |value: &Value| self.written(*value).tensor().is_some_and(|of| of.dims.is_empty());
        let waits =
            |value: &Value| self.waiting.get(value).map_or(scalar(value), |&one| one == number);
        let alike = |row: &&Entry| {
            row.devices == DeviceDependence::Alike
                && (operation.regions.is_empty() || row.sharding == ShardingRule::Reduced)
        };
        let may = operation.name != CUSTOM_CALL
            && operation.results.len() == 1
            && Operator::of(operation).row().filter(alike).is_some();
        if !may || !operation.operands.iter().all(waits) {
            return None;
        }
        self.pending.iter().position(|one| one.number == number)
    }

    /// Makes the sums that are read.
    pub(super) fn sum_before(&mut self, operands: &[Value]) {
        for value in operands {
            let Some(&number) = self.waiting.get(value) else { continue };
            if let Some(at) = self.pending.iter().position(|one| one.number == number) {
                let sums = self.pending.remove(at);
                self.sum(sums);
            }
        }
    }

    /// Makes all sums of the block that is written.
    pub(super) fn sum_all(&mut self) {
        while !self.pending.is_empty() {
            let sums = self.pending.remove(0);
            self.sum(sums);
        }
    }

    fn sum(&mut self, PendingSums { axes, element, sums, behind, location, .. }: PendingSums) {
        let here = std::mem::replace(&mut self.location, location);
        let all = sums.iter().map(|one| one.sum);
        let all = all.chain(behind.iter().flat_map(|one| one.results.iter().copied()));
        all.for_each(|value| {
            self.waiting.remove(&value);
        });
        let (operands, results) = sums.into_iter().map(|one| (one.of, one.sum)).unzip();
        let scalar = TensorType::new(element.unwrap_or(Element::F32), Vec::new());
        let attributes = self.groups_along(&axes);
        let code = vec![self.sum_of_two(scalar)];
        self.exchanged_as(&ALL_REDUCE, operands, results, (attributes, code));
        self.location = here;
        self.out.extend(behind);
    }
}
