//! The factors of an operation of a program: which axes of its arrays belong together.
use tpu_ops::factors::{FactorSite, Factors};
use tpu_ops::{ADD, Operator};
use tpu_stablehlo::ir::{Block, Element, Function, Operation, Value};

/// Extents of an array, where all are known.
pub(crate) fn dims(function: &Function, value: Value) -> Option<&[i64]> {
    let tensor = function.values.get(value.0 as usize)?.tensor()?;
    let plain = tensor.bounds.is_empty() && tensor.quantization.is_none();
    (plain && tensor.dims.iter().all(|&dim| dim >= 0)).then_some(&tensor.dims)
}

/// The factors of an operation of the tables; `None` for one that needs all of its operands.
pub(crate) fn factors_of(function: &Function, operation: &Operation) -> Option<Factors> {
    let entry = Operator::of(operation).row()?;
    let all = |values: &[Value]| {
        values.iter().map(|&value| dims(function, value)).collect::<Option<Vec<_>>>()
    };
    let site = FactorSite {
        attributes: &operation.attributes,
        operands: all(&operation.operands)?,
        results: all(&operation.results)?,
        adds: adds(operation),
    };
    let mut factors = (entry.factors)(&site)?;
    // Numbers of fewer bits do not hold all places.
    let of = |value: &Value| function.type_of(*value).tensor().map(|tensor| tensor.element);
    let wide = [Element::S32, Element::S64, Element::U32, Element::U64];
    if !operation.operands.get(1).and_then(of).is_some_and(|element| wide.contains(&element)) {
        factors.without_lookups();
    }
    Some(factors)
}

/// Whether the code inside of an operation adds two elements.
pub(crate) fn adds(operation: &Operation) -> bool {
    let [region] = &operation.regions[..] else { return false };
    let [Block { arguments, operations }] = &region.blocks[..] else { return false };
    let ([sum, last], &[a, b]) = (&operations[..], &arguments[..]) else { return false };
    let both = sum.operands == [a, b] || sum.operands == [b, a];
    both && last.operands == sum.results
        && Operator::of(sum).row().is_some_and(|row| row.mnemonic == ADD.mnemonic)
}
