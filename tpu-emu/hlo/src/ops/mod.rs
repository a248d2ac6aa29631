//! Opcodes, by family.
mod blas;
mod collectives;
mod control;
mod custom_call;
mod device_groups;
mod elementwise;
mod indexing;
mod movement;
mod reductions;
mod structure;
mod transfers;

pub(crate) use elementwise::{elementwise_opcode, is_elementwise};

use crate::ReadError;
use crate::body::{FunctionReader, Scope};
use crate::reader::shape_of;
use crate::shape;
use tpu_proto::xla::HloInstructionProto;
use tpu_stablehlo::ir::{Attributes, Region, Type, Value};

/// What a family makes of an instruction; `None` for one of another family.
type FoundValues = Result<Option<Vec<Value>>, ReadError>;
type Family =
    for<'a> fn(&mut FunctionReader<'_, 'a>, &mut Scope<'a>, &'a HloInstructionProto) -> FoundValues;

const FAMILIES: &[Family] = &[
    elementwise::read,
    structure::read,
    movement::read,
    indexing::read,
    reductions::read,
    blas::read,
    control::read,
    collectives::read,
    transfers::read,
    custom_call::read,
];

/// Reads an instruction; the arrays that it gives.
pub(crate) fn read<'a>(
    body: &mut FunctionReader<'_, 'a>,
    scope: &mut Scope<'a>,
    one: &'a HloInstructionProto,
) -> Result<Vec<Value>, ReadError> {
    for family in FAMILIES {
        if let Some(leaves) = family(body, scope, one)? {
            return Ok(leaves);
        }
    }
    Err(format!("the opcode '{}' is not supported", one.opcode).into())
}

/// An instruction that is one operation on all its operands, with these attributes.
fn plain<'a>(
    body: &mut FunctionReader<'_, 'a>,
    scope: &mut Scope<'a>,
    one: &HloInstructionProto,
    name: &'static str,
    attributes: Attributes,
) -> FoundValues {
    applied(body, scope, one, name, attributes, Vec::new())
}

/// An operation with regions, from one instruction.
fn applied<'a>(
    body: &mut FunctionReader<'_, 'a>,
    scope: &mut Scope<'a>,
    one: &HloInstructionProto,
    name: &'static str,
    attributes: Attributes,
    regions: Vec<Region>,
) -> FoundValues {
    let operands = scope.operands(one)?;
    let types = types(one)?;
    body.emit(scope, name, operands, types, attributes, regions).map(Some)
}

/// The types of all arrays that an instruction gives.
fn types(one: &HloInstructionProto) -> Result<Vec<Type>, ReadError> {
    shape::leaves(shape_of(one)?)
}

/// The type of the one array that an instruction gives.
fn only(one: &HloInstructionProto) -> Result<Type, ReadError> {
    let [of] = <[Type; 1]>::try_from(types(one)?)
        .map_err(|types| format!("it gives {} arrays, not one", types.len()))?;
    Ok(of)
}

/// Fails unless the instruction has so many operands.
fn arity(one: &HloInstructionProto, count: usize) -> Result<(), ReadError> {
    match one.operand_ids.len() {
        had if had == count => Ok(()),
        had => Err(format!("{had} operands, it takes {count}").into()),
    }
}

/// The only entry of a list of axes.
fn axis(one: &HloInstructionProto) -> Result<i64, ReadError> {
    match *one.dimensions {
        [axis] => Ok(axis),
        _ => Err(format!("{} axes, it takes 1", one.dimensions.len()).into()),
    }
}

/// A computation that the instruction applies.
fn called(one: &HloInstructionProto, number: usize) -> Result<i64, ReadError> {
    let ids = &one.called_computation_ids;
    let id = ids.get(number).copied();
    id.ok_or_else(|| format!("computation {number} of the {} it applies", ids.len()).into())
}

/// A part of the message that the instruction needs.
fn needed<'m, T>(part: Option<&'m T>, what: &str) -> Result<&'m T, ReadError> {
    part.ok_or_else(|| format!("it lacks its {what}").into())
}
