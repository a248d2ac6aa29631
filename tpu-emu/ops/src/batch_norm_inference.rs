//! Batch normalisation by a given mean and variance.
use super::{Entry, Lowered, Site, normalization};
use tpu_base::error::Result;
use tpu_base::tensor::Shape;
use tpu_base::tensor::element::for_dtype;
use tpu_kernels::reduce::batch_norm::inference;

/// `(operand - mean) / sqrt(variance + epsilon) · scale + offset`, the four by their index along
/// `feature_index`.
///
/// Shapes: `operand [o..]`; `scale`, `offset`, `mean`, `variance` `[f]`; result `[o..]`.
/// Errors: `Constraint` C1 to C3 (C3 stands for C4 to C6, too).
/// Source: StableHLO specification, "batch_norm_inference", C1-C7.
pub(super) const OP: Entry = Entry::new("batch_norm_inference", infer, lower);

fn infer(site: &Site<'_>) -> Result<Vec<Shape>> {
    let [operand, ..] = site.exactly::<5>()?;
    normalization::check(site, &[1, 2, 3, 4], "C3")?;
    Ok(vec![operand.clone()])
}

fn lower(site: &Site<'_>) -> Result<Lowered> {
    let dtype = site.operands[0].dtype;
    normalization::lower(site, for_dtype!(dtype, T: Float => inference::<T>))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Case;
    use tpu_base::tensor::DType;
    use tpu_stablehlo::ir::{Attribute, Element};

    fn case(axis: i64, features: usize) -> Case {
        let two =
            |case: Case, values: [f32; 2]| case.value(DType::F32, &[features], &values[..features]);
        let case = Case::new("stablehlo.batch_norm_inference")
            .value(DType::F32, &[2, 2, 2], &[1_f32, 2., 3., 4., 3., 4., 1., 2.])
            .attribute("epsilon", Attribute::Float(0.0, Element::F32))
            .integer("feature_index", axis);
        [[1., 1.], [1., 1.], [2., 3.], [1., 1.]].into_iter().fold(case, two)
    }

    #[test]
    fn the_example_of_the_specification() {
        let expected = [0_f32, 0., 2., 2., 2., 2., 0., 0.];
        assert_eq!(case(2, 2).eval::<f32>(&OP), expected);
    }

    #[test]
    fn every_broken_constraint_is_named() {
        assert!(case(3, 2).shapes(&OP).contains("violates C1"));
        let text = case(2, 1).shapes(&OP);
        assert!(text.contains("violates C3: operand 1 is f32[1] and not f32[2]"), "{text}");
    }
}
