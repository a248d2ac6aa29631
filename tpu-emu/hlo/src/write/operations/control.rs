//! Calls, loops and branches, and orders of effects.
use super::{FoundInstruction, plain, word};
use crate::write::computation::Computation;
use crate::write::region::{Carried, block, captured, over_one};
use crate::write::{WriteResult, memory};
use tpu_proto::xla::ShapeProto;
use tpu_stablehlo::ir::Operation;

pub(super) fn write<'m>(
    into: &mut Computation<'_, 'm>,
    operation: &'m Operation,
) -> FoundInstruction {
    Ok(Some(match &*operation.name {
        "func.call" | "stablehlo.composite" => call(into, operation)?,
        "stablehlo.while" => repeat(into, operation)?,
        "stablehlo.if" | "stablehlo.case" => branch(into, operation)?,
        "stablehlo.optimization_barrier" => {
            let operands = into.values_of(&operation.operands)?;
            let whole = into.joined(&operands);
            let shape = into.shape(whole).clone();
            into.push("opt-barrier", shape, &[whole])
        }
        "stablehlo.create_token" | "stablehlo.after_all" => plain(into, operation, "after-all")?,
        "stablehlo.partition_id" => plain(into, operation, "partition-id")?,
        "stablehlo.replica_id" => plain(into, operation, "replica-id")?,
        "stablehlo.tuple" => plain(into, operation, "tuple")?,
        _ => return Ok(None),
    }))
}

fn call(into: &mut Computation<'_, '_>, operation: &Operation) -> WriteResult<i64> {
    let composite = operation.name == "stablehlo.composite";
    let name = if composite { "decomposition" } else { "callee" };
    let callee = word(&operation.attributes, name)?;
    let module = into.writer.module;
    let callee = module.function(callee).ok_or_else(|| format!("there is no @{callee}"))?;
    let called = into.writer.function(callee, &[])?;
    let id = plain(into, operation, "call")?;
    into.last().called_computation_ids = vec![called];
    into.last().is_composite = composite;
    Ok(id)
}

/// A loop carries one value: what it carries in StableHLO, and what its code reads from outside.
fn repeat<'m>(into: &mut Computation<'_, 'm>, operation: &'m Operation) -> WriteResult<i64> {
    let (condition, again) = (block(operation, 0)?, block(operation, 1)?);
    let kept = captured(&operation.regions);
    let mut ids = into.values_of(&operation.operands)?;
    ids.extend(into.values_of(&kept)?);
    let carried = operation.operands.len();
    loop {
        let mut shapes: Vec<ShapeProto> = ids.iter().map(|id| into.shape(*id).clone()).collect();
        let before = into.writer.computations.len();
        let inside = |arguments: &[_]| [arguments, &kept].concat();
        let values = inside(&again.arguments);
        let over = Carried { values: &values, shapes: &shapes, kept: &kept };
        let (body, given) = over_one(into, again, &over, "body")?;
        let given = if shapes.len() == 1 { vec![given] } else { given.tuple_shapes };
        // What a round gives to the host's memory starts there.
        let moves = |(at, (from, to)): (usize, (&ShapeProto, &ShapeProto))| {
            (at < carried && memory::is_host(to) && !memory::is_host(from)).then_some(at)
        };
        let moved: Vec<usize> = shapes.iter().zip(&given).enumerate().filter_map(moves).collect();
        if !moved.is_empty() {
            into.writer.computations.truncate(before);
            into.writer
                .functions
                .retain(|_, id| into.writer.computations.iter().any(|one| one.id == *id));
            for at in moved {
                ids[at] = super::custom_call::copied(into, ids[at], true);
                shapes[at] = into.shape(ids[at]).clone();
            }
            continue;
        }
        let values = inside(&condition.arguments);
        let over = Carried { values: &values, shapes: &shapes, kept: &[] };
        let (condition, _) = over_one(into, condition, &over, "condition")?;
        let whole = into.joined(&ids);
        let shape = into.shape(whole).clone();
        let id = into.push("while", shape, &[whole]);
        into.last().called_computation_ids = vec![body, condition];
        return own_results(into, id, ids.len(), operation);
    }
}

/// What a loop gives, without what it only read.
fn own_results(
    into: &mut Computation<'_, '_>,
    id: i64,
    carried: usize,
    operation: &Operation,
) -> WriteResult<i64> {
    match operation.results.len() {
        1 if carried > 1 => into.part(id, 0),
        _ => Ok(id),
    }
}

/// A branch takes one value: what its code reads from outside.
fn branch<'m>(into: &mut Computation<'_, 'm>, operation: &'m Operation) -> WriteResult<i64> {
    let [chosen] = operation.operands[..] else { return Err("it takes one operand".into()) };
    let mut operands = vec![into.value(chosen)?];
    let mut called = Vec::new();
    for (number, region) in operation.regions.iter().enumerate() {
        let reads = captured([region]);
        let ids = into.values_of(&reads)?;
        let shapes: Vec<ShapeProto> = ids.iter().map(|id| into.shape(*id).clone()).collect();
        let over = Carried { values: &reads, shapes: &shapes, kept: &[] };
        let (computation, _) = over_one(into, block(operation, number)?, &over, "branch")?;
        called.push(computation);
        operands.push(into.joined(&ids));
    }
    let shape = into.result_shape(operation)?;
    let id = into.push("conditional", shape, &operands);
    into.last().called_computation_ids = called;
    into.sharded(operation);
    Ok(id)
}
