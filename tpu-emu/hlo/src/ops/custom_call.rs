//! Custom calls.
use super::{FoundValues, plain};
use crate::ReadError;
use crate::attributes::{flag, list, word};
use crate::body::{FunctionReader, Scope};
use crate::reader::shape_of;
use crate::shape::{at_path, count};
use crate::{entry, sharding};
use tpu_proto::xla::{CustomCallApiVersion, HloInstructionProto, PrimitiveType, ShapeProto};
use tpu_stablehlo::ir::{Attribute, OutputAlias};

pub(super) fn read<'a>(
    body: &mut FunctionReader<'_, 'a>,
    scope: &mut Scope<'a>,
    one: &'a HloInstructionProto,
) -> FoundValues {
    if one.opcode != "custom-call" {
        return Ok(None);
    }
    let version = match one.custom_call_api_version() {
        // Messages from before there were versions do not say one.
        CustomCallApiVersion::ApiVersionUnspecified => CustomCallApiVersion::ApiVersionOriginal,
        version => version,
    };
    let mut attributes = list([
        ("call_target_name", Attribute::string(&one.custom_call_target)),
        ("api_version", word(version.as_str_name())),
        ("has_side_effect", flag(one.custom_call_has_side_effect)),
    ]);
    if !one.backend_config.is_empty() {
        attributes.set("backend_config", backend_config(one, version)?);
    }
    let mut called = Vec::new();
    for id in &one.called_computation_ids {
        let index = body.reader.callee(scope.index, *id)?;
        called.push(Attribute::Symbol(body.reader.function(index)));
    }
    if !called.is_empty() {
        attributes.set("called_computations", Attribute::Array(called));
    }
    if one.constrain_layout {
        let mut operands = Vec::new();
        one.operand_shapes_with_layout.iter().for_each(|shape| layouts(shape, &mut operands));
        let mut results = Vec::new();
        layouts(shape_of(one)?, &mut results);
        attributes.set("operand_layouts", Attribute::Array(operands));
        attributes.set("result_layouts", Attribute::Array(results));
        attributes.0.retain(|(_, value)| *value != Attribute::Array(Vec::new()));
    }
    let aliases = aliases(scope, one)?;
    if !aliases.is_empty() {
        attributes.set("output_operand_aliases", Attribute::Array(aliases));
    }
    if let Some(own) = &one.sharding {
        attributes.set("mhlo.sharding", Attribute::string(&sharding::text(own)));
    }
    entry::frontend(one.frontend_attributes.as_ref(), &mut attributes);
    attributes.sort();
    plain(body, scope, one, "stablehlo.custom_call", attributes)
}

/// A handler of the typed interface takes a dictionary, which is MLIR text here.
fn backend_config(
    one: &HloInstructionProto,
    version: CustomCallApiVersion,
) -> Result<Attribute, ReadError> {
    if version != CustomCallApiVersion::ApiVersionTypedFfi {
        return Ok(Attribute::String((*one.backend_config).into()));
    }
    let text = std::str::from_utf8(&one.backend_config)
        .map_err(|_| "a backend_config that is not UTF-8")?;
    match tpu_stablehlo::text::attribute(text) {
        Ok(dictionary @ Attribute::Dictionary(_)) => Ok(dictionary),
        Ok(_) => Err("a backend_config that is no dictionary".into()),
        Err(error) => Err(format!("the backend_config: {error}").into()),
    }
}

/// The layout of each array, minor axes first.
fn layouts(shape: &ShapeProto, into: &mut Vec<Attribute>) {
    if shape.element_type() == PrimitiveType::Tuple {
        return shape.tuple_shapes.iter().for_each(|part| layouts(part, into));
    }
    let layout = shape.layout.as_ref().map(|layout| layout.minor_to_major.clone());
    into.push(Attribute::Integers(layout.unwrap_or_default()));
}

/// Results and operands that share memory, by their numbers among all arrays.
fn aliases(scope: &Scope<'_>, one: &HloInstructionProto) -> Result<Vec<Attribute>, ReadError> {
    let mut aliases = Vec::new();
    let results = count(shape_of(one)?);
    for alias in &one.output_operand_aliasing {
        let (result, _) = at_path(shape_of(one)?, &alias.output_shape_index)?;
        let before = usize::try_from(alias.operand_index).ok();
        let before = before.filter(|before| *before < one.operand_ids.len());
        let before =
            before.ok_or_else(|| format!("the alias of operand {}", alias.operand_index))?;
        let mut operand = 0;
        for number in 0..before {
            operand += scope.operand(one, number)?.leaves.len();
        }
        operand += at_path(scope.operand(one, before)?.shape, &alias.operand_shape_index)?.0;
        let place = |at: usize| i64::try_from(at).map_err(|_| "too many operands");
        aliases.push(Attribute::OutputAlias(OutputAlias {
            output: if results == 1 { Vec::new() } else { vec![place(result)?] },
            operand: place(operand)?,
            operand_path: Vec::new(),
        }));
    }
    Ok(aliases)
}
