//! `stablehlo.reduce_precision`: rounding to the precision of another float type.
use super::elementwise::{dtype, same};
use super::{Entry, Lowered, Site};
use tpu_base::error::{Error, Result};
use tpu_base::tensor::DType;
use tpu_base::tensor::element::{F8E8M0FNU, Int, Real, f16, for_dtype};
use tpu_kernels::elementwise::kind::ElementwiseKind;
use tpu_kernels::elementwise::loops;
use tpu_kernels::elementwise::program::{ElementwiseOp, Immediate, LoopFn};

pub(super) const OP: Entry = Entry::elementwise("reduce_precision", same::<1>, lower);

/// Every element rounded to a float with fewer bits, ties to even; too large ones become
/// infinite, too small ones zero. The type stays.
///
/// Shapes: operand and result `[d..]`.
/// Errors: `Constraint` C2 for no exponent bits, C3 for a negative number of mantissa bits,
/// `BadArgument` for an element type other than floats.
/// Source: StableHLO specification, "reduce_precision", C1-C3.
fn lower(site: &Site<'_>) -> Result<Lowered> {
    let bits = |name: &str, least: i64, constraint| {
        let value = site.attribute(name)?.integer().unwrap_or(-1);
        match u32::try_from(value) {
            Ok(bits) if value >= least => Ok(bits),
            _ => Err(site.violates(constraint, format!("{name} is {value}, not {least} or more"))),
        }
    };
    let immediate = [bits("exponent_bits", 1, "C2")?, bits("mantissa_bits", 0, "C3")?];
    let operand = dtype(site)?;
    let run: LoopFn = match operand {
        DType::F8E8M0FNU => through_f32::<F8E8M0FNU>,
        DType::F16 => run::<u16, 5, 10>,
        DType::Bf16 => run::<u16, 8, 7>,
        DType::F32 => run::<u32, 8, 23>,
        DType::F64 => run::<u64, 11, 52>,
        _ => for_dtype!(operand, T: Small => through_f16::<T> as LoopFn)
            .ok_or_else(|| Error::bad(format!("{} does not take {}", site.name, operand.name())))?,
    };
    Ok(Lowered::Elementwise(ElementwiseOp {
        kind: ElementwiseKind::ReducePrecision,
        operand,
        result: operand,
        run,
        immediate,
        transcendental: false,
    }))
}

/// The floats of eight bits and fewer are rounded as the shortest IEEE float that holds them.
fn through_f16<T: Real>(immediate: Immediate, inputs: &[&[u8]], output: &mut [u8]) {
    let round = rounding::<u16, 5, 10>(immediate);
    each::<T>(inputs, output, |value| {
        f16::from_bits(round(f16::from_f32(value).to_bits())).to_f32()
    });
}

fn through_f32<T: Real>(immediate: Immediate, inputs: &[&[u8]], output: &mut [u8]) {
    let round = rounding::<u32, 8, 23>(immediate);
    each::<T>(inputs, output, |value| f32::from_bits(round(value.to_bits())));
}

fn each<T: Real>(inputs: &[&[u8]], output: &mut [u8], round: impl Fn(f32) -> f32) {
    let (values, output) = (bytemuck::cast_slice(inputs[0]), bytemuck::cast_slice_mut(output));
    loops::each(values, output, |value: T| T::from_f32(round(value.to_f32())));
}

fn run<T: Int, const EXPONENT: u32, const MANTISSA: u32>(
    immediate: Immediate,
    inputs: &[&[u8]],
    output: &mut [u8],
) {
    let (values, output) = (bytemuck::cast_slice(inputs[0]), bytemuck::cast_slice_mut(output));
    loops::each(values, output, rounding::<T, EXPONENT, MANTISSA>(immediate));
}

/// What rounds the bits of a float with so many bits of exponent and mantissa.
fn rounding<T: Int, const EXPONENT: u32, const MANTISSA: u32>(
    [exponent_bits, mantissa_bits]: Immediate,
) -> impl Fn(T) -> T {
    let sign = 1_u64 << (EXPONENT + MANTISSA);
    let infinity = ((1 << EXPONENT) - 1) << MANTISSA;
    let dropped = MANTISSA.saturating_sub(mantissa_bits);
    let last = 1_u64 << dropped;
    let bias = |bits: u32| (1_u64 << (bits - 1)) - 1;
    // The exponents between which numbers stay, both exclusive below and inclusive above.
    let reduced = bias(exponent_bits.min(EXPONENT));
    let narrower = exponent_bits < EXPONENT;
    let lowest = (bias(EXPONENT) - reduced) << MANTISSA;
    let highest = (bias(EXPONENT) + reduced) << MANTISSA;
    move |value: T| {
        let bits = value.bits() & (sign << 1).wrapping_sub(1);
        let size = bits & !sign;
        if size > infinity {
            return value;
        }
        let odd = size >> dropped & 1;
        let half = (last >> 1).saturating_sub(1) + if dropped > 0 { odd } else { 0 };
        let mut rounded = (size + half) & !(last - 1);
        if narrower {
            let exponent = rounded & infinity;
            if exponent > highest {
                rounded = infinity;
            } else if exponent <= lowest {
                rounded = 0;
            }
        }
        T::wrap(bits & sign | rounded)
    }
}

#[cfg(test)]
mod tests {
    use super::OP;
    use crate::testing::Case;
    use tpu_base::tensor::DType;

    fn case(exponent: i64, mantissa: i64, values: &[f32]) -> Case {
        let case = Case::new("reduce_precision").value(DType::F32, &[values.len()], values);
        case.integer("exponent_bits", exponent).integer("mantissa_bits", mantissa)
    }

    fn reduced(exponent: i64, mantissa: i64, values: &[f32]) -> Vec<f32> {
        case(exponent, mantissa, values).eval(&OP)
    }

    #[test]
    fn numbers_round_to_even_overflow_and_vanish() {
        let half = reduced(5, 10, &[1.0 + 1.0 / 2048.0, 65_520.0, 65_519.0, 1e-5, -1e-5, 3.0]);
        assert_eq!(half, [1.0, f32::INFINITY, 65_504.0, 0.0, 0.0, 3.0]);
        assert!(half[4].is_sign_negative());
        assert_eq!(reduced(8, 7, &[1.003_906_3, 1e-40, 3.4e38]), [1.0, 9.183_5e-41, f32::INFINITY]);
        assert_eq!(reduced(8, 23, &[1.1, f32::MAX, 1e-45]), [1.1, f32::MAX, 1e-45]);
    }

    #[test]
    fn c2_a_float_without_an_exponent_is_refused() {
        let refused = case(0, 3, &[1.0]).lower(&OP).unwrap_err();
        assert!(refused.to_string().contains("C2"), "{refused}");
    }
}
