//! Operations that move elements.
use super::{FoundValues, arity, axis, needed, only, plain};
use crate::attributes::{list, number, numbers};
use crate::body::{FunctionReader, Scope};
use crate::reader::shape_of;
use crate::shape::{physical_order, tensor};
use tpu_proto::xla::HloInstructionProto;
use tpu_proto::xla::hlo_instruction_proto::SliceDimensions;
use tpu_proto::xla::padding_config::PaddingConfigDimension;
use tpu_stablehlo::ir::{Attribute, Attributes, TensorType, Type, Value};

pub(super) fn read<'a>(
    body: &mut FunctionReader<'_, 'a>,
    scope: &mut Scope<'a>,
    one: &'a HloInstructionProto,
) -> FoundValues {
    match &*one.opcode {
        "broadcast" => {
            arity(one, 1)?;
            let attributes = list([("broadcast_dimensions", numbers(&one.dimensions))]);
            plain(body, scope, one, "stablehlo.broadcast_in_dim", attributes)
        }
        "reshape" => {
            arity(one, 1)?;
            plain(body, scope, one, "stablehlo.reshape", Attributes::default())
        }
        "bitcast" => bitcast(body, scope, one),
        "transpose" => {
            arity(one, 1)?;
            let attributes = list([("permutation", numbers(&one.dimensions))]);
            plain(body, scope, one, "stablehlo.transpose", attributes)
        }
        "reverse" => {
            arity(one, 1)?;
            let attributes = list([("dimensions", numbers(&one.dimensions))]);
            plain(body, scope, one, "stablehlo.reverse", attributes)
        }
        "concatenate" => {
            let attributes = list([("dimension", number(axis(one)?))]);
            plain(body, scope, one, "stablehlo.concatenate", attributes)
        }
        "pad" => {
            arity(one, 2)?;
            let dims = &needed(one.padding_config.as_ref(), "padding")?.dimensions;
            let of = |of: fn(&PaddingConfigDimension) -> i64| {
                Attribute::Integers(dims.iter().map(of).collect())
            };
            let attributes = list([
                ("edge_padding_low", of(|dim| dim.edge_padding_low)),
                ("edge_padding_high", of(|dim| dim.edge_padding_high)),
                ("interior_padding", of(|dim| dim.interior_padding)),
            ]);
            plain(body, scope, one, "stablehlo.pad", attributes)
        }
        "slice" => {
            arity(one, 1)?;
            let dims = &one.slice_dimensions;
            let of = |of: fn(&SliceDimensions) -> i64| {
                Attribute::Integers(dims.iter().map(of).collect())
            };
            let attributes = list([
                ("start_indices", of(|dim| dim.start)),
                ("limit_indices", of(|dim| dim.limit)),
                ("strides", of(|dim| dim.stride)),
            ]);
            plain(body, scope, one, "stablehlo.slice", attributes)
        }
        "dynamic-slice" => {
            let operands = indices(body, scope, one, 1)?;
            let attributes = list([("slice_sizes", numbers(&one.dynamic_slice_sizes))]);
            let of = only(one)?;
            let made =
                body.emit_one(scope, "stablehlo.dynamic_slice", &operands, of, attributes)?;
            Ok(Some(vec![made]))
        }
        "dynamic-update-slice" => {
            let operands = indices(body, scope, one, 2)?;
            let (name, of) = ("stablehlo.dynamic_update_slice", only(one)?);
            Ok(Some(vec![body.emit_one(scope, name, &operands, of, Attributes::default())?]))
        }
        _ => Ok(None),
    }
}

