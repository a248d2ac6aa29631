//! Operations that move elements by known rules.
use super::{Known, Row, Site};
use crate::lower::code::{Refused, signed, width};
use tpu_mosaic::ir::{DYNAMIC, Element, Op};
use tpu_stablehlo::ir::Value;

pub(super) fn row(op: Op) -> Option<Row> {
    Some(match op {
        Op::VectorBroadcast => broadcast,
        Op::VectorShapeCast | Op::TpuReshape => |site| {
            let (value, dims) = (site.operand(0)?, site.dims.clone());
            same_count(site, value)?;
            Ok(site.code.reshape(value, &dims))
        },
        Op::VectorExtract => extract,
        Op::VectorExtractStridedSlice => strided_slice,
        Op::VectorTranspose | Op::TpuTranspose => |site| {
            let value = site.operand(0)?;
            let dims = site.code.dims(value);
            let order = site.axes("permutation", &dims)?;
            if order.len() != dims.len() {
                return site.refused(format!("permutation {order:?} of {dims:?}"));
            }
            Ok(site.code.transpose(value, &order))
        },
        Op::TpuConcatenate => |site| {
            let operands = site.operands.clone();
            let dims = site.dims.clone();
            let axis = site.axis("dimension", &dims)?;
            if operands.is_empty() {
                return site.refused("no operand");
            }
            Ok(site.code.concatenate(&operands, axis))
        },
        Op::TpuRepeat => |site| {
            let value = site.operand(0)?;
            let dims = site.code.dims(value);
            let axis = site.axis("dimension", &dims)?;
            let times = usize::try_from(site.integer("times")?).unwrap_or(0);
            if signed(times).checked_mul(dims[axis]) != site.dims.get(axis).copied() || times == 0 {
                return site.refused(format!("{dims:?} {times} times along {axis}"));
            }
            Ok(site.code.concatenate(&vec![value; times], axis))
        },
        Op::TpuIota => iota,
        Op::TpuDynamicRotate | Op::TpuRotate => rotate,
        _ => return None,
    })
}

fn same_count(site: &Site<'_>, value: Value) -> Refused<()> {
    let from: i64 = site.code.dims(value).iter().product();
    if from == site.dims.iter().product::<i64>() {
        return Ok(());
    }
    site.refused(format!("{:?} as {:?}", site.code.dims(value), site.dims))
}

/// The dimensions of the operand are the last ones of the result; those of one element repeat.
fn broadcast(site: &mut Site<'_>) -> Refused<Value> {
    let (value, dims) = (site.operand(0)?, site.dims.clone());
    let from = site.code.dims(value);
    let Some(first) = dims.len().checked_sub(from.len()) else {
        return site.refused(format!("{from:?} to {dims:?}"));
    };
    let fits = from.iter().zip(&dims[first..]).all(|(from, to)| from == to || *from == 1);
    if !fits {
        return site.refused(format!("{from:?} to {dims:?}"));
    }
    if from == dims {
        return Ok(value);
    }
    let axes: Vec<usize> = (first..dims.len()).collect();
    Ok(site.code.broadcast(value, &dims, &axes))
}

/// The part at a position of the first dimensions.
fn extract(site: &mut Site<'_>) -> Refused<Value> {
    let value = site.operand(0)?;
    let dims = site.code.dims(value);
    let positions = site.integers("static_position")?;
    if positions.len() > dims.len() {
        return site.refused(format!("position {positions:?} of {dims:?}"));
    }
    let mut dynamic = 1;
    let mut starts = Vec::new();
    let mut known = true;
    let mut fixed = vec![0; dims.len()];
    for (axis, &position) in positions.iter().enumerate() {
        let place = if position == DYNAMIC {
            let of = site.operand(dynamic)?;
            let place = site.known.get(dynamic).copied();
            dynamic += 1;
            starts.push(of);
            match place {
                Some(Known::Integer(place)) => place,
                _ => {
                    known = false;
                    0
                }
            }
        } else {
            let of = site.code.integer(Element::S64, &[], position);
            starts.push(of);
            position
        };
        if !(0..dims[axis]).contains(&place) {
            return site.refused(format!("position {place} of {dims:?}"));
        }
        fixed[axis] = place;
    }
    let mut sizes = dims.clone();
    sizes[..positions.len()].fill(1);
    let part = if known {
        let ends: Vec<i64> = fixed.iter().zip(&sizes).map(|(start, size)| start + size).collect();
        site.code.slice(value, &fixed, &ends, &vec![1; dims.len()])
    } else {
        let zero = site.code.integer(Element::S64, &[], 0);
        let starts: Vec<Value> =
            starts.into_iter().map(|start| site.code.convert(start, Element::S64)).collect();
        let rest = dims.len() - starts.len();
        let starts = [starts, vec![zero; rest]].concat();
        site.code.dynamic_slice(value, &starts, &sizes)
    };
    let dims = site.dims.clone();
    Ok(site.code.reshape(part, &dims))
}

