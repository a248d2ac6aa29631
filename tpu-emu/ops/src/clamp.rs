//! `stablehlo.clamp`: bounds every element.
use super::elementwise::{lane_of, lexical};
use super::{Entry, Lowered, Site};
use tpu_base::error::Result;
use tpu_base::tensor::Shape;
use tpu_base::tensor::element::{Pred, Real, for_dtype};
use tpu_kernels::elementwise::kind::ElementwiseKind;
use tpu_kernels::elementwise::loops::lane;

/// The row of `clamp`, which the compiler adds to programs itself, too.
pub const OP: Entry = Entry::elementwise("clamp", infer, lower);

/// `minimum(maximum(operand, min), max)`; NaN wins over any bound, and complex numbers are compared
/// part by part, the real one first.
///
/// Shapes: `operand` and result `[d..]`; `min`, `max` `[]` or `[d..]`.
/// Errors: `Constraint` C1 or C2 for a bound of another shape, C3 for another element type,
/// `BadArgument` for an element type that the operation does not take.
/// Source: StableHLO specification, "clamp", C1-C4.
fn infer(site: &Site<'_>) -> Result<Vec<Shape>> {
    let [min, operand, max] = site.exactly::<3>()?;
    for (bound, constraint) in [(min, "C1"), (max, "C2")] {
        if bound.rank() != 0 && bound.dims != operand.dims {
            return Err(site.violates(constraint, format!("{bound} does not bound {operand}")));
        }
        if bound.dtype != operand.dtype {
            return Err(site.violates("C3", format!("{bound} and {operand} differ in type")));
        }
    }
    Ok(vec![operand.clone()])
}

fn lower(site: &Site<'_>) -> Result<Lowered> {
    let dtype = site.exactly::<3>()?[1].dtype;
    let run = for_dtype!(dtype, T: Real => {
        lane!(|low: T, a: T, high: T| a.nan_max(low).nan_min(high))
    })
    .or_else(|| {
        for_dtype!(dtype, T: Pred => lane!(|low: T, a: T, high: T| Pred((a.0 | low.0) & high.0)))
    })
    .or_else(|| {
        for_dtype!(dtype, T: Complex => lane!(|low: T, a: T, high: T| {
            let bounded = if lexical(a, low) { low } else { a };
            if lexical(high, bounded) { high } else { bounded }
        }))
    });
    lane_of(site, ElementwiseKind::Clamp, run, false)
}

#[cfg(test)]
mod tests {
    use super::OP;
    use crate::testing::Case;
    use tpu_base::tensor::DType;

    #[test]
    fn bounds_hold_and_nan_survives() {
        let clamp = [[0.0_f32; 4], [-1.0, 0.5, 7.0, f32::NAN], [1.0; 4]].iter();
        let case = clamp.fold(Case::new("clamp"), |case, x| case.value(DType::F32, &[4], x));
        let output: Vec<f32> = case.eval(&OP);
        assert_eq!(output[..3], [0.0, 0.5, 1.0]);
        assert!(output[3].is_nan());
    }

    #[test]
    fn complex_numbers_are_bounded_by_both_parts() {
        let a = [[0.0, 9.0], [1.0, 4.0], [1.0, 6.0], [2.0, 9.0], [3.0, 0.0]];
        let clamp = [[[1.0_f32, 5.0]; 5], a, [[2.0, 2.0]; 5]];
        let of = |case: Case, x: &[[f32; 2]; 5]| case.value(DType::C64, &[5], x);
        let output: Vec<[f32; 2]> = clamp.iter().fold(Case::new("clamp"), of).eval(&OP);
        assert_eq!(output, [[1.0, 5.0], [1.0, 5.0], [1.0, 6.0], [2.0, 2.0], [2.0, 2.0]]);
    }

    #[test]
    fn c1_a_bound_of_another_shape_is_refused() {
        let case = Case::new("clamp").operand(DType::S32, &[2]);
        let refused = case.operand(DType::S32, &[3]).operand(DType::S32, &[3]).shapes(&OP);
        assert!(refused.contains("C1"), "{refused}");
    }
}