/// The operands with a scalar index for each axis after the first ones. Older programs have one
/// array of all indices.
fn indices<'a>(
    body: &mut FunctionReader<'_, 'a>,
    scope: &mut Scope<'a>,
    one: &HloInstructionProto,
    first: usize,
) -> Result<Vec<Value>, crate::ReadError> {
    let values = scope.operands(one)?;
    let rank = values.first().map_or(Ok(0), |value| body.tensor(*value).map(|of| of.dims.len()))?;
    if let Some(&[all]) = values.get(first..) {
        let of = body.tensor(all)?.clone();
        if let &[count] = &of.dims[..] {
            if usize::try_from(count) != Ok(rank) {
                return Err(format!("{count} indices in an array, it takes {rank}").into());
            }
            let mut scalars = values[..first].to_vec();
            for at in 0..count {
                let item = |dims| Type::Tensor(TensorType { dims, ..of.clone() });
                let numbers = |at: i64| Attribute::Integers([at].into());
                let attributes = list([
                    ("start_indices", numbers(at)),
                    ("limit_indices", numbers(at + 1)),
                    ("strides", numbers(1)),
                ]);
                let (name, none) = ("stablehlo.slice", Attributes::default());
                let piece = body.emit_one(scope, name, &[all], item(vec![1]), attributes)?;
                let (name, to) = ("stablehlo.reshape", item(Vec::new()));
                scalars.push(body.emit_one(scope, name, &[piece], to, none)?);
            }
            return Ok(scalars);
        }
    }
    if values.len() != first + rank {
        return Err(format!("{} operands, it takes {}", values.len(), first + rank).into());
    }
    Ok(values)
}

/// The same bytes with another shape: the axes in the order of the operand's layout are those in
/// the order of the result's.
fn bitcast<'a>(
    body: &mut FunctionReader<'_, 'a>,
    scope: &mut Scope<'a>,
    one: &'a HloInstructionProto,
) -> FoundValues {
    let [mut value] = scope.exactly(one)?;
    let (from, to) = (scope.operand(one, 0)?.shape, shape_of(one)?);
    let (source, target) = (tensor(from)?, tensor(to)?);
    if source.element.bytes() != target.element.bytes() {
        let (source, target) = (source.element, target.element);
        return Err(format!("a bitcast from {source:?} to {target:?}").into());
    }
    only(one)?;
    let (source_order, target_order) = (physical_order(from)?, physical_order(to)?);
    let of = |dims: Vec<i64>, like: &TensorType| TensorType { dims, ..like.clone() };
    let picked = |dims: &[i64], order: &[i64]| -> Vec<i64> {
        order.iter().filter_map(|&axis| dims.get(usize::try_from(axis).ok()?).copied()).collect()
    };
    if !source_order.is_sorted() {
        let physical = of(picked(&source.dims, &source_order), &source);
        value = transpose(body, scope, value, physical, &source_order)?;
    }
    if source.element != target.element {
        let dims = picked(&source.dims, &source_order);
        let of = Type::Tensor(of(dims, &target));
        let none = Attributes::default();
        value = body.emit_one(scope, "stablehlo.bitcast_convert", &[value], of, none)?;
    }
    let physical = picked(&target.dims, &target_order);
    if picked(&source.dims, &source_order) != physical {
        let of = Type::Tensor(of(physical, &target));
        value = body.emit_one(scope, "stablehlo.reshape", &[value], of, Attributes::default())?;
    }
    if !target_order.is_sorted() {
        let mut back: Vec<(i64, i64)> = target_order.iter().copied().zip(0..).collect();
        back.sort_unstable();
        let back: Vec<i64> = back.into_iter().map(|(_, place)| place).collect();
        value = transpose(body, scope, value, target, &back)?;
    }
    Ok(Some(vec![value]))
}

fn transpose<'a>(
    body: &mut FunctionReader<'_, 'a>,
    scope: &mut Scope<'a>,
    value: Value,
    of: TensorType,
    permutation: &[i64],
) -> Result<Value, crate::ReadError> {
    let attributes = list([("permutation", numbers(permutation))]);
    body.emit_one(scope, "stablehlo.transpose", &[value], Type::Tensor(of), attributes)
}
