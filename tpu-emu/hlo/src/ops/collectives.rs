//! Operations of several devices together.
use super::{Found, applied, axis, called, plain, types};
use crate::ReadError;
use crate::attributes::{flag, list, number, rows};
use crate::body::{Body, Scope};
use tpu_proto::xla::{HloInstructionProto, IotaReplicaGroupListProto};
use tpu_stablehlo::ir::{Attribute, Attributes, TensorType, Type};

/// Groups may name so many devices, however briefly they are written.
const MAX_DEVICES: usize = 1 << 20;

pub(super) fn read<'a>(
    body: &mut Body<'_, 'a>,
    scope: &mut Scope<'a>,
    one: &'a HloInstructionProto,
) -> Found {
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
            let groups = groups(one)?;
            let [axis] = *one.dimensions else { return exchange(body, scope, one, &groups) };
            let Some(size) = groups.first().map(Vec::len) else {
                return Err("an all-to-all without groups is not supported".into());
            };
            let size = i64::try_from(size).map_err(|_| "a group is too large")?;
            let attributes = list([
                ("channel_id", channel(one)),
                ("replica_groups", group_rows(&groups)),
                ("split_dimension", number(axis)),
                ("concat_dimension", number(axis)),
                ("split_count", number(size)),
            ]);
            plain(body, scope, one, "stablehlo.all_to_all", attributes)
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
                ("has_dynamic_root", flag(false)),
                ("replica_groups", group_rows(&groups(one)?)),
            ]);
            plain(body, scope, one, "stablehlo.collective_broadcast", attributes)
        }
        _ => Ok(None),
    }
}

/// An all-to-all of arrays instead of parts of one array: each device of a group sends an operand
/// to each, in the order of the group. The operands become the rows of one array.
fn exchange<'a>(
    body: &mut Body<'_, 'a>,
    scope: &mut Scope<'a>,
    one: &HloInstructionProto,
    groups: &[Vec<i64>],
) -> Found {
    let operands = scope.operands(one)?;
    let of = match operands.first() {
        Some(first) => body.tensor(*first)?.clone(),
        None => return Err("an all-to-all of nothing".into()),
    };
    let count = operands.len();
    if let Some(other) = groups.iter().find(|group| group.len() != count) {
        let size = other.len();
        return Err(format!("an all-to-all of {count} arrays in a group of {size}").into());
    }
    let all = i64::try_from(count).map_err(|_| "too many arrays")?;
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
        ("replica_groups", group_rows(groups)),
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
        ("replica_groups", group_rows(&groups(one)?)),
        ("use_global_device_ids", flag(one.use_global_device_ids)),
    ]))
}

fn groups(one: &HloInstructionProto) -> Result<Vec<Vec<i64>>, ReadError> {
    let listed = one.collective_device_list.as_ref();
    if let Some(iota) = listed.and_then(|listed| listed.iota_replica_group_list.as_ref()) {
        return iota_groups(iota);
    }
    let own = listed.map(|listed| &listed.replica_groups).filter(|groups| !groups.is_empty());
    let groups = own.unwrap_or(&one.replica_groups);
    Ok(groups.iter().map(|group| group.replica_ids.clone()).collect())
}

/// Rows of 0, 1, 2, … after reshaping and transposing.
fn iota_groups(iota: &IotaReplicaGroupListProto) -> Result<Vec<Vec<i64>>, ReadError> {
    let size = |of: i64| usize::try_from(of).ok().filter(|size| *size <= MAX_DEVICES);
    let bad = || ReadError::new("groups of devices that do not fit their numbers");
    let width = size(iota.num_devices_per_group).filter(|width| *width > 0).ok_or_else(bad)?;
    let dims: Vec<usize> = iota
        .iota_reshape_dims
        .iter()
        .map(|&dim| size(dim))
        .collect::<Option<_>>()
        .ok_or_else(bad)?;
    let total = dims.iter().try_fold(1_usize, |total, dim| total.checked_mul(*dim));
    let total = total.filter(|total| *total <= MAX_DEVICES).ok_or_else(bad)?;
    let wanted = size(iota.num_replica_groups).and_then(|count| count.checked_mul(width));
    if wanted != Some(total) {
        return Err(bad());
    }
    let mut order: Vec<usize> =
        iota.iota_transpose_perm.iter().filter_map(|&axis| usize::try_from(axis).ok()).collect();
    if order.is_empty() {
        order = (0..dims.len()).collect();
    }
    let mut sorted = order.clone();
    sorted.sort_unstable();
    if !sorted.into_iter().eq(0..dims.len()) {
        return Err(bad());
    }
    let mut strides = vec![1_usize; dims.len()];
    for axis in (1..dims.len()).rev() {
        strides[axis - 1] = strides[axis] * dims[axis];
    }
    let device = |mut place: usize| {
        let mut device = 0;
        for &axis in order.iter().rev() {
            device += place % dims[axis] * strides[axis];
            place /= dims[axis];
        }
        i64::try_from(device).unwrap_or(0)
    };
    let devices: Vec<i64> = (0..total).map(device).collect();
    Ok(devices.chunks(width).map(<[i64]>::to_vec).collect())
}

/// Groups as rows; shorter ones end with -1.
fn group_rows(groups: &[Vec<i64>]) -> Attribute {
    let width = groups.iter().map(Vec::len).max().unwrap_or(0);
    let padded: Vec<Vec<i64>> = groups
        .iter()
        .map(|group| group.iter().copied().chain(std::iter::repeat(-1)).take(width).collect())
        .collect();
    rows(&padded, width)
}

#[cfg(test)]
mod tests {
    use super::iota_groups;
    use tpu_proto::xla::IotaReplicaGroupListProto;

    #[test]
    fn groups_are_rows_of_a_transposed_count() {
        let mut iota = IotaReplicaGroupListProto {
            num_replica_groups: 2,
            num_devices_per_group: 2,
            iota_reshape_dims: vec![2, 2],
            iota_transpose_perm: vec![1, 0],
        };
        assert_eq!(iota_groups(&iota).unwrap(), [[0, 2], [1, 3]]);
        iota.iota_transpose_perm.clear();
        assert_eq!(iota_groups(&iota).unwrap(), [[0, 1], [2, 3]]);
        iota.num_replica_groups = i64::MAX;
        assert!(iota_groups(&iota).is_err());
    }
}
