//! `stablehlo.complex`: complex numbers from their parts.
use super::elementwise::{alike, dtype, lane_of};
use super::{Entry, Lowered, Site};
use tpu_base::error::{Error, Result};
use tpu_base::tensor::element::{Complex, for_dtype};
use tpu_base::tensor::{DType, Shape};
use tpu_kernels::elementwise::kind::ElementwiseKind;
use tpu_kernels::elementwise::loops::lane;

pub(super) const OP: Entry = Entry::elementwise("complex", infer, lower);

/// `lhs + i·rhs`.
///
/// Shapes: operands `[d..]` of `f32` or `f64`; result `[d..]` of the complex type.
/// Errors: `Constraint` C1 for operands of different types, `BadArgument` for other types.
/// Source: StableHLO specification, "complex", C1-C3.
fn infer(site: &Site<'_>) -> Result<Vec<Shape>> {
    let part = alike::<2>(site)?;
    Ok(vec![match part.dtype {
        DType::F32 => part.with(DType::C64),
        DType::F64 => part.with(DType::C128),
        _ => return Err(Error::bad(format!("{} does not take {part}", site.name))),
    }])
}

fn lower(site: &Site<'_>) -> Result<Lowered> {
    let dtype = dtype(site)?;
    let run =
        for_dtype!(dtype, T: Wide => lane!(|a: T, b: T| -> Complex<T> { Complex::new(a, b) }));
    lane_of(site, ElementwiseKind::Complex, run, false)
}

#[cfg(test)]
mod tests {
    use super::OP;
    use crate::testing::binary;
    use tpu_base::tensor::element::Complex;
    use tpu_stablehlo::ir::Attributes;

    #[test]
    fn the_first_operand_is_the_real_part() {
        let result: Vec<Complex<f32>> = binary(&OP, &Attributes::default(), &[1.0_f32], &[2.0_f32]);
        assert_eq!(result, [Complex::new(1.0, 2.0)]);
    }
}
