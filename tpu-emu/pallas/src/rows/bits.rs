//! Narrow elements in wide ones.
use super::{Row, Site};
use crate::lower::code::{Code, Refused, integer_of, is_integer, unsigned, width};
use tpu_mosaic::ir::{Attribute, Element, Op, Type};
use tpu_stablehlo::ir::Value;

pub(super) fn row(op: Op) -> Option<Row> {
    Some(match op {
        Op::TpuBitcast => |site| bitcast(site, 1),
        Op::VectorBitcast => |site| bitcast(site, 0),
        Op::TpuPackElementwise => pack,
        Op::TpuUnpackElementwise => unpack,
        Op::TpuStochasticConvert => stochastic,
        _ => return None,
    })
}

/// The same bits as elements of another type. Of another width, the dimension `from_last` before
/// the last makes up for it: consecutive narrow elements along it are one wide one, low bits
/// first.
fn bitcast(site: &mut Site<'_>, from_last: usize) -> Refused<Value> {
    let value = site.operand(0)?;
    let (element, dims, result) =
        (site.code.element(value), site.code.dims(value), site.dims.clone());
    let (Some(from), Some(to)) = (width(element), width(site.element)) else {
        return site.refused(format!("{element:?} as {:?}", site.element));
    };
    if from == to {
        if dims != result {
            return site.refused(format!("{dims:?} as {result:?}"));
        }
        return Ok(site.code.bits(value, site.element));
    }
    let Some(axis) = dims.len().checked_sub(1 + from_last) else {
        return site.refused(format!("{dims:?} as {result:?}"));
    };
    let ratio = i64::from(from.max(to) / from.min(to));
    let mut expected = dims.clone();
    let fits = if from < to {
        expected[axis] /= ratio;
        dims[axis] % ratio == 0
    } else {
        expected[axis] *= ratio;
        true
    };
    if !fits || expected != result || from.max(to) % from.min(to) != 0 {
        return site.refused(format!("{element:?}{dims:?} as {:?}{result:?}", site.element));
    }
    let (rank, to) = (dims.len(), site.element);
    let code = &mut *site.code;
    if from < to_bits(to) {
        let mut split = result.clone();
        split.insert(axis + 1, ratio);
        let value = code.reshape(value, &split);
        let mut order: Vec<usize> = (0..=rank).filter(|&at| at != axis + 1).collect();
        order.push(axis + 1);
        let value = code.transpose(value, &order);
        Ok(code.rebits(value, to, &result))
    } else {
        let mut split = dims.clone();
        split.push(ratio);
        let value = code.rebits(value, to, &split);
        let mut order: Vec<usize> = (0..rank).collect();
        order.insert(axis + 1, rank);
        let value = code.transpose(value, &order);
        Ok(code.reshape(value, &result))
    }
}

fn to_bits(element: Element) -> u32 {
    width(element).unwrap_or(0)
}

fn element_of(site: &Site<'_>, name: &str) -> Refused<Element> {
    match site.attribute(name)? {
        Attribute::Type(Type::Scalar(element)) => Ok(*element),
        other => site.refused(format!("{name} is {other:?}")),
    }
}

/// Source 0 in the low bits of each element, source 1 above.
fn pack(site: &mut Site<'_>) -> Refused<Value> {
    let target = element_of(site, "target_type")?;
    let (wide, dims) = (site.element, site.dims.clone());
    let (Some(bits), Some(all)) = (width(target), width(wide)) else {
        return site.refused(format!("{target:?} in {wide:?}"));
    };
    let count = u32::try_from(site.operands.len()).unwrap_or(u32::MAX);
    if count == 0 || count.checked_mul(bits).is_none_or(|bits| bits > all) || !is_integer(wide) {
        return site.refused(format!("{count} of {target:?} in {wide:?}"));
    }
    let sources = site.operands.clone();
    let code = &mut *site.code;
    let mut packed: Option<Value> = None;
    for (number, source) in (0..).zip(sources) {
        let low = low_bits(code, source, target, wide)?;
        let shifted = shifted(code, "stablehlo.shift_left", low, i64::from(bits) * number);
        packed = Some(match packed {
            Some(packed) => code.map("stablehlo.or", &[packed, shifted]),
            None => shifted,
        });
    }
    match packed {
        Some(packed) => Ok(packed),
        None => Ok(code.integer(wide, &dims, 0)),
    }
}

/// An element as one of the narrow type, its bits in the low ones of the wide type.
fn low_bits(code: &mut Code, source: Value, target: Element, wide: Element) -> Refused<Value> {
    let bits = to_bits(target);
    let narrow = code.convert(source, target);
    if is_integer(target) {
        let narrow = code.bits(narrow, unsigned(target));
        let widened = code.convert(narrow, unsigned(wide));
        return Ok(code.bits(widened, wide));
    }
    let integer = integer_of(bits).ok_or_else(|| format!("bits of {target:?}"))?;
    let narrow = code.bits(narrow, unsigned(integer));
    let widened = code.convert(narrow, unsigned(wide));
    Ok(code.bits(widened, wide))
}

