//! Functions of each element.
use super::{FoundInstruction, plain, word};
use crate::ops::elementwise_opcode;
use crate::write::computation::Computation;
use crate::write::{WriteResult, shapes};
use tpu_stablehlo::ir::{Attribute, Operation};

pub(super) fn write<'m>(
    into: &mut Computation<'_, 'm>,
    operation: &'m Operation,
) -> FoundInstruction {
    let attributes = &operation.attributes;
    match &*operation.name {
        // A decision or a bound of no axes is for all elements.
        "stablehlo.select" => spread(into, operation, "select", [true, false, false]).map(Some),
        "stablehlo.clamp" => spread(into, operation, "clamp", [true, false, true]).map(Some),
        "stablehlo.compare" => {
            let id = plain(into, operation, "compare")?;
            into.last().comparison_direction = word(attributes, "comparison_direction")?.to_owned();
            into.last().comparison_type = attributes.text("compare_type").unwrap_or("").to_owned();
            Ok(Some(id))
        }
        "stablehlo.reduce_precision" => {
            let id = plain(into, operation, "reduce-precision")?;
            let bits = |name| -> WriteResult<i32> {
                let count = super::number(attributes, name)?;
                i32::try_from(count).map_err(|_| format!("{name} of {count}").into())
            };
            let (exponent, mantissa) = (bits("exponent_bits")?, bits("mantissa_bits")?);
            into.last().exponent_bits = exponent;
            into.last().mantissa_bits = mantissa;
            Ok(Some(id))
        }
        "chlo.tan" => plain(into, operation, "tan").map(Some),
        // HLO before 2025 has no opcodes for the other functions of CHLO.
        name if !name.starts_with("chlo.") || name == "chlo.erf" => {
            let Some(opcode) = elementwise_opcode(name) else { return Ok(None) };
            if matches!(attributes.get("result_accuracy"), Some(Attribute::Dictionary(_))) {
                return Err("a result_accuracy".into());
            }
            plain(into, operation, opcode).map(Some)
        }
        _ => Ok(None),
    }
}

/// An instruction whose marked operands, if they are scalars, are spread over the result.
fn spread(
    into: &mut Computation<'_, '_>,
    operation: &Operation,
    opcode: &str,
    scalars: [bool; 3],
) -> WriteResult<i64> {
    let shape = into.result_shape(operation)?;
    let mut operands = into.values_of(&operation.operands)?;
    for (id, may) in operands.iter_mut().zip(scalars) {
        let own = into.shape(*id).clone();
        if may && own.dimensions.is_empty() && !shape.dimensions.is_empty() {
            let wide = shapes::resized(&own, shape.dimensions.clone());
            *id = into.push("broadcast", wide, &[*id]);
        }
    }
    Ok(into.push(opcode, shape, &operands))
}
