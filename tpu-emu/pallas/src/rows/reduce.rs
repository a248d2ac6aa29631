//! Reductions.
use super::{Known, Row, Site};
use crate::lower::code::{
    Code, Refused, attributes, integers, is_integer, signed, unsigned, width,
};
use tpu_mosaic::ir::{Attribute, CombiningKind, Element, Op, ReductionKind};
use tpu_stablehlo::ir::{
    Attribute as Stable, Attributes, Block, LocationId, Name, Operation, Region, Value,
};

pub(super) fn row(op: Op) -> Option<Row> {
    Some(match op {
        Op::VectorMultiReduction => multi_reduction,
        Op::TpuReduce => reduction,
        Op::TpuReduceIndex => extreme_index,
        _ => return None,
    })
}

/// How a kind of reduction is computed.
struct Combiner {
    name: &'static str,
    /// Whether elements are unsigned.
    without_sign: bool,
}

/// The combiner of a kind, and the bits of the element that changes nothing.
fn combiner(kind: CombiningKind, element: Element) -> Option<(Combiner, u64)> {
    use CombiningKind as Kind;
    let bits = width(element)?;
    let all = if bits >= 64 { u64::MAX } else { (1 << bits) - 1 };
    let (name, without_sign) = match kind {
        Kind::Add => ("stablehlo.add", false),
        Kind::Mul => ("stablehlo.multiply", false),
        Kind::Minui => ("stablehlo.minimum", true),
        Kind::Minsi | Kind::Minimumf | Kind::Minnumf => ("stablehlo.minimum", false),
        Kind::Maxui => ("stablehlo.maximum", true),
        Kind::Maxsi | Kind::Maximumf | Kind::Maxnumf => ("stablehlo.maximum", false),
        Kind::And => ("stablehlo.and", false),
        Kind::Or => ("stablehlo.or", false),
        Kind::Xor => ("stablehlo.xor", false),
    };
    let neutral = match kind {
        Kind::Add | Kind::Or | Kind::Xor | Kind::Maxui => 0,
        Kind::And | Kind::Minui => all,
        Kind::Mul if is_integer(element) => 1,
        Kind::Mul => float_bits(element, 1.0)?,
        Kind::Minsi => all >> 1,
        Kind::Maxsi => 1 << (bits - 1),
        Kind::Minimumf | Kind::Minnumf => float_bits(element, f32::INFINITY)?,
        Kind::Maximumf | Kind::Maxnumf => float_bits(element, f32::NEG_INFINITY)?,
    };
    Some((Combiner { name, without_sign }, neutral))
}

/// The bits of a float that all wide types have.
fn float_bits(element: Element, value: f32) -> Option<u64> {
    let bits = value.to_bits();
    Some(match element {
        Element::F32 => bits.into(),
        Element::Bf16 => (bits >> 16).into(),
        Element::F64 => f64::from(value).to_bits(),
        Element::F16 if value.is_infinite() => {
            if value > 0.0 {
                0x7c00
            } else {
                0xfc00
            }
        }
        Element::F16 => 0x3c00,
        _ => return None,
    })
}

/// The elements along some dimensions, combined with what is there already.
fn multi_reduction(site: &mut Site<'_>) -> Refused<Value> {
    let (value, acc) = (site.operand(0)?, site.operand(1)?);
    let dims = site.code.dims(value);
    let axes = site.axes("reduction_dims", &dims)?;
    let element = site.code.element(value);
    let Attribute::CombiningKind(kind) = *site.attribute("kind")? else {
        return site.refused("a kind that is none");
    };
    let Some((combiner, neutral)) = combiner(kind, element) else {
        return site.refused(format!("{kind:?} of {element:?}"));
    };
    let kept = dims.iter().enumerate().filter(|(axis, _)| !axes.contains(axis));
    if !kept.map(|(_, &dim)| dim).eq(site.code.dims(acc)) {
        return site.refused(format!("{:?} of {dims:?} along {axes:?}", site.code.dims(acc)));
    }
    let reduced = combined(site.code, &combiner, value, neutral, &axes);
    // JAX starts from what changes nothing.
    if site.known.get(1) == Some(&Known::Splat(neutral)) {
        return Ok(reduced);
    }
    Ok(two(site.code, &combiner, acc, reduced))
}

fn combined(code: &mut Code, of: &Combiner, value: Value, neutral: u64, axes: &[usize]) -> Value {
    let element = code.element(value);
    let inner = if of.without_sign { unsigned(element) } else { element };
    let value = code.bits(value, inner);
    let bytes = neutral.to_le_bytes();
    let init = code.splat(inner, &[], &bytes[..inner.bytes().unwrap_or(1)]);
    let reduced = code.reduce(of.name, value, init, axes);
    code.bits(reduced, element)
}

fn two(code: &mut Code, of: &Combiner, a: Value, b: Value) -> Value {
    let element = code.element(a);
    let inner = if of.without_sign { unsigned(element) } else { element };
    let [a, b] = [a, b].map(|value| code.bits(value, inner));
    let made = code.map(of.name, &[a, b]);
    code.bits(made, element)
}

