//! Summands of devices: made of an array, and summed up.
use super::code::{PerDevice, Values, extent, list, only_first, plain, region, zeros};
use std::collections::HashMap;
use tpu_base::error::{Error, Result};
use tpu_stablehlo::ir::{
    Attribute, Attributes, AxisRef, Element, MeshAxes, Operation, TensorSharding, TensorType, Type,
    Value,
};

/// Axes of each dimension of an array.
pub(super) type Axes = Vec<Vec<AxisRef>>;

/// The sum over `axes` of an array of which each device has its summand.
pub(super) fn summed(
    here: &PerDevice<'_>,
    values: &mut Values,
    (value, axes): (Value, &[AxisRef]),
    split: &Axes,
    into: &mut Vec<Operation>,
) -> Result<Value> {
    let whole = values.tensor(value)?.clone();
    let (split, part) = divided(here, &whole, split)?;
    let at = here.location;
    let scalar = Type::Tensor(TensorType::new(whole.element, Vec::new()));
    let [left, right] = [values.add(scalar.clone()), values.add(scalar.clone())];
    let mut body = Vec::new();
    let add = if whole.element == Element::Pred { "stablehlo.or" } else { "stablehlo.add" };
    let sum = values.emit((add, at), vec![left, right], Attributes::default(), scalar, &mut body);
    body.push(plain(("stablehlo.return", at), vec![sum], Vec::new()));
    let groups = MeshAxes { mesh: here.mesh.0.clone(), axes: axes.to_vec() };
    let attributes = list([
        ("channel_id", Attribute::Integer(1, Element::S64)),
        ("replica_groups", Attribute::MeshAxes(groups)),
        ("use_global_device_ids", Attribute::Bool(true)),
    ]);
    let parameter = values.add(Type::Tensor(part.clone()));
    let made = values.add(Type::Tensor(part));
    let reduce = Operation {
        attributes,
        regions: vec![region(vec![left, right], body)],
        ..plain(("stablehlo.all_reduce", at), vec![parameter], vec![made])
    };
    let code = (vec![parameter], vec![reduce], made);
    Ok(here.run(values, &[(value, split.clone())], code, (whole, &split), into))
}

/// An array of which the first device along `axes` has all, and the others zeros.
pub(super) fn first(
    here: &PerDevice<'_>,
    values: &mut Values,
    (value, axes): (Value, &[AxisRef]),
    split: &Axes,
    into: &mut Vec<Operation>,
) -> Result<Value> {
    let whole = values.tensor(value)?.clone();
    let (split, part) = divided(here, &whole, split)?;
    let at = here.location;
    let count = usize::try_from(extent(here.mesh.1, axes)?).unwrap_or(0);
    let bools = |dims: Vec<i64>| Type::Tensor(TensorType::new(Element::Pred, dims));
    let long = i64::try_from(count).unwrap_or(i64::MAX);
    let constant = ("stablehlo.constant", at);
    let table = values.emit(constant, Vec::new(), only_first(count), bools(vec![long]), into);
    let [parameter, row] = [values.add(Type::Tensor(part.clone())), values.add(bools(vec![1]))];
    let (mut body, none) = (Vec::new(), Attributes::default);
    let flag =
        values.emit(("stablehlo.reshape", at), vec![row], none(), bools(Vec::new()), &mut body);
    let nothing = zeros(&part)?;
    let zero = values.emit(constant, Vec::new(), nothing, Type::Tensor(part.clone()), &mut body);
    let of = Type::Tensor(part);
    let chosen = vec![flag, parameter, zero];
    let made = values.emit(("stablehlo.select", at), chosen, none(), of, &mut body);
    let operands = [(value, split.clone()), (table, vec![axes.to_vec()])];
    let code = (vec![parameter, row], body, made);
    Ok(here.run(values, &operands, code, (whole, &split), into))
}

/// What is known of the operands of an operation.
pub(super) struct Sources<'a> {
    /// How values are split, where the program says it.
    pub(super) stated: &'a HashMap<Value, TensorSharding>,
    /// Constants, products and reductions, by their result.
    pub(super) made_by: &'a HashMap<Value, Operation>,
}