fn shifted(code: &mut Code, name: &'static str, value: Value, by: i64) -> Value {
    if by == 0 {
        return value;
    }
    let (element, dims) = (code.element(value), code.dims(value));
    let by = code.integer(element, &dims, by);
    code.map(name, &[value, by])
}

/// A part of each element, with its sign.
fn unpack(site: &mut Site<'_>) -> Refused<Value> {
    let value = site.operand(0)?;
    let source = element_of(site, "source_type")?;
    let wide = site.code.element(value);
    let (Some(bits), Some(all)) = (width(source), width(wide)) else {
        return site.refused(format!("{source:?} of {wide:?}"));
    };
    let index = site.integer("index")?;
    if index < 0 || (index + 1).checked_mul(i64::from(bits)).is_none_or(|end| end > all.into()) {
        return site.refused(format!("part {index} of {source:?} of {wide:?}"));
    }
    let integer = match is_integer(source) {
        true => source,
        false => match integer_of(bits) {
            Some(integer) => integer,
            None => return site.refused(format!("{source:?} of {wide:?}")),
        },
    };
    let to = site.element;
    let code = &mut *site.code;
    let low = shifted(code, "stablehlo.shift_right_logical", value, index * i64::from(bits));
    let narrow = code.convert(low, integer);
    let narrow = code.bits(narrow, source);
    Ok(code.convert(narrow, to))
}

/// Random bits are added below those that are kept, and the rest is cut off.
fn stochastic(site: &mut Site<'_>) -> Refused<Value> {
    let (value, random) = (site.operand(0)?, site.operand(1)?);
    if site.code.element(value) != Element::F32 {
        return site.refused(format!("of {:?}", site.code.element(value)));
    }
    let to = site.element;
    let code = &mut *site.code;
    let dims = code.dims(value);
    let random = code.bits(random, Element::U32);
    let rounded = match to {
        Element::Bf16 => {
            let bits = code.bits(value, Element::U32);
            let mask = code.integer(Element::U32, &dims, 0xffff);
            let low = code.map("stablehlo.and", &[random, mask]);
            let sum = code.map("stablehlo.add", &[bits, low]);
            let high = shifted(code, "stablehlo.shift_right_logical", sum, 16);
            let narrow = code.convert(high, Element::U16);
            code.bits(narrow, Element::Bf16)
        }
        Element::F8E5M2 | Element::F8E4M3FN | Element::F8E4M3B11FNUZ => {
            one_of_two(code, value, random, to)
        }
        other => return site.refused(format!("to {other:?}")),
    };
    // What is no number stays as it is.
    let none = tpu_stablehlo::ir::Attributes::default();
    let finite = code.emit("stablehlo.is_finite", &[value], none, Element::Pred, &dims);
    let plain = code.convert(value, to);
    Ok(code.select(finite, rounded, plain))
}

/// The element of eight bits below a number, or the one above, each as likely as the number is
/// near; what has none above is rounded.
fn one_of_two(code: &mut Code, value: Value, random: Value, to: Element) -> Value {
    let dims = code.dims(value);
    let size = code.map("stablehlo.abs", &[value]);
    let nearest = code.convert(size, to);
    let back = code.convert(nearest, Element::F32);
    let bits = code.bits(nearest, Element::U8);
    let one = code.integer(Element::U8, &dims, 1);
    let less = code.map("stablehlo.subtract", &[bits, one]);
    let beyond = code.compare("GT", back, size);
    let below = code.select(beyond, less, bits);
    let above = code.map("stablehlo.add", &[below, one]);
    let [low, high] = [below, above].map(|bits| {
        let element = code.bits(bits, to);
        code.convert(element, Element::F32)
    });
    let (part, whole) = (
        code.map("stablehlo.subtract", &[size, low]),
        code.map("stablehlo.subtract", &[high, low]),
    );
    let drawn = shifted(code, "stablehlo.shift_right_logical", random, 8);
    let drawn = code.convert(drawn, Element::F32);
    let scale = code.float(Element::F32, &dims, 1.0 / 16_777_216.0);
    let drawn = code.map("stablehlo.multiply", &[drawn, scale]);
    let reach = code.map("stablehlo.multiply", &[drawn, whole]);
    let up = code.compare("LT", reach, part);
    let chosen = code.select(up, above, below);
    let none = tpu_stablehlo::ir::Attributes::default();
    let inside = code.emit("stablehlo.is_finite", &[high], none, Element::Pred, &dims);
    let chosen = code.select(inside, chosen, bits);
    let sign = code.integer(Element::U8, &dims, 0x80);
    let signed = code.map("stablehlo.or", &[chosen, sign]);
    let bits = code.bits(value, Element::S32);
    let none = code.integer(Element::S32, &dims, 0);
    let mut wants = code.compare("LT", bits, none);
    // A zero has no sign in every type.
    if to == Element::F8E4M3B11FNUZ {
        let zero = code.integer(Element::U8, &dims, 0);
        let some = code.compare("NE", chosen, zero);
        wants = code.map("stablehlo.and", &[wants, some]);
    }
    let chosen = code.select(wants, signed, chosen);
    code.bits(chosen, to)
}
