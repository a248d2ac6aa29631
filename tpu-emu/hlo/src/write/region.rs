//! Regions as computations.
use super::WriteResult;
use super::computation::Computation;
use std::collections::HashSet;
use tpu_proto::xla::ShapeProto;
use tpu_stablehlo::ir::{Block, Operation, Region, Value};

/// The only block of a region.
pub(super) fn block(operation: &Operation, number: usize) -> WriteResult<&Block> {
    let region = operation.regions.get(number).and_then(|region| region.blocks.first());
    region.ok_or_else(|| format!("region {number} is not there").into())
}

/// What code reads from outside, in the order of reading.
pub(super) fn captured<'r>(regions: impl IntoIterator<Item = &'r Region>) -> Vec<Value> {
    let mut own = HashSet::new();
    let mut read = Vec::new();
    for region in regions {
        visit(region, &mut own, &mut read);
    }
    let mut seen = HashSet::new();
    read.retain(|value| !own.contains(value) && seen.insert(*value));
    read
}

fn visit(region: &Region, own: &mut HashSet<Value>, read: &mut Vec<Value>) {
    for block in &region.blocks {
        own.extend(&block.arguments);
        for operation in &block.operations {
            own.extend(&operation.results);
            read.extend(&operation.operands);
            operation.regions.iter().for_each(|inner| visit(inner, own, read));
        }
    }
}

/// A computation that an operation applies to elements. Constants that it reads from outside are
/// its own.
pub(super) fn applied<'m>(
    outside: &mut Computation<'_, 'm>,
    operation: &'m Operation,
    number: usize,
) -> WriteResult<i64> {
    let block = block(operation, number)?;
    let from_outside = captured(operation.regions.get(number));
    let constants = from_outside
        .into_iter()
        .map(|value| {
            let made = outside.constant(value).cloned();
            made.map(|made| (value, made)).ok_or("it reads an array of outside in its computation")
        })
        .collect::<Result<Vec<_>, _>>()?;
    outside.writer.deeper()?;
    let mut body = Computation::new(outside.writer, outside.function);
    body.parameters(&block.arguments)?;
    for (value, made) in constants {
        let id = body.push("constant", made.shape.clone().unwrap_or_default(), &[]);
        body.last().literal = made.literal;
        body.define(value, id);
    }
    body.operations(&block.operations)?;
    let root = body.root(&block.operations)?;
    body.writer.depth -= 1;
    Ok(body.finish("region", root))
}

/// What a computation gives over one parameter: the parts of a tuple, or the only value.
pub(super) struct Carried<'v> {
    /// The values that the parts are inside.
    pub(super) values: &'v [Value],
    /// The shapes of those values.
    pub(super) shapes: &'v [ShapeProto],
    /// Those that are given on as they are, behind what the code gives.
    pub(super) kept: &'v [Value],
}

/// A computation over one parameter.
pub(super) fn over_one<'m>(
    outside: &mut Computation<'_, 'm>,
    block: &'m Block,
    carried: &Carried<'_>,
    name: &str,
) -> WriteResult<(i64, ShapeProto)> {
    outside.writer.deeper()?;
    let mut body = Computation::new(outside.writer, outside.function);
    match (carried.values, carried.shapes) {
        ([value], [shape]) => {
            let id = body.parameter(0, shape.clone());
            body.define(*value, id);
        }
        (values, shapes) => {
            let all = body.parameter(0, super::shapes::tuple(shapes.to_vec()));
            body.take_apart(values, all)?;
        }
    }
    body.operations(&block.operations)?;
    let mut given = body.values_of(super::results(&block.operations)?)?;
    given.extend(body.values_of(carried.kept)?);
    let root = body.joined(&given);
    let shape = body.shape(root).clone();
    body.writer.depth -= 1;
    Ok((body.finish(name, root), shape))
}