/// The summands of a product or of a sum of elements: each device along `axes` has its part of
/// what is summed up. `None` for other operations, and where the parts would not be alike.
pub(super) fn summands(
    here: &PerDevice<'_>,
    values: &mut Values,
    operation: &Operation,
    (axes, split): (&[AxisRef], &Axes),
    sources: &Sources<'_>,
    into: &mut Vec<Operation>,
) -> Result<Option<Value>> {
    let &[result] = &operation.results[..] else { return Ok(None) };
    let whole = values.tensor(result)?.clone();
    let none = vec![Vec::new(); whole.dims.len()];
    let split = if split.len() == none.len() { split } else { &none };
    let mut ins: Vec<Axes> = Vec::new();
    for &operand in &operation.operands {
        ins.push(vec![Vec::new(); values.tensor(operand)?.dims.len()]);
    }
    let summed: Vec<Vec<(usize, usize)>> = match (&*operation.name, &ins[..]) {
        ("stablehlo.dot_general", [lhs, rhs]) => {
            let axes_of = |name: &str| indices(operation, name);
            let sides = [lhs.len(), rhs.len()];
            let sums =
                ["lhs", "rhs"].map(|side| axes_of(&format!("{side}_contracting_dimensions")));
            let batch = ["lhs", "rhs"].map(|side| axes_of(&format!("{side}_batching_dimensions")));
            let mut kept = Vec::new();
            kept.extend(batch[0].iter().zip(&batch[1]).map(|(&l, &r)| vec![(0, l), (1, r)]));
            for side in [0, 1] {
                let free = (0..sides[side])
                    .filter(|axis| !sums[side].contains(axis) && !batch[side].contains(axis));
                kept.extend(free.map(|axis| vec![(side, axis)]));
            }
            // What the product keeps is split as its result.
            for (places, axes) in kept.iter().zip(split) {
                places.iter().for_each(|&(side, axis)| ins[side][axis].clone_from(axes));
            }
            sums[0].iter().zip(&sums[1]).map(|(&l, &r)| vec![(0, l), (1, r)]).collect()
        }
        ("stablehlo.reduce", [from, initial])
            if initial.is_empty() && is_sum(operation, sources) =>
        {
            let gone = indices(operation, "dimensions");
            let kept = (0..from.len()).filter(|axis| !gone.contains(axis));
            let kept: Vec<usize> = kept.collect();
            for (&axis, axes) in kept.iter().zip(split) {
                ins[0][axis].clone_from(axes);
            }
            gone.into_iter().map(|axis| vec![(0, axis)]).collect()
        }
        _ => return Ok(None),
    };
    for axis in axes {
        let is_there = |&(side, dim): &(usize, usize)| {
            let stated = sources.stated.get(&operation.operands[side]);
            stated
                .and_then(|stated| stated.dimensions.get(dim))
                .is_some_and(|dimension| dimension.axes.contains(axis))
        };
        let place = summed.iter().position(|places| places.iter().any(is_there));
        let Some(places) = summed.get(place.unwrap_or(0)) else { return Ok(None) };
        places.iter().for_each(|&(side, dim)| ins[side][dim].push(axis.clone()));
    }
    let (mut operands, mut parameters) = (Vec::new(), Vec::new());
    for (&operand, split) in operation.operands.iter().zip(ins) {
        let Some(part) = here.part(values.tensor(operand)?, &split)? else { return Ok(None) };
        parameters.push(values.add(Type::Tensor(part)));
        operands.push((operand, split));
    }
    let Some(part) = here.part(&whole, split)? else { return Ok(None) };
    let made = values.add(Type::Tensor(part));
    let body =
        vec![Operation { operands: parameters.clone(), results: vec![made], ..operation.clone() }];
    Ok(Some(here.run(values, &operands, (parameters, body, made), (whole, split), into)))
}

/// Whether a reduction adds elements, from zero on.
fn is_sum(operation: &Operation, sources: &Sources<'_>) -> bool {
    let initial = operation.operands.get(1).and_then(|value| sources.made_by.get(value));
    let zero = initial.is_some_and(|made| match made.attributes.get("value") {
        Some(Attribute::Elements(elements)) => elements.data.iter().all(|&byte| byte == 0),
        _ => false,
    });
    let mut inside = operation.regions.iter().flat_map(|region| &region.blocks);
    let adds = inside.all(|block| match &block.operations[..] {
        [add, _] => add.name == "stablehlo.add",
        _ => false,
    });
    zero && adds
}

fn indices(operation: &Operation, name: &str) -> Vec<usize> {
    let all = operation.attributes.integers(name).unwrap_or_default();
    all.into_iter().filter_map(|axis| usize::try_from(axis).ok()).collect()
}

/// This split of an array and the type of a part; the whole, where the split does not divide it.
fn divided(here: &PerDevice<'_>, whole: &TensorType, split: &Axes) -> Result<(Axes, TensorType)> {
    if split.len() == whole.dims.len()
        && let Some(part) = here.part(whole, split)?
    {
        return Ok((split.clone(), part));
    }
    let none: Axes = vec![Vec::new(); whole.dims.len()];
    let part = here.part(whole, &none)?;
    let part =
        part.ok_or_else(|| Error::Unimplemented("summands of unknown extents".to_owned()))?;
    Ok((none, part))
}
