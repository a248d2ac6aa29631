//! Whether a window moves: one that shows the same block at each point of the grid needs one
//! buffer.
use crate::ir::{
    AffineResult, Attribute, Block, DYNAMIC, Function, Module, Op, Operation, Transform, Type,
    Value, Window,
};
use std::collections::HashSet;

/// Whether the block of a window may differ between two points of the grid: whether its place
/// follows from an index that has more than one value, or from a scalar operand.
pub(super) fn moves(module: &Module, window: &Window, grid: &[i64]) -> bool {
    let several = |dim: usize| grid.get(dim).is_none_or(|&bound| bound == DYNAMIC || bound > 1);
    match &window.transform {
        None => false,
        Some(Transform::Map(map)) => {
            map.results.iter().any(|of| matches!(of, AffineResult::Dim(dim) if several(*dim)))
        }
        Some(Transform::Function(name)) => module.function(name).is_none_or(|function| {
            let needed = needed(function);
            let arguments = function.body.arguments.iter().enumerate();
            arguments.filter(|(_, value)| needed[value.0 as usize]).any(|(place, &value)| {
                several(place) || matches!(function.type_of(value), Type::Memref(_))
            })
        }),
    }
}

/// The values from which the results of a function follow.
fn needed(function: &Function) -> Vec<bool> {
    let mut needed = vec![false; function.values.len()];
    let zeros: HashSet<Value> =
        function.body.operations.iter().filter(|of| is_zero(of)).map(|of| of.results[0]).collect();
    let mut operations = function.body.operations.iter().rev();
    if let Some(end) = operations.next() {
        mark(end, &mut needed);
    }
    for operation in operations {
        let nothing = operation.op == Op::ArithMuli
            && operation.operands.iter().any(|operand| zeros.contains(operand));
        if !nothing && operation.results.iter().any(|result| needed[result.0 as usize]) {
            mark(operation, &mut needed);
        }
    }
    needed
}

/// Whether an operation gives the number 0: what is multiplied by it does not count.
fn is_zero(operation: &Operation) -> bool {
    operation.op == Op::ArithConstant
        && operation.results.len() == 1
        && matches!(operation.attributes.get("value"), Some(Attribute::Integer(0, _)))
}

/// Marks what an operation reads, the code inside of it included.
fn mark(operation: &Operation, needed: &mut [bool]) {
    let mut one = |value: &Value| needed[value.0 as usize] = true;
    operation.operands.iter().for_each(&mut one);
    let blocks = operation.regions.iter().filter_map(|region| region.block.as_ref());
    for inner in blocks.flat_map(|block: &Block| &block.operations) {
        mark(inner, needed);
    }
}
