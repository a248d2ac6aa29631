//! Transfers between devices, to the host and between memories.
use super::{FoundValues, arity, plain, types};
use crate::ReadError;
use crate::attributes::{flag, list, number, rows};
use crate::body::{FunctionReader, Scope};
use tpu_proto::xla::HloInstructionProto;
use tpu_stablehlo::ir::{Attribute, Attributes, Type};

pub(super) fn read<'a>(
    body: &mut FunctionReader<'_, 'a>,
    scope: &mut Scope<'a>,
    one: &'a HloInstructionProto,
) -> FoundValues {
    match &*one.opcode {
        "infeed" => {
            arity(one, 1)?;
            let attributes = list([("infeed_config", config(&one.infeed_config))]);
            plain(body, scope, one, "stablehlo.infeed", attributes)
        }
        "outfeed" => {
            let attributes = list([("outfeed_config", config(&one.outfeed_config))]);
            plain(body, scope, one, "stablehlo.outfeed", attributes)
        }
        // What starts a transfer gives the data (a recv), a number, and the token.
        "send" => {
            let data = scope.operand(one, 0)?.leaves.to_vec();
            let (operands, attributes) = (scope.operands(one)?, channel(one, 2)?);
            let sent = body.emit(
                scope,
                "stablehlo.send",
                operands,
                vec![Type::Token],
                attributes,
                vec![],
            )?;
            let context = body.context(scope)?;
            Ok(Some(data.into_iter().chain([context]).chain(sent).collect()))
        }
        "recv" => {
            let mut of = types(one)?;
            if of.len() < 2 {
                return Err(format!("it gives {} arrays, not 3", of.len()).into());
            }
            let number = of.len() - 2;
            of.remove(number);
            let (operands, attributes) = (scope.operands(one)?, channel(one, 3)?);
            let mut leaves =
                body.emit(scope, "stablehlo.recv", operands, of, attributes, Vec::new())?;
            leaves.insert(number, body.context(scope)?);
            Ok(Some(leaves))
        }
        "send-done" => {
            arity(one, 1)?;
            let leaves = &scope.operand(one, 0)?.leaves;
            Ok(Some(leaves.last().copied().into_iter().collect()))
        }
        "recv-done" => {
            arity(one, 1)?;
            let mut leaves = scope.operand(one, 0)?.leaves.to_vec();
            if leaves.len() < 2 {
                return Err("its operand is no recv".into());
            }
            leaves.remove(leaves.len() - 2);
            Ok(Some(leaves))
        }
        // A copy gives itself, its source and a number.
        "copy-start" => {
            let [source] = scope.exactly(one)?;
            Ok(Some(vec![source, source, body.context(scope)?]))
        }
        "copy-done" => {
            arity(one, 1)?;
            let leaves = &scope.operand(one, 0)?.leaves;
            Ok(Some(leaves.first().copied().into_iter().collect()))
        }
        _ => Ok(None),
    }
}

/// A configuration; an empty one is left out by [`Attributes`] readers, so it stays a string.
fn config(bytes: &[u8]) -> Attribute {
    Attribute::String(bytes.into())
}

/// The channel of a transfer; one with the host is of the kind `host`.
fn channel(one: &HloInstructionProto, host: i64) -> Result<Attributes, ReadError> {
    let pairs: Vec<Vec<i64>> =
        one.source_target_pairs.iter().map(|pair| vec![pair.source, pair.target]).collect();
    let pairs = match pairs.is_empty() {
        true => Attribute::Integers(Vec::new()),
        false => rows(&pairs, 2),
    };
    Ok(list([
        ("channel_id", number(one.channel_id.max(0))),
        ("channel_type", number(if one.is_host_transfer { host } else { 1 })),
        ("is_host_transfer", flag(one.is_host_transfer)),
        ("source_target_pairs", pairs),
    ]))
}
