//! Summands of devices: made of an array, and summed up.
use super::code::{
    PerDevice, ValueTypes, extent, list, multiples, only_first, plain, region, zeros,
};
use std::collections::HashMap;
use tpu_base::error::{Error, Result};
use tpu_ops::{
    ADD, ALL_REDUCE, CONSTANT, DOT_GENERAL, DYNAMIC_UPDATE_SLICE, OR, Operator, REDUCE, RESHAPE,
    SCATTER, SELECT, YIELD, full_name,
};
use tpu_stablehlo::ir::{
    Attribute, Attributes, AxisRef, Element, MeshAxes, Operation, TensorSharding, TensorType, Type,
    Value,
};

/// Axes of each dimension of an array.
pub(super) type AxesOfDimensions = Vec<Vec<AxisRef>>;

/// The sum over `axes` of an array of which each device has its summand.
pub(super) fn summed(
    here: &PerDevice<'_>,
    values: &mut ValueTypes,
    (value, axes): (Value, &[AxisRef]),
    split: &AxesOfDimensions,
    into: &mut Vec<Operation>,
) -> Result<Value> {
    let whole = values.tensor(value)?.clone();
    let (split, part) = divided(here, &whole, split)?;
    let at = here.location;
    let scalar = Type::Tensor(TensorType::new(whole.element, Vec::new()));
    let [left, right] = [values.add(scalar.clone()), values.add(scalar.clone())];
    let mut body = Vec::new();
    let add = full_name(if whole.element == Element::Pred { &OR } else { &ADD });
    let sum = values.emit((add, at), vec![left, right], Attributes::default(), scalar, &mut body);
    body.push(plain((YIELD, at), vec![sum], Vec::new()));
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
        ..plain((full_name(&ALL_REDUCE), at), vec![parameter], vec![made])
    };
    let code = (vec![parameter], vec![reduce], made);
    Ok(here.run(values, &[(value, split.clone())], code, (whole, &split), into))
}

/// The summands of an array that was split as `held`: each device along the axes of `axes` that
/// split it has its part in its place among zeros; along the others the first device has what there
/// is, and the others zeros.
pub(super) fn placed(
    here: &PerDevice<'_>,
    values: &mut ValueTypes,
    (value, axes): (Value, &[AxisRef]),
    (split, held): (&AxesOfDimensions, Option<&TensorSharding>),
    into: &mut Vec<Operation>,
) -> Result<Value> {
    let whole = values.tensor(value)?.clone();
    let (split, part) = divided(here, &whole, split)?;
    let own = own_axes(here, &part, (&split, held), axes)?;
    let finer: AxesOfDimensions =
        split.iter().zip(&own).map(|(a, b)| [&a[..], b].concat()).collect();
    let shard = here.part(&whole, &finer)?.unwrap_or_else(|| part.clone());
    let at = here.location;
    let constant = || (full_name(&CONSTANT), at);
    let of = Type::Tensor(part.clone());
    let scalar = |element| Type::Tensor(TensorType::new(element, Vec::new()));
    let none = Attributes::default;
    let mut made = values.add(Type::Tensor(shard));
    let (mut operands, mut parameters, mut body) = (vec![(value, finer)], vec![made], Vec::new());
    let zero = values.emit(constant(), Vec::new(), zeros(&part)?, of.clone(), &mut body);
    // A row of a table, for each device its own.
    let mut row = |values: &mut ValueTypes,
                   table,
                   axes: &[AxisRef],
                   of: Element,
                   body: &mut Vec<Operation>| {
        let dims = |count| Type::Tensor(TensorType::new(of, vec![count]));
        let whole =
            values.emit(constant(), Vec::new(), table, dims(extent(here.mesh.1, axes)?), into);
        let row = values.add(dims(1));
        operands.push((whole, vec![axes.to_vec()]));
        parameters.push(row);
        Ok::<Value, Error>(values.emit(
            (full_name(&RESHAPE), at),
            vec![row],
            none(),
            scalar(of),
            body,
        ))
    };
    if own.iter().any(|axes| !axes.is_empty()) {
        let mut update = vec![zero, made];
        for (axes, &dim) in own.iter().zip(&part.dims) {
            let count = extent(here.mesh.1, axes)?;
            let starts = multiples(count, dim / count.max(1));
            update.push(row(values, starts, axes, Element::S64, &mut body)?);
        }
        let name = (full_name(&DYNAMIC_UPDATE_SLICE), at);
        made = values.emit(name, update, none(), of.clone(), &mut body);
    }
    let others: Vec<AxisRef> =
        axes.iter().filter(|axis| !own.iter().flatten().any(|own| own == *axis)).cloned().collect();
    if !others.is_empty() {
        let count = usize::try_from(extent(here.mesh.1, &others)?).unwrap_or(0);
        let flag = row(values, only_first(count), &others, Element::Pred, &mut body)?;
        made = values.emit((full_name(&SELECT), at), vec![flag, made, zero], none(), of, &mut body);
    }
    Ok(here.run(values, &operands, (parameters, body, made), (whole, &split), into))
}

