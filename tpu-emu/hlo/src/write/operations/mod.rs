//! Operations, by family.
mod collectives;
mod contractions;
mod control;
mod custom_call;
mod elementwise;
mod indexing;
mod movement;
mod reductions;

use super::WriteResult;
use super::computation::Computation;
use tpu_proto::xla::{Window, WindowDimension};
use tpu_stablehlo::ir::{Attribute, Attributes, Operation};

/// What a family makes of an operation; `None` for one of another family.
type FoundInstruction = WriteResult<Option<i64>>;
type Family = for<'m> fn(&mut Computation<'_, 'm>, &'m Operation) -> FoundInstruction;

const FAMILIES: &[Family] = &[
    elementwise::write,
    movement::write,
    contractions::write,
    indexing::write,
    reductions::write,
    control::write,
    collectives::write,
    custom_call::write,
];

/// Writes an operation; the instruction that gives its result, or all its results as a tuple.
pub(super) fn write<'m>(
    into: &mut Computation<'_, 'm>,
    operation: &'m Operation,
) -> WriteResult<i64> {
    for family in FAMILIES {
        if let Some(id) = family(into, operation)? {
            return Ok(id);
        }
    }
    Err("it has no counterpart".into())
}

/// One instruction over all operands.
fn plain(into: &mut Computation<'_, '_>, operation: &Operation, opcode: &str) -> WriteResult<i64> {
    let operands = into.values_of(&operation.operands)?;
    let shape = into.result_shape(operation)?;
    Ok(into.push(opcode, shape, &operands))
}

/// A list of integers that the operation must have.
fn numbers(attributes: &Attributes, name: &str) -> WriteResult<Vec<i64>> {
    attributes.integers(name).ok_or_else(|| format!("it lacks its {name}").into())
}

/// A list of integers that may be left out.
fn maybe(attributes: &Attributes, name: &str) -> Vec<i64> {
    attributes.integers(name).unwrap_or_default()
}

/// An integer that the operation must have.
fn number(attributes: &Attributes, name: &str) -> WriteResult<i64> {
    attributes.integer(name).ok_or_else(|| format!("it lacks its {name}").into())
}

/// A word that the operation must have.
fn word<'a>(attributes: &'a Attributes, name: &str) -> WriteResult<&'a str> {
    attributes.text(name).ok_or_else(|| format!("it lacks its {name}").into())
}

/// The rows of a dense array of so many columns.
fn rows(attribute: &Attribute, columns: usize) -> Vec<Vec<i64>> {
    let all = attribute.integers().unwrap_or_default();
    all.chunks_exact(columns.max(1)).map(<[i64]>::to_vec).collect()
}

/// A window over axes of these sizes.
fn window(attributes: &Attributes, sizes: &[i64], names: [&str; 4]) -> Window {
    let [strides, padding, base, dilation] = names;
    let [strides, base, dilation] = [strides, base, dilation].map(|name| maybe(attributes, name));
    let padding = attributes.get(padding).map(|all| rows(all, 2)).unwrap_or_default();
    let reversal = match attributes.get("window_reversal") {
        Some(Attribute::Booleans(all)) => all.clone(),
        _ => Vec::new(),
    };
    let or_one = |all: &[i64], at: usize| all.get(at).copied().unwrap_or(1);
    let dimension = |(at, size): (usize, &i64)| WindowDimension {
        size: *size,
        stride: or_one(&strides, at),
        padding_low: padding.get(at).map_or(0, |row| row[0]),
        padding_high: padding.get(at).map_or(0, |row| row[1]),
        window_dilation: or_one(&dilation, at),
        base_dilation: or_one(&base, at),
        window_reversal: reversal.get(at).copied().unwrap_or(false),
    };
    Window { dimensions: sizes.iter().enumerate().map(dimension).collect() }
}
