//! `stablehlo.convert`: elements of another type.
use super::elementwise::{alike, dtype, lane_of, result};
use super::{Entry, Lowered, Site};
use std::marker::PhantomData;
use tpu_base::error::Result;
use tpu_base::tensor::element::{Convert, for_dtype};
use tpu_base::tensor::{DType, Shape};
use tpu_kernels::elementwise::kind::ElementwiseKind;
use tpu_kernels::elementwise::loops;
use tpu_kernels::elementwise::loops::Unary;
use tpu_kernels::elementwise::program::{ElementwiseOp, LoopFn};

/// The row of `convert`, which the compiler adds to programs itself, too.
pub const OP: Entry = Entry::elementwise("convert", infer, lower);

/// Every element as the nearest one of the result's type, ties to even.
///
/// Integers wrap. Floats become integers by truncation, saturating, 0 for NaN. Everything but
/// zero is true. Complex numbers lose their imaginary part where the result has none.
///
/// Shapes: operand and result `[d..]`; the result's type is the declared one.
/// Errors: `Constraint` C1 for other extents.
/// Source: StableHLO specification, "convert", C1.
fn infer(site: &Site<'_>) -> Result<Vec<Shape>> {
    let operand = alike::<1>(site)?;
    let declared = site.declared.first().map_or(operand.dtype, |declared| declared.dtype);
    Ok(vec![operand.with(declared)])
}

fn lower(site: &Site<'_>) -> Result<Lowered> {
    let (from, to) = (dtype(site)?, result(site)?);
    if from == to {
        return Ok(Lowered::View);
    }
    lane_of(site, ElementwiseKind::Convert, loop_between(from, to), false)
}

/// The elements of a type as those of another, for conversions that no program has written.
/// `None` where there is no such conversion.
pub fn conversion(from: DType, to: DType) -> Option<ElementwiseOp> {
    Some(ElementwiseOp {
        kind: ElementwiseKind::Convert,
        operand: from,
        result: to,
        run: loop_between(from, to)?,
        immediate: [0; 2],
        transcendental: false,
    })
}

fn loop_between(from: DType, to: DType) -> Option<LoopFn> {
    for_dtype!(from, A: Element => loop_to::<A>(to)).flatten()
}

fn loop_to<A: Convert>(to: DType) -> Option<LoopFn> {
    for_dtype!(to, R: Element => {
        let run: LoopFn = loops::unary::<Cast<A, R>>;
        run
    })
}

struct Cast<A, R>(PhantomData<(A, R)>);

impl<A: Convert, R: Convert> Unary for Cast<A, R> {
    type A = A;
    type R = R;

    #[inline(always)]
    fn at(a: A) -> R {
        a.convert()
    }
}

#[cfg(test)]
mod tests {
    use super::OP;
    use crate::testing::unary;
    use tpu_base::tensor::element::{Complex, F8E4M3FN, Pred, S4, bf16};

    #[test]
    fn floats_truncate_and_saturate() {
        let floats = [1.9_f32, -1.9, 3e9, -3e9, f32::NAN];
        assert_eq!(unary::<_, i32>(&OP, &floats), [1, -1, i32::MAX, i32::MIN, 0]);
        assert_eq!(unary::<_, u8>(&OP, &floats), [1, 0, 255, 0, 0]);
        assert_eq!(unary::<_, Pred>(&OP, &floats), [1, 1, 1, 1, 1].map(Pred));
        assert_eq!(unary::<_, S4>(&OP, &floats), [1, -1, 7, -8, 0].map(S4));
    }

    #[test]
    fn integers_wrap_and_floats_round_to_even() {
        assert_eq!(unary::<_, i8>(&OP, &[300_i32, -129]), [44, 127]);
        assert_eq!(unary::<_, u64>(&OP, &[-1_i8]), [u64::MAX]);
        assert_eq!(unary::<_, bf16>(&OP, &[257_i32, 259]), [256.0, 260.0].map(bf16::from_f32));
        assert_eq!(unary::<_, f32>(&OP, &[u64::MAX]), [18_446_744_073_709_551_616.0]);
        assert_eq!(
            unary::<_, F8E4M3FN>(&OP, &[1.0_f64, 449.0, 1e9]),
            [0x38, 0x7e, 0x7f].map(F8E4M3FN)
        );
    }

    #[test]
    fn complex_numbers_keep_their_imaginary_part_only_among_themselves() {
        let z = [Complex::new(1.5_f32, 2.5), Complex::new(0.0, 1.0)];
        assert_eq!(unary::<_, f64>(&OP, &z), [1.5, 0.0]);
        assert_eq!(unary::<_, Pred>(&OP, &z), [Pred(1), Pred(1)]);
        assert_eq!(unary::<_, Complex<f64>>(&OP, &z)[0], Complex::new(1.5, 2.5));
        assert_eq!(unary::<_, Complex<f32>>(&OP, &[-2_i8]), [Complex::new(-2.0, 0.0)]);
    }
}
