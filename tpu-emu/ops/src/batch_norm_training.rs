//! Batch normalisation by the batch's own mean and variance.
use super::{Entry, Lowered, Site, normalization};
use tpu_base::error::Result;
use tpu_base::tensor::Shape;
use tpu_base::tensor::element::for_dtype;
use tpu_kernels::reduce::batch_norm::training;

/// The mean and the variance over all axes but `feature_index`, and the operand normalised by
/// them.
///
/// Shapes: `operand [o..]`; `scale`, `offset` `[f]`; results `[o..]`, `[f]`, `[f]`.
/// Errors: `Constraint` C1 to C3 (C3 stands for C4, too).
/// Source: StableHLO specification, "batch_norm_training", C1-C7.
pub(super) const OP: Entry = Entry::new("batch_norm_training", infer, lower);

fn infer(site: &Site<'_>) -> Result<Vec<Shape>> {
    let [operand, ..] = site.exactly::<3>()?;
    let feature = normalization::check(site, &[1, 2], "C3")?;
    Ok(vec![operand.clone(), feature.clone(), feature])
}

fn lower(site: &Site<'_>) -> Result<Lowered> {
    let dtype = site.operands[0].dtype;
    normalization::lower(site, for_dtype!(dtype, T: Float => training::<T>))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Case, numbers};
    use tpu_base::tensor::DType;
    use tpu_base::tensor::element::bf16;
    use tpu_stablehlo::ir::{Attribute, Element};

    fn case<T: bytemuck::NoUninit>(dtype: DType, operand: &[T; 8], one: T) -> Case {
        Case::new("stablehlo.batch_norm_training")
            .value(dtype, &[2, 2, 2], operand)
            .value(dtype, &[2], &[one; 2])
            .value(dtype, &[2], &[one; 2])
            .attribute("epsilon", Attribute::Float(0.0, Element::F32))
            .integer("feature_index", 2)
    }

    #[test]
    fn the_example_of_the_specification() {
        let operand = [1_f32, 2., 3., 4., 3., 4., 1., 2.];
        let results = case(DType::F32, &operand, 1.0).run(&OP).unwrap();
        let results: Vec<Vec<f32>> = results.iter().map(|result| numbers(result)).collect();
        assert_eq!(results[0], [0., 0., 2., 2., 2., 2., 0., 0.]);
        assert_eq!((&results[1][..], &results[2][..]), (&[2., 3.][..], &[1., 1.][..]));
    }

    #[test]
    fn narrow_floats_are_summed_without_loss() {
        let operand = [256., 1., 1., 1., 1., 1., 1., 1.].map(bf16::from_f32);
        let results = case(DType::Bf16, &operand, bf16::ONE).run(&OP).unwrap();
        assert_eq!(numbers::<bf16>(&results[1]), [64.75, 1.0].map(bf16::from_f32));
    }
}
