//! Programs that check themselves: two arrays agree, or the run fails.
use super::super::{Cost, Cx, Entry, Kernel, Lowered, Site};
use std::sync::Arc;
use tpu_base::error::{Error, Result};
use tpu_base::tensor::element::{ComplexNumber, Element, Float, Int, Pred, Real, for_dtype};
use tpu_base::tensor::{DType, Shape};
use tpu_stablehlo::ir::Attribute;

/// Compares the first operand (actual) with the second, or with the attribute `value`
/// (expected).
///
/// * `expect_eq`: equal; NaN equals nothing, both zeros are equal.
/// * `expect_close`: at least `min_ulp_difference` (0) and at most `max_ulp_difference` (3)
///   floats lie from one to the other; NaN is at NaN, other non-finite ones only at themselves.
/// * `expect_almost_eq`: at most `tolerance` (0.001) apart; NaN is at NaN.
///
/// Shapes: two of the same; no result.
/// Errors: `BadArgument` with the first index that differs and both elements.
/// Source: StableHLO's check dialect, and its interpreter's defaults for the custom calls.
pub(super) const TARGETS: &[Entry] = &[
    row("check.expect_almost_eq", infer_two),
    row("check.expect_almost_eq_const", infer_one),
    row("check.expect_close", infer_two),
    row("check.expect_eq", infer_two),
    row("check.expect_eq_const", infer_one),
];

const fn row(mnemonic: &'static str, infer: fn(&Site<'_>) -> Result<Vec<Shape>>) -> Entry {
    Entry::target(mnemonic, infer, lower)
}

fn infer_two(site: &Site<'_>) -> Result<Vec<Shape>> {
    let [actual, expected] = site.exactly()?;
    if actual != expected {
        return Err(Error::bad(format!("{}: {actual} and {expected}", site.name)));
    }
    Ok(Vec::new())
}

fn infer_one(site: &Site<'_>) -> Result<Vec<Shape>> {
    let [actual] = site.exactly()?;
    expected(site, actual)?;
    Ok(Vec::new())
}

/// The attribute `value`, written out.
fn expected(site: &Site<'_>, actual: &Shape) -> Result<Arc<[u8]>> {
    let Attribute::Elements(value) = site.attribute("value")? else {
        return Err(Error::bad(format!("{}: value is no dense array", site.name)));
    };
    let same = value.of.dims.len() == actual.rank()
        && value.of.dims.iter().zip(&actual.dims).all(|(&a, &b)| usize::try_from(a) == Ok(b));
    let count = if value.splat { actual.elements() } else { 1 };
    if !same || value.data.len().checked_mul(count) != Some(actual.bytes()) {
        let (of, dims) = (value.of.element, &value.of.dims);
        return Err(Error::bad(format!("{}: {actual} and {of:?}{dims:?}", site.name)));
    }
    Ok(value.data.repeat(count).into())
}

fn lower(site: &Site<'_>) -> Result<Lowered> {
    let number = |name: &str, default: u64| {
        let given = site.attributes.integer(name).and_then(|value| u64::try_from(value).ok());
        given.unwrap_or(default)
    };
    let rule = match site.name {
        "check.expect_eq" | "check.expect_eq_const" => Rule::Equal,
        "check.expect_close" => {
            Rule::Close(number("min_ulp_difference", 0), number("max_ulp_difference", 3))
        }
        _ => Rule::Almost(match site.attributes.get("tolerance") {
            Some(Attribute::Float(tolerance, _)) => *tolerance,
            _ => 0.001,
        }),
    };
    let shape = &site.operands[0];
    let find = differing(shape.dtype, rule)
        .ok_or_else(|| site.unimplemented(format!("elements of {}", shape.dtype.name())))?;
    let expected = if site.operands.len() == 1 { Some(expected(site, shape)?) } else { None };
    let (name, shape) = (site.name.to_owned(), shape.clone());
    Ok(Lowered::Kernel(Box::new(Check { name, shape, rule, find, expected })))
}

/// When two elements agree.
#[derive(Debug, Clone, Copy)]
enum Rule {
    Equal,
    Close(u64, u64),
    Almost(f64),
}

impl Rule {
    fn agrees<T: Float>(self, a: T, b: T) -> bool {
        match self {
            Self::Equal => a.same(b),
            Self::Close(min, max) => (min..=max).contains(&distance(a, b)),
            Self::Almost(tolerance) => {
                let (x, y) = (a.to_f64(), b.to_f64());
                a.same(b)
                    || (x.is_nan() && y.is_nan())
                    || (x.is_finite() && y.is_finite() && (x - y).abs() <= tolerance)
            }
        }
    }
}

