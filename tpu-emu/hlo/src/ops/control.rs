//! Calls, loops and branches.
use super::{FoundValues, arity, called};
use crate::ReadError;
use crate::attributes::list;
use crate::body::{FunctionReader, Scope};
use tpu_proto::xla::HloInstructionProto;
use tpu_stablehlo::ir::{Attribute, Attributes, Element, Region, TensorType, Type, Value};

pub(super) fn read<'a>(
    body: &mut FunctionReader<'_, 'a>,
    scope: &mut Scope<'a>,
    one: &'a HloInstructionProto,
) -> FoundValues {
    match &*one.opcode {
        "call" | "fusion" => call(body, scope, one).map(Some),
        "while" => repeat(body, scope, one),
        "conditional" => branch(body, scope, one),
        _ => Ok(None),
    }
}

fn call<'a>(
    body: &mut FunctionReader<'_, 'a>,
    scope: &mut Scope<'a>,
    one: &'a HloInstructionProto,
) -> Result<Vec<Value>, ReadError> {
    let index = body.reader.callee(scope.index, called(one, 0)?)?;
    let operands = scope.operands(one)?;
    let (had, wanted) = (body.types(&operands), body.reader.parameter_types(index)?);
    if had != wanted {
        return Err(format!(
            "its {} arguments are not of the types of the {} parameters",
            had.len(),
            wanted.len()
        )
        .into());
    }
    let results = body.reader.result_types(index)?;
    let callee = Attribute::Symbol(body.reader.function(index));
    body.emit(scope, "func.call", operands, results, list([("callee", callee)]), Vec::new())
}

fn repeat<'a>(
    body: &mut FunctionReader<'_, 'a>,
    scope: &mut Scope<'a>,
    one: &'a HloInstructionProto,
) -> FoundValues {
    arity(one, 1)?;
    let operands = scope.operands(one)?;
    let types = body.types(&operands);
    // The body comes first in the message.
    let (again, condition) = (called(one, 0)?, called(one, 1)?);
    let condition = body.region(scope, condition, &types)?;
    let decision = Type::Tensor(TensorType::new(Element::Pred, Vec::new()));
    returns(body, &condition, std::slice::from_ref(&decision), "condition")?;
    let again = body.region(scope, again, &types)?;
    returns(body, &again, &types, "body")?;
    let none = Attributes::default();
    body.emit(scope, "stablehlo.while", operands, types, none, vec![condition, again]).map(Some)
}

fn branch<'a>(
    body: &mut FunctionReader<'_, 'a>,
    scope: &mut Scope<'a>,
    one: &'a HloInstructionProto,
) -> FoundValues {
    let branches = one.called_computation_ids.len();
    arity(one, branches + 1)?;
    let [chosen] = *scope.operand(one, 0)?.leaves else {
        return Err("a tuple chooses the branch".into());
    };
    let types = super::types(one)?;
    let mut regions = Vec::with_capacity(branches);
    for (number, id) in one.called_computation_ids.iter().enumerate() {
        let index = body.reader.callee(scope.index, *id)?;
        let arguments = scope.operand(one, number + 1)?.leaves.to_vec();
        let block = body.block(index, &arguments, "stablehlo.return")?;
        let region = Region { blocks: vec![block] };
        returns(body, &region, &types, "branch")?;
        regions.push(region);
    }
    let name = match (body.tensor(chosen)?.element, branches) {
        (Element::Pred, 2) => "stablehlo.if",
        (Element::S32, 1..) => "stablehlo.case",
        (element, count) => return Err(format!("{element:?} chooses of {count} branches").into()),
    };
    body.emit(scope, name, vec![chosen], types, Attributes::default(), regions).map(Some)
}

/// Fails unless the region gives values of these types.
fn returns(
    body: &FunctionReader<'_, '_>,
    region: &Region,
    types: &[Type],
    what: &str,
) -> Result<(), ReadError> {
    let last = region.blocks.first().and_then(|block| block.operations.last());
    let values = last.map(|last| &*last.operands).unwrap_or_default();
    if body.types(values) == types {
        return Ok(());
    }
    let (had, wanted) = (values.len(), types.len());
    Err(format!("the {had} results of its {what} are not of the {wanted} types wanted").into())
}
