//! `stablehlo.is_finite`: neither infinite nor NaN.
use super::elementwise::{alike, dtype, lane_of};
use super::{Entry, Lowered, Site};
use tpu_base::error::Result;
use tpu_base::tensor::element::{Float, Pred, for_dtype};
use tpu_base::tensor::{DType, Shape};
use tpu_kernels::elementwise::kind::ElementwiseKind;
use tpu_kernels::elementwise::loops::lane;

pub(super) const OP: Entry = Entry::elementwise("is_finite", infer, lower);

/// Whether an element is neither infinite nor NaN.
///
/// Shapes: operand and result `[d..]`; the result is boolean.
/// Errors: `BadArgument` for an element type other than floats.
/// Source: StableHLO specification, "is_finite", C1.
fn infer(site: &Site<'_>) -> Result<Vec<Shape>> {
    Ok(vec![alike::<1>(site)?.with(DType::Pred)])
}

fn lower(site: &Site<'_>) -> Result<Lowered> {
    let dtype = dtype(site)?;
    let run =
        for_dtype!(dtype, T: Float => lane!(|a: T| -> Pred { Pred::from(a.widen().is_finite()) }));
    lane_of(site, ElementwiseKind::IsFinite, run, false)
}

#[cfg(test)]
mod tests {
    use super::OP;
    use crate::testing::unary;
    use tpu_base::tensor::element::{F8E4M3FNUZ, Pred};

    #[test]
    fn infinities_and_nan_are_not_finite() {
        let floats = [1.0_f32, f32::MAX, f32::INFINITY, f32::NAN, 1e-45];
        assert_eq!(unary::<_, Pred>(&OP, &floats), [1, 1, 0, 0, 1].map(Pred));
        let small = [F8E4M3FNUZ(0x80), F8E4M3FNUZ(0x7f)];
        assert_eq!(unary::<_, Pred>(&OP, &small), [0, 1].map(Pred));
    }
}
