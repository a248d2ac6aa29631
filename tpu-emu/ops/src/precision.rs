//! How a product rounds: from the types, the attributes and the machine's numerics.
use super::{Numerics, Site};
use tpu_base::error::{Error, Result};
use tpu_base::tensor::DType;
use tpu_kernels::matmul::accumulate::Rounding;
use tpu_kernels::matmul::precision::{
    Arithmetic, NINE_PASSES, ONE_PASS, Passes, SIX_PASSES, SumType, THREE_PASSES,
};
use tpu_stablehlo::ir::{Attribute, Attributes, Element, Type};

/// Precision asked for, least first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Precision {
    Default,
    High,
    Highest,
}

/// Which part of the chip multiplies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    /// The matrix unit, which rounds as the precision says.
    Matrix,
    /// The vector unit, which rounds no operand, whatever the precision or the algorithm.
    Vector,
}

fn is_complex(dtype: DType) -> bool {
    matches!(dtype, DType::C64 | DType::C128)
}

/// Whether every number of the type is a bf16, or the type is multiplied as it is.
fn is_narrow(dtype: DType) -> bool {
    is_small_float(dtype)
        || matches!(dtype, DType::Pred | DType::Bf16 | DType::F16)
        || matches!(dtype, DType::S2 | DType::S4 | DType::S8 | DType::U2 | DType::U4 | DType::U8)
}

fn is_small_float(dtype: DType) -> bool {
    (DType::F4E2M1FN..=DType::F8E8M0FNU).contains(&dtype)
}

fn is_float(dtype: DType) -> bool {
    is_small_float(dtype) || matches!(dtype, DType::Bf16 | DType::F16 | DType::F32 | DType::F64)
}

/// The type that sums of products are kept in. A result of another kind than the operands (the
/// integers of floats, the real part of complex numbers) is converted when all is summed, where
/// the operands are of one type: that is what XLA sums in, and floats of few bits are not.
fn kind(site: &Site<'_>, operands: [DType; 2], result: DType) -> Result<SumType> {
    let any = |of: DType| operands.contains(&of);
    let complex = operands.into_iter().any(is_complex);
    let float = operands.into_iter().any(is_float);
    let converted = match result {
        DType::Pred => !operands.contains(&DType::Pred),
        other if is_float(other) => complex,
        other => !is_complex(other) && (complex || float),
    };
    let mixed = operands[0] != operands[1];
    if (converted && (mixed || is_small_float(operands[0]))) || (result == DType::Pred && mixed) {
        let [lhs, rhs] = operands.map(DType::name);
        return Err(site.unimplemented(format!("{lhs} by {rhs} as {}", result.name())));
    }
    let wide = any(DType::C128) || any(DType::F64);
    if is_complex(result) || complex {
        return Ok(if wide || result == DType::C128 { SumType::C128 } else { SumType::C64 });
    }
    if is_float(result) || float {
        return Ok(if wide || result == DType::F64 { SumType::F64 } else { SumType::F32 });
    }
    let kept = if result == DType::Pred { operands[0] } else { result };
    Ok(if kept.host_bytes() == 8 { SumType::U64 } else { SumType::U32 })
}

/// What sums are rounded to before they are converted: to the operands' own type where the result
/// is no float.
fn rounded(operands: [DType; 2], result: DType) -> Option<Rounding> {
    if is_float(result) || is_complex(result) {
        return None;
    }
    match operands {
        [DType::F16, DType::F16] => Some(Rounding::F16),
        [DType::Bf16, DType::Bf16] => Some(Rounding::Bf16),
        _ => None,
    }
}

/// The highest precision that the operands ask for.
fn precision(site: &Site<'_>, attributes: &Attributes) -> Result<Precision> {
    let Some(config) = attributes.get("precision_config") else { return Ok(Precision::Default) };
    let Attribute::Array(items) = config else {
        return Err(Error::bad(format!("{}: precision_config is no array", site.name)));
    };
    if !matches!(items.len(), 0 | 2) {
        let what = format!("{}: precision_config has {} elements, not 2", site.name, items.len());
        return Err(Error::bad(what));
    }
    let one = |item: &Attribute| match item.as_str() {
        Some("DEFAULT") => Ok(Precision::Default),
        Some("HIGH") => Ok(Precision::High),
        Some("HIGHEST") => Ok(Precision::Highest),
        _ => Err(site.unimplemented(format!("precision {item:?}"))),
    };
    let mut highest = Precision::Default;
    for item in items {
        highest = highest.max(one(item)?);
    }
    Ok(highest)
}

