//! The gradients of batch normalisation.
use super::{Entry, Lowered, Site, normalization};
use tpu_base::error::Result;
use tpu_base::tensor::Shape;
use tpu_base::tensor::element::for_dtype;
use tpu_kernels::reduce::batch_norm::gradient;

/// The gradients of `batch_norm_training` in its operand, scale and offset.
///
/// Shapes: `operand [o..]`; `scale`, `mean`, `variance` `[f]`; `grad_output [o..]`; results
/// `[o..]`, `[f]`, `[f]`.
/// Errors: `Constraint` C1 to C3, C5.
/// Source: StableHLO specification, "batch_norm_grad", C1-C5.
pub(super) const OP: Entry = Entry::new("batch_norm_grad", infer, lower);

fn infer(site: &Site<'_>) -> Result<Vec<Shape>> {
    let [operand, _, _, _, gradient] = site.exactly()?;
    let feature = normalization::check(site, &[1, 2, 3], "C5")?;
    if operand != gradient {
        return Err(site.violates("C3", format!("{gradient} for {operand}")));
    }
    Ok(vec![operand.clone(), feature.clone(), feature])
}

fn lower(site: &Site<'_>) -> Result<Lowered> {
    let dtype = site.operands[0].dtype;
    normalization::lower(site, for_dtype!(dtype, T: Float => gradient::<T>))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Case, numbers};
    use tpu_base::tensor::DType;
    use tpu_stablehlo::ir::{Attribute, Element};

    fn case(operand: &[f64; 8], gradient: &[f64; 8]) -> Case {
        Case::new("stablehlo.batch_norm_grad")
            .value(DType::F64, &[2, 2, 2], operand)
            .value(DType::F64, &[2], &[1.0, 1.0])
            .value(DType::F64, &[2], &[2.0, 3.0])
            .value(DType::F64, &[2], &[1.0, 1.0])
            .value(DType::F64, &[2, 2, 2], gradient)
            .attribute("epsilon", Attribute::Float(0.0, Element::F32))
            .integer("feature_index", 2)
    }

    fn results(operand: &[f64; 8], gradient: &[f64; 8]) -> Vec<Vec<f64>> {
        let results = case(operand, gradient).run(&OP).unwrap();
        results.iter().map(|result| numbers(result)).collect()
    }

    const OPERAND: [f64; 8] = [1., 2., 3., 4., 3., 4., 1., 2.];

    #[test]
    fn the_example_of_the_specification() {
        let results = results(&OPERAND, &[0.1; 8]);
        assert!(results[0].iter().all(|value| value.abs() < 1e-12), "{results:?}");
        assert!(results[1].iter().all(|value| value.abs() < 1e-12), "{results:?}");
        assert!(results[2].iter().all(|value| (value - 0.4).abs() < 1e-12), "{results:?}");
    }

    #[test]
    fn a_single_gradient_spreads_over_its_feature() {
        // One element of feature 0 pulls: own share 1 - 1/4, the others -1/4, each less the
        // part along the normalised operand.
        let results = results(&OPERAND, &[1., 0., 0., 0., 0., 0., 0., 0.]);
        assert_eq!(results[0], [0.5, 0., 0., 0., 0., 0., -0.5, 0.]);
        assert_eq!(results[1], [-1., 0.]);
        assert_eq!(results[2], [1., 0.]);
    }
}
