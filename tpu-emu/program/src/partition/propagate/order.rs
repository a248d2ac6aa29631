//! The order in which XLA goes through the operations of a block.
use std::collections::HashMap;
use tpu_stablehlo::ir::{Block, Operation, Value};

const NOBODY: u32 = u32::MAX;

/// Finds the order of blocks.
pub(super) struct OperationOrder {
    /// Which operation of the block makes each value.
    makers: Vec<u32>,
    /// The values that the call gave which gave this one.
    together: HashMap<Value, Vec<Value>>,
}

impl OperationOrder {
    /// For a function of so many values. `together` are values that one call gave: who reads one of
    /// them reads all of them.
    pub(super) fn new(values: usize, together: &[Vec<Value>]) -> Self {
        let each = together.iter().flat_map(|all| all.iter().map(|&value| (value, all.clone())));
        Self { makers: vec![NOBODY; values], together: each.collect() }
    }

    /// The operations of a block from what it gives back, each behind its operands, the first
    /// operand first. What nothing reads comes at the end.
    pub(super) fn of(&mut self, block: &Block) -> Vec<usize> {
        for (at, operation) in (0..).zip(&block.operations) {
            self.note(operation, at);
        }
        let count = block.operations.len();
        let (mut order, mut stack) = (Vec::with_capacity(count), Vec::new());
        let (mut begun, mut done) = (vec![false; count], vec![false; count]);
        for root in count.checked_sub(1).into_iter().chain(0..count) {
            stack.push(root);
            while let Some(&at) = stack.last() {
                if done[at] || std::mem::replace(&mut begun[at], true) {
                    stack.pop();
                    if !std::mem::replace(&mut done[at], true) {
                        order.push(at);
                    }
                    continue;
                }
                let from = stack.len();
                self.read_by(&block.operations[at], &mut |maker| {
                    if !begun[maker] {
                        stack.push(maker);
                    }
                });
                stack[from..].reverse();
            }
        }
        for operation in &block.operations {
            self.note(operation, NOBODY);
        }
        order
    }

    fn note(&mut self, operation: &Operation, maker: u32) {
        for result in &operation.results {
            self.makers[result.0 as usize] = maker;
        }
    }

    /// Tells which operations of the block make what an operation, and the code inside of it, reads.
    fn read_by(&self, operation: &Operation, tell: &mut impl FnMut(usize)) {
        for value in &operation.operands {
            let all = self.together.get(value).map_or(std::slice::from_ref(value), |all| all);
            for value in all {
                let maker = self.makers[value.0 as usize];
                if maker != NOBODY {
                    tell(maker as usize);
                }
            }
        }
        for block in operation.regions.iter().flat_map(|region| &region.blocks) {
            block.operations.iter().for_each(|inner| self.read_by(inner, &mut *tell));
        }
    }
}
