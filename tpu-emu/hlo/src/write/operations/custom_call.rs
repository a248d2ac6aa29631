//! Custom calls, and moves between memories.
use super::{FoundInstruction, plain, word};
use crate::write::computation::Computation;
use crate::write::{WriteResult, memory, shapes};
use tpu_proto::xla::{CustomCallApiVersion, OutputOperandAliasing, PrimitiveType, ShapeProto};
use tpu_stablehlo::ir::{Attribute, Operation};

pub(super) fn write<'m>(
    into: &mut Computation<'_, 'm>,
    operation: &'m Operation,
) -> FoundInstruction {
    if operation.name != "stablehlo.custom_call" {
        return Ok(None);
    }
    if let Some(to_host) = memory::is_to_host(operation) {
        let [operand] = operation.operands[..] else { return Err("it takes one operand".into()) };
        let id = into.value(operand)?;
        let moves = memory::is_host(into.shape(id)) != to_host;
        return Ok(Some(if moves { copied(into, id, to_host) } else { id }));
    }
    let attributes = &operation.attributes;
    if !is_empty(attributes.get("called_computations")) {
        return Err("computations that a handler calls".into());
    }
    let id = plain(into, operation, "custom-call")?;
    let target = word(attributes, "call_target_name")?.to_owned();
    let config = match attributes.get("backend_config") {
        None => Vec::new(),
        Some(Attribute::String(bytes)) => bytes.to_vec(),
        Some(config) => config.to_mlir().into_bytes(),
    };
    let version = attributes.text("api_version").unwrap_or("API_VERSION_ORIGINAL");
    let version = CustomCallApiVersion::from_str_name(version).ok_or("its api_version")?;
    let laid_out = laid_out(into, operation)?;
    let aliases = match attributes.get("output_operand_aliases") {
        Some(Attribute::Array(all)) => all.iter().filter_map(alias).collect(),
        _ => Vec::new(),
    };
    into.sharded(operation);
    let last = into.last();
    last.custom_call_target = target;
    last.backend_config = config;
    last.custom_call_api_version = version.into();
    last.custom_call_has_side_effect = attributes.flag("has_side_effect");
    last.output_operand_aliasing = aliases;
    if let Some((operands, result)) = laid_out {
        last.constrain_layout = true;
        last.operand_shapes_with_layout = operands;
        last.shape = Some(result);
    }
    Ok(Some(id))
}

/// Whether an attribute says nothing.
fn is_empty(attribute: Option<&Attribute>) -> bool {
    match attribute {
        None | Some(Attribute::Unit) => true,
        Some(Attribute::Array(items)) => items.is_empty(),
        Some(Attribute::String(bytes)) => bytes.is_empty(),
        _ => false,
    }
}

fn alias(attribute: &Attribute) -> Option<OutputOperandAliasing> {
    let Attribute::OutputAlias(alias) = attribute else { return None };
    Some(OutputOperandAliasing {
        output_shape_index: alias.output.clone(),
        operand_index: alias.operand,
        operand_shape_index: alias.operand_path.clone(),
    })
}

type LaidOut = (Vec<ShapeProto>, ShapeProto);

/// The operands and the result with the layouts that the call asks for.
fn laid_out(into: &Computation<'_, '_>, operation: &Operation) -> WriteResult<Option<LaidOut>> {
    let layouts = |name| match operation.attributes.get(name) {
        Some(Attribute::Array(all)) => Some(all.as_slice()),
        _ => None,
    };
    let (Some(operands), Some(results)) = (layouts("operand_layouts"), layouts("result_layouts"))
    else {
        return Ok(None);
    };
    let with = |(value, layout): (&_, &Attribute)| -> WriteResult<ShapeProto> {
        let mut shape = into.type_shape(*value)?;
        if let (Some(own), Some(order)) = (shape.layout.as_mut(), layout.integers()) {
            own.minor_to_major = order;
        }
        Ok(shape)
    };
    let operands = operation.operands.iter().zip(operands).map(with).collect::<WriteResult<_>>()?;
    let results = operation.results.iter().zip(results).map(with).collect::<WriteResult<_>>()?;
    Ok(Some((operands, shapes::joined(results))))
}

/// An array in the other memory: an asynchronous copy, which begins and is waited for.
pub(super) fn copied(into: &mut Computation<'_, '_>, id: i64, to_host: bool) -> i64 {
    let from = into.shape(id).clone();
    let mut to = from.clone();
    memory::set(&mut to, if to_host { memory::HOST } else { 0 });
    let context = shapes::plain(PrimitiveType::U32, Vec::new(), 0);
    let all = shapes::tuple(vec![to.clone(), from, context]);
    let started = into.push("copy-start", all, &[id]);
    into.push("copy-done", to, &[started])
}