/// How many floats lie from one to the other.
fn distance<T: Float>(a: T, b: T) -> u64 {
    let same = bytemuck::bytes_of(&a) == bytemuck::bytes_of(&b);
    let (x, y) = (a.to_f64(), b.to_f64());
    if same || (x.is_nan() && y.is_nan()) {
        return 0;
    }
    if !x.is_finite() || !y.is_finite() {
        return u64::MAX;
    }
    let from_zero = |value: T| {
        let mut bits = [0; 8];
        let magnitude = value.magnitude();
        let bytes = bytemuck::bytes_of(&magnitude);
        bits[..bytes.len()].copy_from_slice(bytes);
        u64::from_le_bytes(bits)
    };
    let (m, n) = (from_zero(a), from_zero(b));
    if x.is_sign_negative() == y.is_sign_negative() { m.abs_diff(n) } else { m + n }
}

/// The first elements that do not agree: index and both as text.
type Differing = fn(rule: Rule, a: &[u8], b: &[u8]) -> Option<(usize, String)>;

fn differing(dtype: DType, rule: Rule) -> Option<Differing> {
    let float: Option<Differing> = for_dtype!(dtype, T: Float => floats::<T>);
    let complex = || for_dtype!(dtype, T: Complex => complexes::<T> as Differing);
    let exact = || match rule {
        Rule::Equal if dtype == DType::Pred => Some(preds as Differing),
        Rule::Equal => for_dtype!(dtype, T: Int => integers::<T> as Differing),
        _ => None,
    };
    float.or_else(complex).or_else(exact)
}

fn first<T: Element>(
    a: &[u8],
    b: &[u8],
    agrees: impl Fn(T, T) -> bool,
    text: impl Fn(T, T) -> String,
) -> Option<(usize, String)> {
    let (a, b): (&[T], &[T]) = (bytemuck::cast_slice(a), bytemuck::cast_slice(b));
    let at = a.iter().zip(b).position(|(&a, &b)| !agrees(a, b))?;
    Some((at, text(a[at], b[at])))
}

fn floats<T: Float>(rule: Rule, a: &[u8], b: &[u8]) -> Option<(usize, String)> {
    first::<T>(
        a,
        b,
        |a, b| rule.agrees(a, b),
        |a, b| format!("{:e} instead of {:e}", a.to_f64(), b.to_f64()),
    )
}

fn complexes<T: ComplexNumber>(rule: Rule, a: &[u8], b: &[u8]) -> Option<(usize, String)> {
    let agrees = |a: T, b: T| {
        let (a, b) = (a.parts(), b.parts());
        rule.agrees(a.re, b.re) && rule.agrees(a.im, b.im)
    };
    first::<T>(a, b, agrees, |a, b| format!("{:?} instead of {:?}", a.parts(), b.parts()))
}

fn integers<T: Int>(_: Rule, a: &[u8], b: &[u8]) -> Option<(usize, String)> {
    first::<T>(a, b, Real::same, |a, b| {
        let show = |value: T| {
            let bits = value.bits();
            if T::SIGNED { bits.cast_signed().to_string() } else { bits.to_string() }
        };
        format!("{} instead of {}", show(a), show(b))
    })
}

fn preds(_: Rule, a: &[u8], b: &[u8]) -> Option<(usize, String)> {
    first::<Pred>(a, b, |a, b| a == b, |a, b| format!("{a:?} instead of {b:?}"))
}

#[derive(Debug)]
struct Check {
    name: String,
    shape: Shape,
    rule: Rule,
    find: Differing,
    /// `None` where it is the second operand.
    expected: Option<Arc<[u8]>>,
}

