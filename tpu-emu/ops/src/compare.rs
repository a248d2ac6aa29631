//! `stablehlo.compare`: which of two is larger.
use super::elementwise::{alike, dtype, lane_of, lexical};
use super::{Entry, Lowered, Site};
use tpu_base::error::{Error, Result};
use tpu_base::tensor::element::{Element, Pred, Real, for_dtype};
use tpu_base::tensor::{DType, Shape};
use tpu_kernels::elementwise::kind::{Direction, ElementwiseKind, Order};
use tpu_kernels::elementwise::loops::lane;
use tpu_kernels::elementwise::program::{ElementwiseOp, LoopFn};
use tpu_stablehlo::ir::{Attribute, Attributes};

/// The row of `compare`, which the compiler adds to programs itself, too.
pub const OP: Entry = Entry::elementwise("compare", infer, lower);

/// Whether two elements of a type differ.
///
/// # Errors
/// Those of the operation for the type.
pub fn differs(dtype: DType) -> Result<ElementwiseOp> {
    of_scalars("NE", dtype)
}

/// Whether two elements of a type are equal.
///
/// # Errors
/// Those of the operation for the type.
pub(crate) fn equals(dtype: DType) -> Result<ElementwiseOp> {
    of_scalars("EQ", dtype)
}

fn of_scalars(direction: &'static str, dtype: DType) -> Result<ElementwiseOp> {
    let mut attributes = Attributes::default();
    attributes.set("comparison_direction", Attribute::Word(direction.into()));
    OP.on_scalars(&attributes, &[dtype; 2], DType::Pred)
}

/// Whether `lhs` stands in the given relation to `rhs`.
///
/// `FLOAT` compares as IEEE does: NaN is unequal to everything, zeros are equal. `TOTALORDER`
/// puts -NaN first, NaN last and -0 before +0. Complex numbers are ordered by real parts, then
/// by imaginary parts.
///
/// Shapes: operands and result `[d..]`; the result is boolean.
/// Errors: `Constraint` C1 and C2 for operands of different types, C3 for a comparison type that
/// is not the element type's.
/// Source: StableHLO specification, "compare", C1-C4.
fn infer(site: &Site<'_>) -> Result<Vec<Shape>> {
    Ok(vec![alike::<2>(site)?.with(DType::Pred)])
}

fn lower(site: &Site<'_>) -> Result<Lowered> {
    let dtype = dtype(site)?;
    let stated = site.attribute("comparison_direction")?.as_str().unwrap_or_default();
    let order = match site.attributes.text("compare_type") {
        Some("TOTALORDER") if for_dtype!(dtype, T: Float => T::DTYPE).is_some() => Order::Total,
        Some("FLOAT") if for_dtype!(dtype, T: Int => T::DTYPE).is_some() => {
            return Err(site.violates("C3", format!("FLOAT for {}", dtype.name())));
        }
        _ => Order::Value,
    };
    macro_rules! direction {
        ($direction:ident, |$a:ident, $b:ident| $real:expr, $key:expr, $complex:expr) => {{
            let run: Option<LoopFn> = if order == Order::Total {
                for_dtype!(dtype, T: Float => lane!(|x: T, y: T| -> Pred {
                    let ($a, $b) = (x.order_key(), y.order_key());
                    Pred::from($key)
                }))
            } else {
                for_dtype!(dtype, T: Real => lane!(|$a: T, $b: T| -> Pred { Pred::from($real) }))
                    .or_else(|| for_dtype!(dtype, T: Complex => {
                        lane!(|$a: T, $b: T| -> Pred { Pred::from($complex) })
                    }))
                    .or_else(|| for_dtype!(dtype, T: Pred => lane!(|x: T, y: T| -> Pred {
                        let ($a, $b) = (x.0, y.0);
                        Pred::from($key)
                    })))
            };
            (Direction::$direction, run)
        }};
    }
    let (direction, run) = match stated {
        "EQ" => direction!(Eq, |a, b| a.same(b), a == b, a == b),
        "NE" => direction!(Ne, |a, b| !a.same(b), a != b, a != b),
        "LT" => direction!(Lt, |a, b| a.less(b), a < b, lexical(a, b)),
        "LE" => {
            direction!(Le, |a, b| a.less(b) || a.same(b), a <= b, lexical(a, b) || a == b)
        }
        "GT" => direction!(Gt, |a, b| b.less(a), a > b, lexical(b, a)),
        "GE" => {
            direction!(Ge, |a, b| b.less(a) || a.same(b), a >= b, lexical(b, a) || a == b)
        }
        other => return Err(Error::bad(format!("{}: no direction {other}", site.name))),
    };
    lane_of(site, ElementwiseKind::Compare(direction, order), run, false)
}

#[cfg(test)]
mod tests {
    use super::OP;
    use crate::testing::binary;
    use tpu_base::tensor::element::{Complex, Element, Pred};
    use tpu_stablehlo::ir::{Attribute, Attributes};

    fn compare<T: Element>(
        direction: &'static str,
        kind: &'static str,
        a: &[T],
        b: &[T],
    ) -> Vec<u8> {
        let mut attributes = Attributes::default();
        attributes.set("comparison_direction", Attribute::Word(direction.into()));
        attributes.set("compare_type", Attribute::Word(kind.into()));
        let result: Vec<Pred> = binary(&OP, &attributes, a, b);
        result.into_iter().map(|holds| holds.0).collect()
    }

    #[test]
    fn nan_is_unequal_to_everything_but_in_the_total_order() {
        let (a, b) = ([1.0_f32, f32::NAN, f32::NAN, 0.0], [2.0, 1.0, f32::NAN, -0.0]);
        let of = |direction| compare(direction, "FLOAT", &a, &b);
        assert_eq!(["EQ", "NE", "LT"].map(of), [[0, 0, 0, 1], [1, 1, 1, 0], [1, 0, 0, 0]]);
        assert_eq!(["LE", "GT", "GE"].map(of), [[1, 0, 0, 1], [0, 0, 0, 0], [0, 0, 0, 1]]);
        let of = |direction| compare(direction, "TOTALORDER", &a, &b);
        assert_eq!(["EQ", "GT", "GE"].map(of), [[0, 0, 1, 0], [0, 1, 0, 1], [0, 1, 1, 1]]);
    }

    #[test]
    fn integers_booleans_and_complex_numbers_compare() {
        assert_eq!(compare("LT", "UNSIGNED", &[1_u64, u64::MAX], &[u64::MAX, 1]), [1, 0]);
        assert_eq!(compare("LT", "SIGNED", &[-1_i64], &[1]), [1]);
        assert_eq!(compare("GT", "UNSIGNED", &[Pred(1)], &[Pred(0)]), [1]);
        let z = |re, im| Complex::<f32>::new(re, im);
        assert_eq!(
            compare("EQ", "FLOAT", &[z(1.0, 2.0), z(0.0, 0.0)], &[z(1.0, 2.0), z(0.0, 1.0)]),
            [1, 0]
        );
    }
}
