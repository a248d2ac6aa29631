//! The dialect `arith`. Integers have no sign there: the operation says what they are.
use super::{Row, Site};
use crate::lower::code::{Refused, unsigned};
use tpu_mosaic::ir::{CoreType, Element, Op};
use tpu_stablehlo::ir::{Attributes, Value};

pub(super) fn row(op: Op) -> Option<Row> {
    Some(match op {
        Op::ArithAddi => added,
        Op::ArithAddf => |site| simple(site, "stablehlo.add"),
        Op::ArithSubi | Op::ArithSubf => |site| simple(site, "stablehlo.subtract"),
        Op::ArithMuli | Op::ArithMulf => |site| simple(site, "stablehlo.multiply"),
        Op::ArithDivf => divided,
        Op::ArithRemf => |site| simple(site, "stablehlo.remainder"),
        Op::ArithDivsi => |site| simple(site, "stablehlo.divide"),
        Op::ArithRemsi => |site| simple(site, "stablehlo.remainder"),
        Op::ArithDivui => |site| without_sign(site, "stablehlo.divide"),
        Op::ArithRemui => |site| without_sign(site, "stablehlo.remainder"),
        Op::ArithAndi => |site| simple(site, "stablehlo.and"),
        Op::ArithOri => |site| simple(site, "stablehlo.or"),
        Op::ArithXori => |site| simple(site, "stablehlo.xor"),
        Op::ArithShli => |site| simple(site, "stablehlo.shift_left"),
        Op::ArithShrui => |site| simple(site, "stablehlo.shift_right_logical"),
        Op::ArithShrsi => |site| simple(site, "stablehlo.shift_right_arithmetic"),
        Op::ArithMaxsi | Op::ArithMaximumf => |site| simple(site, "stablehlo.maximum"),
        Op::ArithMinsi | Op::ArithMinimumf => |site| simple(site, "stablehlo.minimum"),
        Op::ArithMaxui => |site| without_sign(site, "stablehlo.maximum"),
        Op::ArithMinui => |site| without_sign(site, "stablehlo.minimum"),
        Op::ArithMaxnumf => |site| number(site, "stablehlo.maximum"),
        Op::ArithMinnumf => |site| number(site, "stablehlo.minimum"),
        Op::ArithNegf => |site| simple(site, "stablehlo.negate"),
        Op::ArithCmpi => compared,
        Op::ArithCmpf => compared_floats,
        Op::ArithSelect => selected,
        Op::ArithExtf | Op::ArithTruncf => converted,
        Op::ArithSitofp | Op::ArithExtsi => extended_signed,
        Op::ArithExtui | Op::ArithUitofp | Op::ArithIndexCastui => extended_unsigned,
        Op::ArithIndexCast => converted,
        Op::ArithTrunci => truncated,
        Op::ArithFptosi => converted,
        Op::ArithFptoui => converted_unsigned,
        Op::ArithBitcast => same_bits,
        Op::TpuWeird => weird,
        Op::TpuAssumeLayout => |site| site.operand(0),
        Op::TpuReducePrecision => precision,
        _ => return None,
    })
}

fn simple(site: &mut Site<'_>, name: &'static str) -> Refused<Value> {
    let operands = site.operands.clone();
    if operands.is_empty() {
        return site.refused("no operand");
    }
    Ok(site.code.map(name, &operands))
}

/// Addition, which the vector unit has not for every type.
fn added(site: &mut Site<'_>) -> Refused<Value> {
    let narrow = matches!(site.element, Element::S2 | Element::S4 | Element::S8);
    if narrow && !site.dims.is_empty() && site.core == CoreType::TensorCore {
        let element = site.element;
        return site.refused(format!(
            "Not implemented: Only vector<i16> and vector<i32> are supported, not {element:?}"
        ));
    }
    simple(site, "stablehlo.add")
}

/// Division, which the vector unit has not for every type.
fn divided(site: &mut Site<'_>) -> Refused<Value> {
    if site.element == Element::F16 {
        return site.refused("division of f16 is not supported");
    }
    simple(site, "stablehlo.divide")
}

/// An operation on the elements as unsigned ones.
fn without_sign(site: &mut Site<'_>, name: &'static str) -> Refused<Value> {
    let (a, b) = (site.operand(0)?, site.operand(1)?);
    let element = site.code.element(a);
    let [a, b] = [a, b].map(|value| site.code.bits(value, unsigned(element)));
    let made = site.code.map(name, &[a, b]);
    Ok(site.code.bits(made, element))
}

/// The extreme of two that leaves NaN out.
fn number(site: &mut Site<'_>, name: &'static str) -> Refused<Value> {
    let (a, b) = (site.operand(0)?, site.operand(1)?);
    let extreme = site.code.map(name, &[a, b]);
    let other = site.code.compare("NE", b, b);
    let chosen = site.code.select(other, a, extreme);
    let first = site.code.compare("NE", a, a);
    Ok(site.code.select(first, b, chosen))
}