fn kind_of(kind: ReductionKind, element: Element) -> Option<CombiningKind> {
    let float = !is_integer(element);
    Some(match kind {
        ReductionKind::Sum => CombiningKind::Add,
        ReductionKind::Max if float => CombiningKind::Maximumf,
        ReductionKind::Min if float => CombiningKind::Minimumf,
        ReductionKind::Max | ReductionKind::Maxsi => CombiningKind::Maxsi,
        ReductionKind::Min | ReductionKind::Minsi => CombiningKind::Minsi,
        ReductionKind::Maxf => CombiningKind::Maximumf,
        ReductionKind::Minf => CombiningKind::Minimumf,
        ReductionKind::Maxui => CombiningKind::Maxui,
        ReductionKind::Minui => CombiningKind::Minui,
        ReductionKind::ArgMax | ReductionKind::ArgMin | ReductionKind::FindFirstSet => return None,
    })
}

/// The elements along some dimensions, which stay where the result has them with one element.
fn reduction(site: &mut Site<'_>) -> Refused<Value> {
    let value = site.operand(0)?;
    let dims = site.code.dims(value);
    let axes = site.axes("dimensions", &dims)?;
    let element = site.code.element(value);
    let Attribute::ReductionKind(kind) = *site.attribute("kind")? else {
        return site.refused("a kind that is none");
    };
    let found = kind_of(kind, element).and_then(|kind| combiner(kind, element));
    let Some((combiner, neutral)) = found else {
        return site.refused(format!("{kind:?} of {element:?}"));
    };
    let reduced = combined(site.code, &combiner, value, neutral, &axes);
    let result = site.dims.clone();
    if site.code.dims(reduced).iter().product::<i64>() != result.iter().product::<i64>() {
        return site.refused(format!("{result:?} of {dims:?} along {axes:?}"));
    }
    Ok(site.code.reshape(reduced, &result))
}

/// Where the largest or smallest element along an axis is: the lowest index wins, NaN wins over
/// numbers.
fn extreme_index(site: &mut Site<'_>) -> Refused<Value> {
    let value = site.operand(0)?;
    let dims = site.code.dims(value);
    let axis = site.axis("axis", &dims)?;
    let direction = match site.attribute("kind")? {
        Attribute::ReductionKind(ReductionKind::ArgMax) => "GT",
        Attribute::ReductionKind(ReductionKind::ArgMin) => "LT",
        other => return site.refused(format!("{other:?}")),
    };
    let element = site.code.element(value);
    let (index, result) = (site.element, site.dims.clone());
    let extreme = if direction == "GT" { f32::NEG_INFINITY } else { f32::INFINITY };
    let Some(bits) = float_bits(element, extreme) else {
        return site.refused(format!("of {element:?}"));
    };
    let kept = dims.iter().enumerate().filter(|(at, _)| *at != axis).map(|(_, &dim)| dim);
    if !kept.clone().eq(result.iter().copied()) {
        return site.refused(format!("{result:?} of {dims:?} along {axis}"));
    }
    let code = &mut *site.code;
    let places = code.iota(index, &dims, axis);
    let init = code.splat(element, &[], &bits.to_le_bytes()[..element.bytes().unwrap_or(1)]);
    let first = code.integer(index, &[], 0);
    let body = pick(code, direction, element, index);
    let results = vec![code.value(element, &result), code.value(index, &result)];
    let of = attributes([("dimensions", integers([signed(axis)]))]);
    let found = results[1];
    code.push("stablehlo.reduce", &[value, places, init, first], of, vec![body], results);
    Ok(found)
}

/// The body that JAX writes for `argmax`.
fn pick(code: &mut Code, direction: &'static str, element: Element, index: Element) -> Region {
    let of = [element, index, element, index];
    let arguments: Vec<Value> = of.iter().map(|&of| code.value(of, &[])).collect();
    let [x, at, y, other] = arguments[..] else { return Region::default() };
    let mut operations = Vec::new();
    let mut emit = |name: &'static str, operands: Vec<Value>, attributes, result| {
        let (regions, location) = (Vec::new(), LocationId::UNKNOWN);
        let results = vec![result];
        let name = Name::Borrowed(name);
        operations.push(Operation { name, operands, results, attributes, regions, location });
    };
    let word =
        |word: &'static str| attributes([("comparison_direction", Stable::Word(word.into()))]);
    let none = Attributes::default;
    let mut flag = || code.value(Element::Pred, &[]);
    let (better, nan, first, same, lower, tie, second) =
        (flag(), flag(), flag(), flag(), flag(), flag(), flag());
    emit("stablehlo.compare", vec![x, y], word(direction), better);
    emit("stablehlo.compare", vec![x, x], word("NE"), nan);
    emit("stablehlo.or", vec![better, nan], none(), first);
    emit("stablehlo.compare", vec![x, y], word("EQ"), same);
    emit("stablehlo.compare", vec![at, other], word("LT"), lower);
    emit("stablehlo.and", vec![same, lower], none(), tie);
    emit("stablehlo.or", vec![first, tie], none(), second);
    let (value, place) = (code.value(element, &[]), code.value(index, &[]));
    emit("stablehlo.select", vec![first, x, y], none(), value);
    emit("stablehlo.select", vec![second, at, other], none(), place);
    operations.push(Operation {
        name: Name::Borrowed("stablehlo.return"),
        operands: vec![value, place],
        results: Vec::new(),
        attributes: Attributes::default(),
        regions: Vec::new(),
        location: LocationId::UNKNOWN,
    });
    Region { blocks: vec![Block { arguments, operations }] }
}
