//! `stablehlo.abs`: absolute values.
use super::elementwise::{alike, dtype, lane_of};
use super::{Entry, Lowered, Site};
use tpu_base::error::Result;
use tpu_base::tensor::element::{ComplexNumber, Real, for_dtype};
use tpu_base::tensor::{DType, Shape};
use tpu_kernels::elementwise::kind::ElementwiseKind;
use tpu_kernels::elementwise::loops::lane;
use tpu_kernels::elementwise::program::LoopFn;
use tpu_kernels::math;
use tpu_kernels::math::complex;

pub(super) const OP: Entry = Entry::elementwise("abs", infer, lower);

/// `|operand|`; the smallest signed integer is its own; the length of a complex number.
///
/// Shapes: operand and result `[d..]`; the result of complex numbers has their parts' type.
/// Errors: `BadArgument` for an element type that the operation does not take.
/// Source: StableHLO specification, "abs", C1 and C2.
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
    let run = for_dtype!(dtype, T: Real => lane!(|a: T| a.magnitude())).or_else(|| {
        for_dtype!(dtype, T: Complex => {
            lane!(|a: T| -> <T as ComplexNumber>::Part {
                <T as ComplexNumber>::Part::from_f64(complex::abs(a.widen()))
            })
        })
    });
    let single: LoopFn = math::complex_simd::abs;
    let run = if dtype == DType::C64 { Some(single) } else { run };
    lane_of(site, ElementwiseKind::Abs, run, false)
}

#[cfg(test)]
mod tests {
    use super::OP;
    use crate::testing::unary;
    use tpu_base::tensor::element::Complex;

    #[test]
    fn the_smallest_integer_stays_and_large_numbers_have_a_length() {
        assert_eq!(unary::<i8, i8>(&OP, &[-128, -3, 5]), [-128, 3, 5]);
        assert_eq!(unary::<_, f32>(&OP, &[Complex::new(3e38_f32, 1e38)]), [3.162_277_8e38]);
        assert_eq!(unary::<f64, f64>(&OP, &[-0.0])[0].to_bits(), 0);
    }
}
