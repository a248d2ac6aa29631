//! Constants, tuples, and what changes nothing about values.
use super::{FoundValues, arity, axis, needed, only, plain};
use crate::attributes::{list, number};
use crate::body::{FunctionReader, Scope};
use crate::reader::shape_of;
use crate::{ReadError, literal};
use tpu_proto::xla::{HloInstructionProto, LiteralProto, PrimitiveType, ShapeProto};
use tpu_stablehlo::ir::{Attributes, Value};

pub(super) fn read<'a>(
    body: &mut FunctionReader<'_, 'a>,
    scope: &mut Scope<'a>,
    one: &'a HloInstructionProto,
) -> FoundValues {
    match &*one.opcode {
        "constant" => {
            let literal = needed(one.literal.as_ref(), "literal")?;
            let mut leaves = Vec::new();
            constants(body, scope, literal, shape_of(one)?, &mut leaves)?;
            Ok(Some(leaves))
        }
        "iota" => {
            let attributes = list([("iota_dimension", number(axis(one)?))]);
            plain(body, scope, one, "stablehlo.iota", attributes)
        }
        "tuple" => scope.operands(one).map(Some),
        "get-tuple-element" => {
            arity(one, 1)?;
            Ok(Some(scope.operand(one, 0)?.part(one.tuple_index)?.to_vec()))
        }
        // Layouts, shardings and orders of effects are no part of a value.
        "copy" | "domain" => {
            arity(one, 1)?;
            scope.operands(one).map(Some)
        }
        "add-dependency" => {
            arity(one, 2)?;
            Ok(Some(scope.operand(one, 0)?.leaves.to_vec()))
        }
        "optimization-barrier" | "opt-barrier" => {
            plain(body, scope, one, "stablehlo.optimization_barrier", Attributes::default())
        }
        "after-all" => {
            let name = match one.operand_ids.len() {
                0 => "stablehlo.create_token",
                _ => "stablehlo.after_all",
            };
            plain(body, scope, one, name, Attributes::default())
        }
        "partition-id" => plain(body, scope, one, "stablehlo.partition_id", Attributes::default()),
        "replica-id" => plain(body, scope, one, "stablehlo.replica_id", Attributes::default()),
        "get-dimension-size" | "set-dimension-size" => {
            let get = one.opcode.starts_with("get");
            arity(one, if get { 1 } else { 2 })?;
            let name = match get {
                true => "stablehlo.get_dimension_size",
                false => "stablehlo.set_dimension_size",
            };
            only(one)?;
            plain(body, scope, one, name, list([("dimension", number(axis(one)?))]))
        }
        _ => Ok(None),
    }
}

fn constants<'a>(
    body: &mut FunctionReader<'_, 'a>,
    scope: &mut Scope<'a>,
    literal: &LiteralProto,
    shape: &ShapeProto,
    into: &mut Vec<Value>,
) -> Result<(), ReadError> {
    if shape.element_type() != PrimitiveType::Tuple {
        let elements = literal::elements(literal, shape)?;
        into.push(body.constant(scope, elements)?);
        return Ok(());
    }
    let (had, wanted) = (literal.tuple_literals.len(), shape.tuple_shapes.len());
    if had != wanted {
        return Err(format!("a literal of {had} parts for a tuple of {wanted}").into());
    }
    let parts = literal.tuple_literals.iter().zip(&shape.tuple_shapes);
    parts.into_iter().try_for_each(|(part, shape)| constants(body, scope, part, shape, into))
}
