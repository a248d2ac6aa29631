//! `stablehlo.real`: the real parts.
use super::elementwise::{alike, dtype, lane_of};
use super::{Entry, Lowered, Site};
use tpu_base::error::Result;
use tpu_base::tensor::element::{ComplexNumber, for_dtype};
use tpu_base::tensor::{DType, Shape};
use tpu_kernels::elementwise::kind::ElementwiseKind;
use tpu_kernels::elementwise::loops::lane;

pub(super) const OP: Entry = Entry::elementwise("real", infer, lower);

/// The real part. A float is a complex number without an imaginary part.
///
/// Shapes: operand and result `[d..]`; the result of complex numbers has their parts' type.
/// Errors: `BadArgument` for integers and booleans.
/// Source: StableHLO specification, "real", C1 and C2.
fn infer(site: &Site<'_>) -> Result<Vec<Shape>> {
    let operand = alike::<1>(site)?;
    Ok(vec![match operand.dtype {
        DType::C64 => operand.with(DType::F32),
        DType::C128 => operand.with(DType::F64),
        _ => operand.clone(),
    }])
}

fn lower(site: &Site<'_>) -> Result<Lowered> {
    let dtype = dtype(site)?;
    let run = for_dtype!(dtype, T: Complex => lane!(|a: T| -> <T as ComplexNumber>::Part { a.parts().re }))
        .or_else(|| for_dtype!(dtype, T: Float => lane!(|a: T| a)));
    lane_of(site, ElementwiseKind::Real, run, false)
}

#[cfg(test)]
mod tests {
    use super::OP;
    use crate::testing::unary;
    use tpu_base::tensor::element::Complex;

    #[test]
    fn complex_numbers_and_floats_have_the_part() {
        let part: Vec<f64> = unary(&OP, &[Complex::new(1.0_f64, 2.0)]);
        assert_eq!(part, [1.0]);
        assert_eq!(unary::<f32, f32>(&OP, &[3.0]), [3.0]);
    }
}