/// Operand types, type of the sums and number of products of an algorithm, with its name.
const ALGORITHMS: &[(&str, Element, Element, i64, Rounding, SumType, Passes)] = &[
    ("F16_F16_F16", Element::F16, Element::F16, 1, Rounding::F16, SumType::F32, ONE_PASS),
    ("F16_F16_F32", Element::F16, Element::F32, 1, Rounding::F16, SumType::F32, ONE_PASS),
    ("BF16_BF16_BF16", Element::Bf16, Element::Bf16, 1, Rounding::Bf16, SumType::F32, ONE_PASS),
    ("BF16_BF16_F32", Element::Bf16, Element::F32, 1, Rounding::Bf16, SumType::F32, ONE_PASS),
    (
        "BF16_BF16_F32_X3",
        Element::Bf16,
        Element::F32,
        3,
        Rounding::Bf16,
        SumType::F32,
        THREE_PASSES,
    ),
    ("BF16_BF16_F32_X6", Element::Bf16, Element::F32, 6, Rounding::Bf16, SumType::F32, SIX_PASSES),
    ("BF16_BF16_F32_X9", Element::Bf16, Element::F32, 9, Rounding::Bf16, SumType::F32, NINE_PASSES),
    ("TF32_TF32_F32", Element::Tf32, Element::F32, 1, Rounding::Tf32, SumType::F32, ONE_PASS),
    (
        "TF32_TF32_F32_X3",
        Element::Tf32,
        Element::F32,
        3,
        Rounding::Tf32,
        SumType::F32,
        THREE_PASSES,
    ),
    ("F32_F32_F32", Element::F32, Element::F32, 1, Rounding::Exact, SumType::F32, ONE_PASS),
    ("F64_F64_F64", Element::F64, Element::F64, 1, Rounding::Exact, SumType::F64, ONE_PASS),
];

/// The algorithm that the attributes name, if they name one.
fn algorithm(
    site: &Site<'_>,
    attributes: &Attributes,
    operands: [DType; 2],
    result: DType,
) -> Result<Option<Arithmetic>> {
    let element = |name: &str| match attributes.get(name) {
        Some(Attribute::Type(Type::Scalar(element))) => Some(*element),
        _ => None,
    };
    let names = ["lhs_precision_type", "rhs_precision_type", "accumulation_type"];
    let [Some(lhs), Some(rhs), Some(sum)] = names.map(element) else { return Ok(None) };
    let number = |name: &str| attributes.integer(name).unwrap_or(1);
    let products = number("num_primitive_operations");
    let components = [number("lhs_component_count"), number("rhs_component_count")];
    let unknown = || {
        site.unimplemented(format!(
            "algorithm {lhs:?} by {rhs:?} in {sum:?}, components {components:?}, {products} products"
        ))
    };
    if components.iter().any(|count| !(1..=3).contains(count)) {
        return Err(unknown());
    }
    let complex = is_complex(result);
    let small = |element: Element| (Element::F8E3M4..=Element::F8E5M2FNUZ).contains(&element);
    if small(lhs) && small(rhs) && sum == Element::F32 && products == 1 {
        // ANY_F8_ANY_F8_F32, fast or not: operands of these types are multiplied as they are.
        let exact = operands.into_iter().all(is_small_float) && !complex;
        let plain = Arithmetic {
            kind: SumType::F32,
            rounding: Rounding::Exact,
            passes: ONE_PASS,
            sum: None,
        };
        return if exact { Ok(Some(plain)) } else { Err(unknown()) };
    }
    let row = ALGORITHMS.iter().find(|row| (row.1, row.2, row.3) == (lhs, sum, products));
    let Some(&(_, _, _, _, rounding, kind, passes)) = row.filter(|_| lhs == rhs) else {
        return Err(unknown());
    };
    let kind = match kind {
        SumType::F32 if complex => SumType::C64,
        SumType::F64 if complex => SumType::C128,
        kind => kind,
    };
    if !is_float(result) && !complex {
        return Err(unknown());
    }
    let sum = match sum {
        Element::Bf16 => Some(Rounding::Bf16),
        Element::F16 => Some(Rounding::F16),
        _ => None,
    };
    Ok(Some(Arithmetic { kind, rounding, passes, sum }))
}

/// How the product at this site is computed.
pub(super) fn arithmetic(
    site: &Site<'_>,
    attributes: &Attributes,
    operands: [DType; 2],
    result: DType,
    unit: Unit,
) -> Result<Arithmetic> {
    let (kind, sum) = (kind(site, operands, result)?, rounded(operands, result));
    let precision = precision(site, attributes)?;
    let algorithm = algorithm(site, attributes, operands, result)?;
    if unit == Unit::Vector && site.numerics == Numerics::Tpu {
        return Ok(Arithmetic { kind, rounding: Rounding::Exact, passes: ONE_PASS, sum });
    }
    if let Some(arithmetic) = algorithm {
        return Ok(arithmetic);
    }
    let rounds = matches!(kind, SumType::F32 | SumType::C64)
        && site.numerics == Numerics::Tpu
        && !operands.into_iter().all(is_narrow);
    let (rounding, passes) = match precision {
        Precision::Default if rounds => (Rounding::Bf16, ONE_PASS),
        Precision::High if rounds => (Rounding::Bf16, THREE_PASSES),
        _ => (Rounding::Exact, ONE_PASS),
    };
    Ok(Arithmetic { kind, rounding, passes, sum })
}
