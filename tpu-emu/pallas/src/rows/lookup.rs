//! Elements at computed places.
use super::{Row, Site};
use crate::lower::code::{Code, Refused, attributes, integers, signed};
use tpu_mosaic::ir::{Element, Op};
use tpu_stablehlo::ir::{Attribute, Value};

pub(super) fn row(op: Op) -> Option<Row> {
    Some(match op {
        Op::TpuDynamicGather => gathered,
        _ => return None,
    })
}

/// `result[…, i, …] = value[…, places[…, i, …], …]` along an axis; places are inside.
pub(super) fn along(code: &mut Code, value: Value, places: Value, axis: usize) -> Value {
    let (element, dims) = (code.element(value), code.dims(places));
    let rank = dims.len();
    let with_vector: Vec<i64> = dims.iter().copied().chain([1]).collect();
    let places = code.reshape(places, &with_vector);
    let others = || (0..rank).filter(|&other| other != axis).map(signed);
    let of = attributes([
        ("offset_dims", integers([])),
        ("collapsed_slice_dims", integers([signed(axis)])),
        ("operand_batching_dims", integers(others())),
        ("start_indices_batching_dims", integers(others())),
        ("start_index_map", integers([signed(axis)])),
        ("index_vector_dim", Attribute::Integer(signed(rank).into(), Element::S64)),
        ("slice_sizes", integers(vec![1; rank])),
        ("indices_are_sorted", Attribute::Bool(false)),
    ]);
    code.emit("stablehlo.gather", &[value, places], of, element, &dims)
}

/// Elements at places along some dimensions, which count as one: numbers beyond it begin anew.
fn gathered(site: &mut Site<'_>) -> Refused<Value> {
    let (value, places) = (site.operand(0)?, site.operand(1)?);
    let (from, to) = (site.code.dims(value), site.code.dims(places));
    let axes = site.axes("dimensions", &from)?;
    let rest: Vec<usize> = (0..from.len()).filter(|axis| !axes.contains(axis)).collect();
    if from.len() != to.len() || rest.iter().any(|&axis| from[axis] != to[axis]) {
        return site.refused(format!("{to:?} of {from:?}"));
    }
    let size: i64 = axes.iter().map(|&axis| from[axis]).product();
    if size == 0 {
        return site.refused(format!("of {from:?} along {axes:?}"));
    }
    let code = &mut *site.code;
    let element = code.element(places);
    let of = code.integer(element, &to, size);
    let inside = code.map("stablehlo.remainder", &[places, of]);
    let above = code.map("stablehlo.add", &[inside, of]);
    let inside = code.map("stablehlo.remainder", &[above, of]);
    if let [axis] = axes[..] {
        return Ok(along(code, value, inside, axis));
    }
    // The dimensions behind the others, as one; and back.
    let order: Vec<usize> = rest.iter().chain(&axes).copied().collect();
    let joined = |dims: &[i64]| -> Vec<i64> {
        let last = axes.iter().map(|&axis| dims[axis]).product();
        rest.iter().map(|&axis| dims[axis]).chain([last]).collect()
    };
    let value = code.transpose(value, &order);
    let value = code.reshape(value, &joined(&from));
    let inside = code.transpose(inside, &order);
    let moved = code.dims(inside);
    let inside = code.reshape(inside, &joined(&to));
    let found = along(code, value, inside, rest.len());
    let found = code.reshape(found, &moved);
    let mut back = vec![0; order.len()];
    order.iter().enumerate().for_each(|(place, &axis)| back[axis] = place);
    Ok(code.transpose(found, &back))
}