/// The axes among `axes` that an array held like this is split by within its parts, by dimension.
fn own_axes(
    here: &PerDevice<'_>,
    part: &TensorType,
    (split, held): (&AxesOfDimensions, Option<&TensorSharding>),
    axes: &[AxisRef],
) -> Result<AxesOfDimensions> {
    let mut own: AxesOfDimensions = vec![Vec::new(); split.len()];
    let held = held.map_or(&[][..], |held| &held.dimensions);
    for (dim, (held, split)) in held.iter().zip(split).enumerate() {
        let Some(finer) = held.axes.strip_prefix(&split[..]) else { continue };
        let size = extent(here.mesh.1, finer)?;
        let fits = part.dims[dim] > 0 && size > 0 && part.dims[dim] % size == 0;
        if fits && finer.iter().all(|axis| axes.contains(axis)) {
            own[dim] = finer.to_vec();
        }
    }
    Ok(own)
}

/// What is known of the operands of an operation.
pub(super) struct Sources<'a> {
    /// How values are split, where the program says it.
    pub(super) stated: &'a HashMap<Value, TensorSharding>,
    /// Constants, products and reductions, by their result.
    pub(super) made_by: &'a HashMap<Value, Operation>,
}

/// The summands of a product, of a sum of elements, or of elements added to an array: each device
/// along `axes` has its part of what is summed up. `None` for other operations, and where the parts would not be alike.
pub(super) fn summands(
    here: &PerDevice<'_>,
    values: &mut ValueTypes,
    operation: &Operation,
    (axes, split): (&[AxisRef], &AxesOfDimensions),
    sources: &Sources<'_>,
    into: &mut Vec<Operation>,
) -> Result<Option<Value>> {
    let &[result] = &operation.results[..] else { return Ok(None) };
    let whole = values.tensor(result)?.clone();
    let none = vec![Vec::new(); whole.dims.len()];
    let split = if split.len() == none.len() { split } else { &none };
    let mut ins: Vec<AxesOfDimensions> = Vec::new();
    for &operand in &operation.operands {
        ins.push(vec![Vec::new(); values.tensor(operand)?.dims.len()]);
    }
    let operator = Operator::of(operation);
    let summed: Vec<Vec<(usize, usize)>> = match &ins[..] {
        [lhs, rhs] if operator.is(&DOT_GENERAL) => {
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
        [from, initial]
            if operator.is(&REDUCE) && initial.is_empty() && is_sum(operation, sources) =>
        {
            let gone = indices(operation, "dimensions");
            let kept = (0..from.len()).filter(|axis| !gone.contains(axis));
            let kept: Vec<usize> = kept.collect();
            for (&axis, axes) in kept.iter().zip(split) {
                ins[0][axis].clone_from(axes);
            }
            gone.into_iter().map(|axis| vec![(0, axis)]).collect()
        }
        [_, to, from]
            if operator.is(&SCATTER)
                && adds(operation)
                && split.iter().all(Vec::is_empty)
                && indices(operation, "input_batching_dims").is_empty() =>
        {
            let window = indices(operation, "update_window_dims");
            let vector = indices(operation, "index_vector_dim");
            let rows = (0..to.len()).filter(|axis| !vector.contains(axis));
            let updates = (0..from.len()).filter(|axis| !window.contains(axis));
            rows.zip(updates).map(|(row, update)| vec![(2, update), (1, row)]).collect()
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
    // What is added to counts once.
    if operator.is(&SCATTER)
        && let Some((onto, split)) = operands.first_mut()
    {
        *onto = placed(here, values, (*onto, axes), (split, None), into)?;
    }
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
    zero && adds(operation)
}

/// Whether the code of an operation adds its two elements.
fn adds(operation: &Operation) -> bool {
    let mut inside = operation.regions.iter().flat_map(|region| &region.blocks);
    inside.all(|block| match (&block.operations[..], &block.arguments[..]) {
        ([add, last], [one, other]) => {
            let both = add.operands == [*one, *other] || add.operands == [*other, *one];
            Operator::of(add).is(&ADD) && both && add.results == last.operands
        }
        _ => false,
    })
}

fn indices(operation: &Operation, name: &str) -> Vec<usize> {
    let all = operation.attributes.integers(name).unwrap_or_default();
    all.into_iter().filter_map(|axis| usize::try_from(axis).ok()).collect()
}

/// This split of an array and the type of a part; the whole, where the split does not divide it.
fn divided(
    here: &PerDevice<'_>,
    whole: &TensorType,
    split: &AxesOfDimensions,
) -> Result<(AxesOfDimensions, TensorType)> {
    if split.len() == whole.dims.len()
        && let Some(part) = here.part(whole, split)?
    {
        return Ok((split.clone(), part));
    }
    let none: AxesOfDimensions = vec![Vec::new(); whole.dims.len()];
    let part = here.part(whole, &none)?;
    let part =
        part.ok_or_else(|| Error::Unimplemented("summands of unknown extents".to_owned()))?;
    Ok((none, part))
}