fn strided_slice(site: &mut Site<'_>) -> Refused<Value> {
    let value = site.operand(0)?;
    let dims = site.code.dims(value);
    let [offsets, sizes, strides] = ["offsets", "sizes", "strides"].map(|name| site.integers(name));
    let (offsets, sizes, strides) = (offsets?, sizes?, strides?);
    let lists = [&offsets, &sizes, &strides];
    if lists.iter().any(|list| list.len() != offsets.len() || list.len() > dims.len()) {
        return site.refused(format!("{offsets:?} {sizes:?} {strides:?} of {dims:?}"));
    }
    let (mut from, mut to, mut by) = (vec![0; dims.len()], dims.clone(), vec![1; dims.len()]);
    for axis in 0..offsets.len() {
        let end = offsets[axis] + (sizes[axis] - 1) * strides[axis] + 1;
        if offsets[axis] < 0 || strides[axis] < 1 || sizes[axis] < 1 || end > dims[axis] {
            return site.refused(format!("{offsets:?} {sizes:?} {strides:?} of {dims:?}"));
        }
        (from[axis], to[axis], by[axis]) = (offsets[axis], end, strides[axis]);
    }
    Ok(site.code.slice(value, &from, &to, &by))
}

/// Numbers along the row-major collapse of some dimensions.
fn iota(site: &mut Site<'_>) -> Refused<Value> {
    let (element, dims) = (site.element, site.dims.clone());
    let axes = site.axes("dimensions", &dims)?;
    let mut total: Option<Value> = None;
    let mut step = 1;
    for &axis in axes.iter().rev() {
        let mut counted = site.code.iota(element, &dims, axis);
        if step != 1 {
            let factor = site.code.integer(element, &dims, step);
            counted = site.code.map("stablehlo.multiply", &[counted, factor]);
        }
        total = Some(match total {
            Some(total) => site.code.map("stablehlo.add", &[total, counted]),
            None => counted,
        });
        step *= dims[axis];
    }
    match total {
        Some(total) => Ok(total),
        None => Ok(site.code.integer(element, &dims, 0)),
    }
}

/// Element `j` goes to `(j + amount) mod n`; with a stride, slice `k` along another dimension is
/// rotated by `stride · k` more.
fn rotate(site: &mut Site<'_>) -> Refused<Value> {
    let value = site.operand(0)?;
    let dims = site.code.dims(value);
    let axis = site.axis("dimension", &dims)?;
    let size = dims[axis];
    if size == 0 || dims.contains(&0) {
        return Ok(value);
    }
    let known = match (site.operation.op, site.known.get(1)) {
        (Op::TpuRotate, _) => Some(site.integer("amount")?),
        (_, Some(Known::Integer(amount))) => Some(*amount),
        _ => None,
    };
    let stride = site.operation.integer("stride").filter(|&stride| stride != 0);
    if let Some(stride) = stride {
        let along = site.axis("stride_dimension", &dims)?;
        let amount = match known {
            Some(amount) => site.code.integer(Element::S32, &[], amount.rem_euclid(size)),
            None => site.operand(1)?,
        };
        return skewed(site, value, (axis, along), (stride, amount));
    }
    if let Some(amount) = known {
        let cut = size - amount.rem_euclid(size);
        if cut == size {
            return Ok(value);
        }
        let (low, high) =
            (site.code.part(value, axis, 0, cut), site.code.part(value, axis, cut, size));
        return Ok(site.code.concatenate(&[high, low], axis));
    }
    // What the chip rotates by a computed amount are whole tiles.
    let rows = width(site.element).map_or(8, |bits| 8 * 32 / i64::from(bits.clamp(1, 32)));
    let tile = match dims.len() - axis {
        1 => 128,
        2 => rows,
        _ => 1,
    };
    if size % tile != 0 {
        return site.refused(format!(
            "unsupported unaligned shape: {size} elements in tiles of {tile} by a computed amount"
        ));
    }
    let amount = site.operand(1)?;
    let start = cut(site, amount, size);
    let twice = site.code.concatenate(&[value, value], axis);
    let zero = site.code.integer(Element::S32, &[], 0);
    let mut starts = vec![zero; dims.len()];
    starts[axis] = start;
    Ok(site.code.dynamic_slice(twice, &starts, &dims))
}

/// `(-amount) mod size`, for any amounts.
fn cut(site: &mut Site<'_>, amount: Value, size: i64) -> Value {
    let (element, dims) = (site.code.element(amount), site.code.dims(amount));
    let of = site.code.integer(element, &dims, size);
    let rest = site.code.map("stablehlo.remainder", &[amount, of]);
    let from = site.code.map("stablehlo.subtract", &[of, rest]);
    site.code.map("stablehlo.remainder", &[from, of])
}

fn skewed(
    site: &mut Site<'_>,
    value: Value,
    (axis, along): (usize, usize),
    (stride, amount): (i64, Value),
) -> Refused<Value> {
    let dims = site.code.dims(value);
    let size = dims[axis];
    let steps = site.code.iota(Element::S32, &dims, along);
    let factor = site.code.integer(Element::S32, &dims, stride.rem_euclid(size));
    let steps = site.code.map("stablehlo.multiply", &[steps, factor]);
    let amount = site.code.convert(amount, Element::S32);
    let amount = site.code.spread(amount, &dims);
    let amounts = site.code.map("stablehlo.add", &[steps, amount]);
    let places = cut(site, amounts, size);
    let counted = site.code.iota(Element::S32, &dims, axis);
    let places = site.code.map("stablehlo.add", &[places, counted]);
    let of = site.code.integer(Element::S32, &dims, size);
    let places = site.code.map("stablehlo.remainder", &[places, of]);
    Ok(super::lookup::along(site.code, value, places, axis))
}
