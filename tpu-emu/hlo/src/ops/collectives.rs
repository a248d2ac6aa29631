//! Operations of several devices together.
use super::{FoundValues, applied, axis, called, device_groups, plain, types};
use crate::ReadError;
use crate::attributes::{flag, list, number, rows, word};
use crate::body::{FunctionReader, Scope};
use device_groups::Groups;
use tpu_proto::xla::HloInstructionProto;
use tpu_stablehlo::ir::{Attribute, Attributes, TensorType, Type};

pub(super) fn read<'a>(
    body: &mut FunctionReader<'_, 'a>,
    scope: &mut Scope<'a>,
    one: &'a HloInstructionProto,
) -> FoundValues {
    match &*one.opcode {
        // Without a computation in between, an asynchronous start has done all.
        "all-reduce" | "all-reduce-start" => {
            let region = body.region_of(scope, called(one, 0)?, 2)?;
            let attributes = shared(one)?;
            applied(body, scope, one, "stablehlo.all_reduce", attributes, vec![region])
        }
        "all-reduce-done" => scope.operands(one).map(Some),
        "all-gather" => {
            let mut attributes = shared(one)?;
            attributes.set("all_gather_dim", number(axis(one)?));
            attributes.sort();
            plain(body, scope, one, "stablehlo.all_gather", attributes)
        }
        "reduce-scatter" => {
            let mut attributes = shared(one)?;
            attributes.set("scatter_dimension", number(axis(one)?));
            attributes.sort();
            // StableHLO's takes one array.
            let (operands, types) = (scope.operands(one)?, types(one)?);
            if operands.len() != types.len() {
                let (had, gives) = (operands.len(), types.len());
                return Err(format!("{had} operands for {gives} results").into());
            }
            let mut leaves = Vec::new();
            for (operand, of) in operands.into_iter().zip(types) {
                let region = body.region_of(scope, called(one, 0)?, 2)?;
                let (name, own) = ("stablehlo.reduce_scatter", attributes.clone());
                leaves.extend(body.emit(
                    scope,
                    name,
                    vec![operand],
                    vec![of],
                    own,
                    vec![region],
                )?);
            }
            Ok(Some(leaves))
        }
        "all-to-all" => {
            let groups = device_groups::groups(one)?;
            let [axis] = *one.dimensions else { return exchange(body, scope, one, groups) };
            let Some(size) = groups.size() else {
                return Err("an all-to-all without groups is not supported".into());
            };
            let attributes = list([
                ("channel_id", channel(one)),
                ("replica_groups", groups.attribute()),
                ("split_dimension", number(axis)),
                ("concat_dimension", number(axis)),
                ("split_count", number(size)),
            ]);
            plain(body, scope, one, "stablehlo.all_to_all", attributes)
        }
        "ragged-all-to-all" => {
            let inner = list([
                ("channel_id", channel(one)),
                ("replica_groups", device_groups::groups(one)?.attribute()),
            ]);
            let attributes = list([
                ("call_target_name", Attribute::string("ragged_all_to_all")),
                ("api_version", word("API_VERSION_TYPED_FFI")),
                ("backend_config", Attribute::Dictionary(inner)),
            ]);
            plain(body, scope, one, "stablehlo.custom_call", attributes)
        }
        "collective-permute" => {
            let pairs: Vec<Vec<i64>> =
                one.source_target_pairs.iter().map(|pair| vec![pair.source, pair.target]).collect();
            super::arity(one, 1)?;
            let attributes =
                list([("channel_id", channel(one)), ("source_target_pairs", rows(&pairs, 2))]);
            plain(body, scope, one, "stablehlo.collective_permute", attributes)
        }
        "collective-broadcast" => {
            let attributes = list([
                ("channel_id", channel(one)),
                ("has_dynamic_root", flag(one.has_dynamic_root)),
                ("replica_groups", device_groups::groups(one)?.attribute()),
            ]);
            plain(body, scope, one, "stablehlo.collective_broadcast", attributes)
        }
        _ => Ok(None),
    }
}

/// An all-to-all of arrays instead of parts of one array: each device of a group sends an operand
/// to each, in the order of the group. The operands become the rows of one array.
fn exchange<'a>(
    body: &mut FunctionReader<'_, 'a>,
    scope: &mut Scope<'a>,
    one: &HloInstructionProto,
    groups: Groups,
) -> FoundValues {
    let operands = scope.operands(one)?;
    let of = match operands.first() {
        Some(first) => body.tensor(*first)?.clone(),
        None => return Err("an all-to-all of nothing".into()),
    };
    let count = operands.len();
    let all = i64::try_from(count).map_err(|_| "too many arrays")?;
    if let Some(size) = groups.other_than(all) {
        return Err(format!("an all-to-all of {count} arrays in a group of {size}").into());
    }
    let with_rows = |rows: i64| {
        let dims = std::iter::once(rows).chain(of.dims.iter().copied()).collect();
        Type::Tensor(TensorType::new(of.element, dims))
    };
    let none = Attributes::default;
    let mut sent = Vec::with_capacity(count);
    for operand in operands {
        if *body.tensor(operand)? != of {
            return Err("an all-to-all of arrays of several shapes".into());
        }
        sent.push(body.emit_one(scope, "stablehlo.reshape", &[operand], with_rows(1), none())?);
    }
    let attributes = list([("dimension", number(0))]);
    let joined =
        body.emit_one(scope, "stablehlo.concatenate", &sent, with_rows(all), attributes)?;
    let attributes = list([
        ("channel_id", channel(one)),
        ("replica_groups", groups.attribute()),
        ("split_dimension", number(0)),
        ("concat_dimension", number(0)),
        ("split_count", number(all)),
    ]);
    let received =
        body.emit_one(scope, "stablehlo.all_to_all", &[joined], with_rows(all), attributes)?;
    let mut results = Vec::with_capacity(count);
    for row in 0..all {
        let rest = || of.dims.iter().copied();
        let numbers = |first: i64, rest: &mut dyn Iterator<Item = i64>| {
            Attribute::Integers(std::iter::once(first).chain(rest).collect())
        };
        let attributes = list([
            ("start_indices", numbers(row, &mut rest().map(|_| 0))),
            ("limit_indices", numbers(row + 1, &mut rest())),
            ("strides", numbers(1, &mut rest().map(|_| 1))),
        ]);
        let row = body.emit_one(scope, "stablehlo.slice", &[received], with_rows(1), attributes)?;
        let to = Type::Tensor(of.clone());
        results.push(body.emit_one(scope, "stablehlo.reshape", &[row], to, none())?);
    }
    Ok(Some(results))
}

fn channel(one: &HloInstructionProto) -> Attribute {
    let id = if one.channel_id > 0 { one.channel_id } else { one.all_reduce_id };
    number(id.max(0))
}

fn shared(one: &HloInstructionProto) -> Result<Attributes, ReadError> {
    Ok(list([
        ("channel_id", channel(one)),
        ("replica_groups", device_groups::groups(one)?.attribute()),
        ("use_global_device_ids", flag(one.use_global_device_ids)),
    ]))
}
