//! Operations of several devices together.
use super::{FoundInstruction, number, plain, rows};
use crate::write::computation::Computation;
use crate::write::{WriteResult, region, shapes};
use tpu_proto::xla::{ReplicaGroup, SourceTarget};
use tpu_stablehlo::ir::{Attribute, Attributes, Operation};

pub(super) fn write<'m>(
    into: &mut Computation<'_, 'm>,
    operation: &'m Operation,
) -> FoundInstruction {
    let attributes = &operation.attributes;
    Ok(Some(match &*operation.name {
        "stablehlo.all_reduce" => {
            let called = region::applied(into, operation, 0)?;
            let id = plain(into, operation, "all-reduce")?;
            into.last().called_computation_ids = vec![called];
            shared(into, attributes)?;
            id
        }
        "stablehlo.reduce_scatter" => {
            let called = region::applied(into, operation, 0)?;
            let id = plain(into, operation, "reduce-scatter")?;
            into.last().called_computation_ids = vec![called];
            into.last().dimensions = vec![number(attributes, "scatter_dimension")?];
            shared(into, attributes)?;
            id
        }
        "stablehlo.all_gather" => {
            let id = plain(into, operation, "all-gather")?;
            into.last().dimensions = vec![number(attributes, "all_gather_dim")?];
            shared(into, attributes)?;
            id
        }
        "stablehlo.all_to_all" => all_to_all(into, operation)?,
        "stablehlo.collective_permute" => {
            let id = plain(into, operation, "collective-permute")?;
            let pairs = attributes.get("source_target_pairs").map(|pairs| rows(pairs, 2));
            let pair = |row: Vec<i64>| SourceTarget { source: row[0], target: row[1] };
            into.last().source_target_pairs =
                pairs.unwrap_or_default().into_iter().map(pair).collect();
            into.last().channel_id = attributes.integer("channel_id").unwrap_or(0);
            id
        }
        "stablehlo.collective_broadcast" => {
            if attributes.flag("has_dynamic_root") {
                return Err("a root that is computed".into());
            }
            let id = plain(into, operation, "collective-broadcast")?;
            shared(into, attributes)?;
            id
        }
        _ => return Ok(None),
    }))
}

/// What most collectives say, for the instruction that was added last.
fn shared(into: &mut Computation<'_, '_>, attributes: &Attributes) -> WriteResult<()> {
    let groups = groups(attributes)?;
    let last = into.last();
    last.replica_groups = groups;
    last.channel_id = attributes.integer("channel_id").unwrap_or(0);
    last.use_global_device_ids = attributes.flag("use_global_device_ids");
    Ok(())
}

/// Rows of devices; shorter ones end with -1.
fn groups(attributes: &Attributes) -> WriteResult<Vec<ReplicaGroup>> {
    let all = match attributes.get("replica_groups") {
        Some(Attribute::Elements(elements)) => elements,
        None => return Ok(Vec::new()),
        Some(_) => return Err("groups by the axes of a mesh".into()),
    };
    let width = elements_width(&all.of.dims);
    let of = |row: Vec<i64>| ReplicaGroup {
        replica_ids: row.into_iter().filter(|device| *device >= 0).collect(),
    };
    let all = rows(&Attribute::Elements(all.clone()), width);
    Ok(all.into_iter().map(of).collect())
}

fn elements_width(dims: &[i64]) -> usize {
    dims.last().and_then(|width| usize::try_from(*width).ok()).unwrap_or(1)
}

/// HLO's exchanges parts of one axis. Where they are joined along another one, the axis is taken
/// apart and moved there.
fn all_to_all(into: &mut Computation<'_, '_>, operation: &Operation) -> WriteResult<i64> {
    let attributes = &operation.attributes;
    let ([operand], [_]) = (&operation.operands[..], &operation.results[..]) else {
        return Err("several arrays".into());
    };
    let [split, concat, count] =
        ["split_dimension", "concat_dimension", "split_count"].map(|name| number(attributes, name));
    let (split, concat, count) = (split?, concat?, count?);
    let id = into.value(*operand)?;
    let own = into.shape(id).clone();
    let exchanged = into.push("all-to-all", own.clone(), &[id]);
    into.last().dimensions = vec![split];
    shared(into, attributes)?;
    if split == concat {
        return Ok(exchanged);
    }
    let bad = || "axes that it does not have";
    let [at, to] = [split, concat].map(|axis| usize::try_from(axis).map_err(|_| bad()));
    let (at, to) = (at?, to?);
    let mut dims = own.dimensions.clone();
    if at >= dims.len() || to >= dims.len() || count <= 0 {
        return Err(bad().into());
    }
    dims[at] /= count;
    dims.insert(at, count);
    let apart = into.push("reshape", shapes::resized(&own, dims.clone()), &[exchanged]);
    let mut order: Vec<usize> = (0..dims.len()).filter(|axis| *axis != at).collect();
    order.insert(to, at);
    let turned = order.iter().map(|axis| dims[*axis]).collect();
    let moved = into.push("transpose", shapes::resized(&own, turned), &[apart]);
    into.last().dimensions = order.iter().filter_map(|axis| i64::try_from(*axis).ok()).collect();
    let shape = into.result_shape(operation)?;
    Ok(into.push("reshape", shape, &[moved]))
}
