//! Operations that apply a computation to elements: reductions, windows, sorting, map.
use super::{FoundValues, applied, arity, axis, called, needed};
use crate::ReadError;
use crate::attributes::{flag, list, number, padding};
use crate::body::{FunctionReader, Scope};
use tpu_proto::xla::{HloInstructionProto, Window, WindowDimension};
use tpu_stablehlo::ir::Attribute;

pub(super) fn read<'a>(
    body: &mut FunctionReader<'_, 'a>,
    scope: &mut Scope<'a>,
    one: &'a HloInstructionProto,
) -> FoundValues {
    match &*one.opcode {
        "reduce" => {
            let operands = pairs(scope, one)?;
            let region = body.region_of(scope, called(one, 0)?, operands)?;
            let attributes = list([("dimensions", Attribute::Integers(one.dimensions.clone()))]);
            applied(body, scope, one, "stablehlo.reduce", attributes, vec![region])
        }
        "reduce-window" => {
            let operands = pairs(scope, one)?;
            let window = unreversed(one)?;
            let attributes = list([
                ("window_dimensions", of(window, |dim| dim.size)),
                ("window_strides", of(window, |dim| dim.stride)),
                ("base_dilations", of(window, |dim| dim.base_dilation)),
                ("window_dilations", of(window, |dim| dim.window_dilation)),
                ("padding", padding(window)),
            ]);
            let region = body.region_of(scope, called(one, 0)?, operands)?;
            applied(body, scope, one, "stablehlo.reduce_window", attributes, vec![region])
        }
        "select-and-scatter" => {
            arity(one, 3)?;
            let window = unreversed(one)?;
            let dilated = |dim: &WindowDimension| dim.base_dilation > 1 || dim.window_dilation > 1;
            if window.dimensions.iter().any(dilated) {
                return Err("a dilated window is not supported".into());
            }
            let attributes = list([
                ("window_dimensions", of(window, |dim| dim.size)),
                ("window_strides", of(window, |dim| dim.stride)),
                ("padding", padding(window)),
            ]);
            let select = body.region_of(scope, called(one, 0)?, 2)?;
            let scatter = body.region_of(scope, called(one, 1)?, 2)?;
            let regions = vec![select, scatter];
            applied(body, scope, one, "stablehlo.select_and_scatter", attributes, regions)
        }
        "sort" => {
            let operands = scope.operands(one)?.len();
            let attributes =
                list([("dimension", number(axis(one)?)), ("is_stable", flag(one.is_stable))]);
            let region = body.region_of(scope, called(one, 0)?, 2 * operands)?;
            applied(body, scope, one, "stablehlo.sort", attributes, vec![region])
        }
        "map" => {
            let operands = scope.operands(one)?;
            let rank = operands
                .first()
                .map_or(Ok(0), |value| body.tensor(*value).map(|of| of.dims.len()))?;
            let dimensions = Attribute::Integers((0_i64..).take(rank).collect());
            let region = body.region_of(scope, called(one, 0)?, operands.len())?;
            let attributes = list([("dimensions", dimensions)]);
            applied(body, scope, one, "stablehlo.map", attributes, vec![region])
        }
        _ => Ok(None),
    }
}

/// The number of operands: as many initial values as arrays.
fn pairs(scope: &Scope<'_>, one: &HloInstructionProto) -> Result<usize, ReadError> {
    match scope.operands(one)?.len() {
        count if count.is_multiple_of(2) && count > 0 => Ok(count),
        count => Err(format!("{count} operands, it takes an even number").into()),
    }
}

fn unreversed(one: &HloInstructionProto) -> Result<&Window, ReadError> {
    let window = needed(one.window.as_ref(), "window")?;
    match window.dimensions.iter().any(|dim| dim.window_reversal) {
        true => Err("a reversed window is not supported".into()),
        false => Ok(window),
    }
}

fn of(window: &Window, of: fn(&WindowDimension) -> i64) -> Attribute {
    Attribute::Integers(window.dimensions.iter().map(of).collect())
}