fn compared(site: &mut Site<'_>) -> Refused<Value> {
    let (mut a, mut b) = (site.operand(0)?, site.operand(1)?);
    let predicate = site.integer("predicate")?;
    let element = site.code.element(a);
    // As a signed number, true is less than false.
    if element == Element::Pred && (2..6).contains(&predicate) {
        (a, b) = (b, a);
    }
    if predicate >= 6 {
        [a, b] = [a, b].map(|value| site.code.bits(value, unsigned(element)));
    }
    let direction = match predicate {
        0 => "EQ",
        1 => "NE",
        2 | 6 => "LT",
        3 | 7 => "LE",
        4 | 8 => "GT",
        5 | 9 => "GE",
        other => return site.refused(format!("predicate {other}")),
    };
    Ok(site.code.compare(direction, a, b))
}

/// JAX writes `one` for `!=`, which holds for NaN.
fn compared_floats(site: &mut Site<'_>) -> Refused<Value> {
    let (a, b) = (site.operand(0)?, site.operand(1)?);
    let code = &mut *site.code;
    let not = |code: &mut crate::lower::code::Code, of: Value| code.map("stablehlo.not", &[of]);
    let dims = code.dims(a);
    let ordered = |code: &mut crate::lower::code::Code| {
        let [first, second] = [a, b].map(|value| code.compare("EQ", value, value));
        code.map("stablehlo.and", &[first, second])
    };
    Ok(match site.operation.integer("predicate").unwrap_or(-1) {
        0 => code.integer(Element::Pred, &dims, 0),
        1 => code.compare("EQ", a, b),
        2 => code.compare("GT", a, b),
        3 => code.compare("GE", a, b),
        4 => code.compare("LT", a, b),
        5 => code.compare("LE", a, b),
        6 | 13 => code.compare("NE", a, b),
        7 => ordered(code),
        8 => {
            let (same, ordered) = (code.compare("EQ", a, b), ordered(code));
            let unordered = not(code, ordered);
            code.map("stablehlo.or", &[same, unordered])
        }
        9 => {
            let other = code.compare("LE", a, b);
            not(code, other)
        }
        10 => {
            let other = code.compare("LT", a, b);
            not(code, other)
        }
        11 => {
            let other = code.compare("GE", a, b);
            not(code, other)
        }
        12 => {
            let other = code.compare("GT", a, b);
            not(code, other)
        }
        14 => {
            let ordered = ordered(code);
            not(code, ordered)
        }
        15 => code.integer(Element::Pred, &dims, 1),
        other => return site.refused(format!("predicate {other}")),
    })
}

fn selected(site: &mut Site<'_>) -> Refused<Value> {
    let (condition, a, b) = (site.operand(0)?, site.operand(1)?, site.operand(2)?);
    Ok(site.code.select(condition, a, b))
}

fn converted(site: &mut Site<'_>) -> Refused<Value> {
    let value = site.operand(0)?;
    Ok(site.code.convert(value, site.element))
}

fn extended_signed(site: &mut Site<'_>) -> Refused<Value> {
    let value = site.operand(0)?;
    let made = site.code.convert(value, site.element);
    // A boolean's one bit is its sign.
    Ok(match site.code.element(value) {
        Element::Pred => site.code.map("stablehlo.negate", &[made]),
        _ => made,
    })
}

fn extended_unsigned(site: &mut Site<'_>) -> Refused<Value> {
    let value = site.operand(0)?;
    let element = site.code.element(value);
    let value = site.code.bits(value, unsigned(element));
    let wide = unsigned(site.element);
    let made = site.code.convert(value, wide);
    Ok(site.code.bits(made, site.element))
}

fn truncated(site: &mut Site<'_>) -> Refused<Value> {
    let value = site.operand(0)?;
    if site.element != Element::Pred {
        return Ok(site.code.convert(value, site.element));
    }
    let (element, dims) = (site.code.element(value), site.code.dims(value));
    let one = site.code.integer(element, &dims, 1);
    let low = site.code.map("stablehlo.and", &[value, one]);
    Ok(site.code.convert(low, Element::Pred))
}

fn converted_unsigned(site: &mut Site<'_>) -> Refused<Value> {
    let value = site.operand(0)?;
    let made = site.code.convert(value, unsigned(site.element));
    Ok(site.code.bits(made, site.element))
}

fn same_bits(site: &mut Site<'_>) -> Refused<Value> {
    let value = site.operand(0)?;
    Ok(site.code.bits(value, site.element))
}

fn weird(site: &mut Site<'_>) -> Refused<Value> {
    let value = site.operand(0)?;
    let dims = site.code.dims(value);
    let none = Attributes::default();
    let finite = site.code.emit("stablehlo.is_finite", &[value], none, Element::Pred, &dims);
    Ok(site.code.map("stablehlo.not", &[finite]))
}

fn precision(site: &mut Site<'_>) -> Refused<Value> {
    use crate::lower::code::attributes;
    use tpu_stablehlo::ir::Attribute;
    let value = site.operand(0)?;
    let bits = |name| -> Refused<Attribute> {
        Ok(Attribute::Integer(site.integer(name)?.into(), Element::S32))
    };
    let of = attributes([
        ("exponent_bits", bits("exponent_bits")?),
        ("mantissa_bits", bits("mantissa_bits")?),
    ]);
    let (element, dims) = (site.element, site.dims.clone());
    Ok(site.code.emit("stablehlo.reduce_precision", &[value], of, element, &dims))
}
