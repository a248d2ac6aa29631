//! Operations that apply a computation to elements: reductions, windows, sorting, map.
use super::{FoundInstruction, number, numbers, plain, window};
use crate::write::computation::Computation;
use crate::write::region;
use tpu_stablehlo::ir::Operation;

pub(super) fn write<'m>(
    into: &mut Computation<'_, 'm>,
    operation: &'m Operation,
) -> FoundInstruction {
    let attributes = &operation.attributes;
    let opcode = match &*operation.name {
        "stablehlo.reduce" => "reduce",
        "stablehlo.map" => "map",
        "stablehlo.sort" => "sort",
        "stablehlo.reduce_window" => "reduce-window",
        "stablehlo.select_and_scatter" => "select-and-scatter",
        _ => return Ok(None),
    };
    let mut called = Vec::new();
    for number in 0..operation.regions.len() {
        called.push(region::applied(into, operation, number)?);
    }
    let id = plain(into, operation, opcode)?;
    let last = into.last();
    last.called_computation_ids = called;
    match opcode {
        "reduce" | "map" => last.dimensions = numbers(attributes, "dimensions")?,
        "sort" => {
            last.dimensions = vec![number(attributes, "dimension")?];
            last.is_stable = attributes.flag("is_stable");
        }
        _ => {
            let sizes = numbers(attributes, "window_dimensions")?;
            let names = ["window_strides", "padding", "base_dilations", "window_dilations"];
            last.window = Some(window(attributes, &sizes, names));
        }
    }
    Ok(Some(id))
}