impl Kernel for Check {
    fn run(&self, _: &mut Cx<'_>, operands: &[&[u8]], _: &mut [&mut [u8]]) -> Result<()> {
        let found = match &self.expected {
            None => (self.find)(self.rule, operands[0], operands[1]),
            Some(value) => {
                // The attribute's bytes lie anywhere; elements are compared one by one in place.
                let width = self.shape.dtype.host_bytes();
                let mut pairs = operands[0].chunks_exact(width).zip(value.chunks_exact(width));
                let mut at = 0;
                pairs.find_map(|(a, b)| {
                    let mut room = [0_u128; 2];
                    let (x, y) = room.split_at_mut(1);
                    let (x, y) = (bytemuck::cast_slice_mut(x), bytemuck::cast_slice_mut(y));
                    x[..width].copy_from_slice(a);
                    y[..width].copy_from_slice(b);
                    let found = (self.find)(self.rule, &x[..width], &y[..width]);
                    at += 1;
                    found.map(|(_, text)| (at - 1, text))
                })
            }
        };
        let Some((at, text)) = found else { return Ok(()) };
        let strides = self.shape.strides();
        let axes = strides.iter().zip(&self.shape.dims);
        let index: Vec<usize> = axes.map(|(stride, dim)| at / stride % dim).collect();
        let (name, shape) = (&self.name, &self.shape);
        Err(Error::bad(format!("{name}: {text} at index {index:?} of {shape}")))
    }

    fn cost(&self) -> Cost {
        Cost::default()
    }
}

#[cfg(test)]
mod tests {
    use super::super::find;
    use super::*;
    use crate::testing::{Case, bytes};
    use tpu_stablehlo::ir::{Elements, TensorType};

    fn verdict<T: bytemuck::NoUninit>(
        name: &'static str,
        dtype: DType,
        a: &[T],
        b: &[T],
    ) -> String {
        let case = Case::new(name).value(dtype, &[a.len()], a).value(dtype, &[b.len()], b);
        match case.run(find(name).unwrap()) {
            Ok(_) => "agree".to_owned(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn equality_is_of_numbers() {
        let check = |a: &[f32], b: &[f32]| verdict("check.expect_eq", DType::F32, a, b);
        assert_eq!(check(&[1.0, -0.0], &[1.0, 0.0]), "agree");
        let text = check(&[1.0, 2.0], &[1.0, 2.5]);
        assert_eq!(text, "check.expect_eq: 2e0 instead of 2.5e0 at index [1] of f32[2]");
        assert!(check(&[f32::NAN], &[f32::NAN]).contains("NaN instead of NaN"));
        assert!(verdict("check.expect_eq", DType::S8, &[-1_i8], &[1]).contains("-1 instead of 1"));
        assert_eq!(verdict("check.expect_eq", DType::Pred, &[1_u8], &[1]), "agree");
    }

    #[test]
    fn closeness_counts_floats_across_zero() {
        let check = |a: f32, b: f32| verdict("check.expect_close", DType::F32, &[a], &[b]);
        let next = |value: f32, steps: u32| f32::from_bits(value.to_bits() + steps);
        assert_eq!(check(1.0, next(1.0, 3)), "agree");
        assert!(check(1.0, next(1.0, 4)).contains("instead of"));
        assert_eq!(check(next(0.0, 1), -next(0.0, 2)), "agree");
        assert!(check(next(0.0, 2), -next(0.0, 2)).contains("instead of"));
        assert_eq!(check(f32::NAN, -f32::NAN), "agree");
        assert!(check(f32::MAX, f32::INFINITY).contains("instead of"));
        assert!(verdict("check.expect_close", DType::S8, &[1_i8], &[1]).contains("elements of s8"));
    }

    #[test]
    fn a_tolerance_is_absolute() {
        let name = "check.expect_almost_eq";
        assert_eq!(verdict(name, DType::F64, &[1.0, f64::NAN], &[1.0009, f64::NAN]), "agree");
        assert!(verdict(name, DType::F64, &[1.0], &[1.0011]).contains("instead of"));
        let complex = |values: &[f32]| {
            let case = Case::new(name).value(DType::C64, &[1], values);
            case.value(DType::C64, &[1], &[1_f32, 2.0]).run(find(name).unwrap())
        };
        assert!(complex(&[1.0, 2.0]).is_ok());
        assert!(complex(&[1.0, 2.1]).unwrap_err().to_string().contains("2.1"));
    }

    #[test]
    fn constants_are_compared_element_by_element() {
        let of = TensorType::new(tpu_stablehlo::ir::Element::S32, vec![2, 2]);
        let elements = Elements { of, data: bytes(&[5_i32]).into(), splat: true };
        let name = "check.expect_eq_const";
        let case = |values: [i32; 4]| {
            let value = Attribute::Elements(elements.clone());
            let case = Case::new(name).value(DType::S32, &[2, 2], &values);
            case.attribute("value", value).run(find(name).unwrap())
        };
        assert!(case([5; 4]).is_ok());
        let text = case([5, 5, 6, 5]).unwrap_err().to_string();
        assert_eq!(text, "check.expect_eq_const: 6 instead of 5 at index [1, 0] of s32[2,2]");
    }
}
