//! `chlo.is_inf`: infinite.
use super::elementwise::{alike, dtype, lane_of};
use super::{Entry, Lowered, Site};
use tpu_base::error::Result;
use tpu_base::tensor::element::{Float, Pred, for_dtype};
use tpu_base::tensor::{DType, Shape};
use tpu_kernels::elementwise::kind::ElementwiseKind;
use tpu_kernels::elementwise::loops::lane;

pub(super) const OP: Entry = Entry::elementwise("is_inf", infer, lower);

/// Whether an element is infinite.
///
/// Shapes: operands and result [d..].
/// Errors: `Constraint` C1 for operands of different types, `BadArgument` for an element type
/// that the operation does not take.
/// Source: CHLO, "is_inf".
fn lower(site: &Site<'_>) -> Result<Lowered> {
    let dtype = dtype(site)?;
    let run = for_dtype!(dtype, T: Float => lane!(|a: T| -> Pred { Pred::from(a.widen().is_infinite()) }));
    lane_of(site, ElementwiseKind::IsInfinite, run, false)
}

fn infer(site: &Site<'_>) -> Result<Vec<Shape>> {
    Ok(vec![alike::<1>(site)?.with(DType::Pred)])
}

#[cfg(test)]
mod tests {
    use super::OP;
    use crate::testing::unary;
    use tpu_base::tensor::element::Pred;

    #[test]
    fn nan_is_not_infinite() {
        let floats = [f32::INFINITY, f32::NEG_INFINITY, f32::NAN, f32::MAX];
        assert_eq!(unary::<_, Pred>(&OP, &floats), [1, 1, 0, 0].map(Pred));
    }
}
