//! Constants, and operations that move elements.
use super::{FoundInstruction, number, numbers, plain};
use crate::write::computation::Computation;
use crate::write::{WriteResult, literal, memory, shapes};
use tpu_proto::xla::PaddingConfig;
use tpu_proto::xla::hlo_instruction_proto::SliceDimensions;
use tpu_proto::xla::padding_config::PaddingConfigDimension;
use tpu_stablehlo::ir::{Attribute, Operation};

pub(super) fn write<'m>(
    into: &mut Computation<'_, 'm>,
    operation: &'m Operation,
) -> FoundInstruction {
    let attributes = &operation.attributes;
    Ok(Some(match &*operation.name {
        "stablehlo.constant" => constant(into, operation)?,
        "stablehlo.iota" => {
            let id = plain(into, operation, "iota")?;
            into.last().dimensions = vec![number(attributes, "iota_dimension")?];
            id
        }
        "stablehlo.broadcast_in_dim" => broadcast(into, operation)?,
        "stablehlo.reshape" => where_it_was(into, operation, "reshape", 1)?,
        "stablehlo.transpose" => {
            let id = where_it_was(into, operation, "transpose", 1)?;
            into.last().dimensions = numbers(attributes, "permutation")?;
            id
        }
        "stablehlo.reverse" => {
            let id = plain(into, operation, "reverse")?;
            into.last().dimensions = numbers(attributes, "dimensions")?;
            id
        }
        "stablehlo.concatenate" => {
            let id = plain(into, operation, "concatenate")?;
            into.last().dimensions = vec![number(attributes, "dimension")?];
            id
        }
        "stablehlo.pad" => {
            let id = plain(into, operation, "pad")?;
            let [low, high, inner] = ["edge_padding_low", "edge_padding_high", "interior_padding"]
                .map(|name| numbers(attributes, name));
            let (low, high, inner) = (low?, high?, inner?);
            let dimension = |((low, high), inner): ((&i64, &i64), &i64)| PaddingConfigDimension {
                edge_padding_low: *low,
                edge_padding_high: *high,
                interior_padding: *inner,
            };
            let dimensions = low.iter().zip(&high).zip(&inner).map(dimension).collect();
            into.last().padding_config = Some(PaddingConfig { dimensions });
            id
        }
        "stablehlo.slice" => {
            let id = where_it_was(into, operation, "slice", 1)?;
            let [start, limit, stride] =
                ["start_indices", "limit_indices", "strides"].map(|name| numbers(attributes, name));
            let (start, limit, stride) = (start?, limit?, stride?);
            let dimension = |((start, limit), stride): ((&i64, &i64), &i64)| SliceDimensions {
                start: *start,
                limit: *limit,
                stride: *stride,
            };
            into.last().slice_dimensions =
                start.iter().zip(&limit).zip(&stride).map(dimension).collect();
            id
        }
        "stablehlo.dynamic_slice" => {
            let id = where_it_was(into, operation, "dynamic-slice", 1)?;
            into.last().dynamic_slice_sizes = numbers(attributes, "slice_sizes")?;
            id
        }
        "stablehlo.dynamic_update_slice" => {
            where_it_was(into, operation, "dynamic-update-slice", 2)?
        }
        "stablehlo.get_dimension_size" | "stablehlo.set_dimension_size" => {
            let get = operation.name.contains("get");
            let opcode = if get { "get-dimension-size" } else { "set-dimension-size" };
            let id = plain(into, operation, opcode)?;
            into.last().dimensions = vec![number(attributes, "dimension")?];
            id
        }
        _ => return Ok(None),
    }))
}

fn constant(into: &mut Computation<'_, '_>, operation: &Operation) -> WriteResult<i64> {
    let shape = into.result_shape(operation)?;
    let Some(Attribute::Elements(elements)) = operation.attributes.get("value") else {
        return Err("it lacks its value".into());
    };
    let made = literal::of(elements)?;
    let own = made.shape.clone().unwrap_or_default();
    let id = into.push("constant", own, &[]);
    into.last().literal = Some(made);
    Ok(if elements.splat { into.push("broadcast", shape, &[id]) } else { id })
}

/// HLO repeats along whole axes alone: an axis of one element that becomes longer goes first.
fn broadcast(into: &mut Computation<'_, '_>, operation: &Operation) -> WriteResult<i64> {
    let shape = into.result_shape(operation)?;
    let [operand] = operation.operands[..] else { return Err("it takes one operand".into()) };
    let mut id = into.value(operand)?;
    let own = into.shape(id).clone();
    let all = numbers(&operation.attributes, "broadcast_dimensions")?;
    let target = |axis: &i64| usize::try_from(*axis).ok().and_then(|at| shape.dimensions.get(at));
    let kept: Vec<(i64, i64)> = all
        .iter()
        .zip(&own.dimensions)
        .filter(|(axis, size)| target(axis) == Some(*size))
        .map(|(axis, size)| (*axis, *size))
        .collect();
    if kept.len() < own.dimensions.len() {
        let dims = kept.iter().map(|(_, size)| *size).collect();
        id = into.push("reshape", shapes::resized(&own, dims), &[id]);
    }
    let made = into.push("broadcast", shape, &[id]);
    if memory::is_host(&own) {
        into.on_host(made);
    }
    into.last().dimensions = kept.into_iter().map(|(axis, _)| axis).collect();
    Ok(made)
}

/// An instruction whose result lies in the host's memory if one of its first operands does.
fn where_it_was(
    into: &mut Computation<'_, '_>,
    operation: &Operation,
    opcode: &str,
    first: usize,
) -> WriteResult<i64> {
    let id = plain(into, operation, opcode)?;
    let operands = into.values_of(operation.operands.get(..first).unwrap_or_default())?;
    if operands.iter().any(|operand| memory::is_host(into.shape(*operand))) {
        into.on_host(id);
    }
    Ok(id)
}
