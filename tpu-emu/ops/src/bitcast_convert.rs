//! `stablehlo.bitcast_convert`: the same bits as elements of another type.
use super::elementwise::{alike, dtype, lane_of, result};
use super::{Cost, Cx, Entry, Kernel, Lowered, Site, factors};
use tpu_base::error::Result;
use tpu_base::tensor::element::{Complex, Int, for_dtype};
use tpu_base::tensor::{DType, Shape};
use tpu_kernels::elementwise::kind::ElementwiseKind;
use tpu_kernels::elementwise::loops::lane;

pub(super) const OP: Entry =
    Entry { factors: factors::forwarded, ..Entry::new("bitcast_convert", infer, lower) };

/// The bits of the operand as elements of the declared type, in little-endian order where one
/// element becomes several or several become one.
///
/// Shapes: operand `[d..]`; result `[d..]` for a type of the same width, `[d.., n]` for one that
/// is `n` times narrower; operand `[d.., n]` and result `[d..]` for one that is wider.
/// Errors: `Constraint` C1 for a last axis that does not make up for the widths, C2 for complex
/// numbers from or to others.
/// Source: StableHLO specification, "bitcast_convert", C1 and C2.
fn infer(site: &Site<'_>) -> Result<Vec<Shape>> {
    let operand = alike::<1>(site)?;
    let to = site.declared(0)?.dtype;
    let complex = |dtype| matches!(dtype, DType::C64 | DType::C128);
    if complex(operand.dtype) != complex(to) {
        return Err(site.violates("C2", format!("{} to {}", operand.dtype.name(), to.name())));
    }
    let (from_bits, to_bits) = (width(operand.dtype), width(to));
    let mut dims = operand.dims.to_vec();
    if to_bits < from_bits && from_bits % to_bits == 0 {
        dims.push(from_bits / to_bits);
    } else if to_bits > from_bits {
        let last = dims.pop();
        if last.is_none_or(|last| last.checked_mul(from_bits) != Some(to_bits)) {
            return Err(site.violates("C1", format!("{operand} ends in no {}", to.name())));
        }
    } else if to_bits != from_bits {
        return Err(site.violates("C1", format!("{operand} holds no {}", to.name())));
    }
    Ok(vec![Shape::new(to, dims)])
}

/// Bits that count: booleans have one.
fn width(dtype: DType) -> usize {
    match dtype {
        DType::Pred | DType::S1 | DType::U1 => 1,
        DType::S2 | DType::U2 => 2,
        DType::S4 | DType::U4 | DType::F4E2M1FN => 4,
        DType::F6E2M3FN | DType::F6E3M2FN => 6,
        _ => 8 * dtype.host_bytes(),
    }
}

fn lower(site: &Site<'_>) -> Result<Lowered> {
    let (from, to) = (dtype(site)?, result(site)?);
    let (from_bits, to_bits) = (width(from), width(to));
    let whole = from_bits >= 8 && to_bits >= 8;
    if from == to || (whole && from_bits != to_bits) {
        return Ok(Lowered::View);
    }
    if from_bits != to_bits {
        return Ok(Lowered::Kernel(Box::new(Repack { from_bits, to_bits, signed: signed(to) })));
    }
    macro_rules! copy {
        ($T:ty) => {
            Some(lane!(|a: $T| a))
        };
    }
    let run = match from_bits {
        8 => copy!(u8),
        16 => copy!(u16),
        32 => copy!(u32),
        64 => copy!(u64),
        128 => copy!(Complex<f64>),
        // Narrow types have their upper bits zero or copies of the sign.
        _ => for_dtype!(to, T: Int => lane!(|a: u8| -> T { T::wrap(a.into()) })).or(
            match from_bits {
                1 => Some(lane!(|a: u8| a & 1)),
                4 => Some(lane!(|a: u8| a & 0x0f)),
                6 => Some(lane!(|a: u8| a & 0x3f)),
                _ => None,
            },
        ),
    };
    lane_of(site, ElementwiseKind::BitcastConvert, run, false)
}

fn signed(dtype: DType) -> bool {
    for_dtype!(dtype, T: Int => T::SIGNED).unwrap_or(false)
}

/// Cuts bytes into narrower elements of a byte each, or puts such together.
#[derive(Debug)]
struct Repack {
    from_bits: usize,
    to_bits: usize,
    signed: bool,
}

impl Kernel for Repack {
    fn run(&self, _: &mut Cx<'_>, operands: &[&[u8]], results: &mut [&mut [u8]]) -> Result<()> {
        // Each element as bits, lowest first; narrow ones take the low bits of a byte.
        let from_step = self.from_bits.div_ceil(8);
        let to_step = self.to_bits.div_ceil(8);
        let common = self.from_bits.max(self.to_bits);
        let input = operands[0].chunks_exact(common / self.from_bits * from_step);
        let output = results[0].chunks_exact_mut(common / self.to_bits * to_step);
        for (input, output) in input.zip(output) {
            output.fill(0);
            for bit in 0..common {
                let (element, within) = (bit / self.from_bits, bit % self.from_bits);
                let set = input[element * from_step + within / 8] >> (within % 8) & 1;
                let (element, within) = (bit / self.to_bits, bit % self.to_bits);
                output[element * to_step + within / 8] |= set << (within % 8);
            }
            if self.signed && self.to_bits < 8 {
                for byte in output {
                    let unused = 8 - self.to_bits;
                    *byte = ((*byte << unused).cast_signed() >> unused).cast_unsigned();
                }
            }
        }
        Ok(())
    }

    fn cost(&self) -> Cost {
        Cost::default()
    }
}

#[cfg(test)]
mod tests {
    use super::OP;
    use crate::testing::{Case, unary};
    use tpu_base::tensor::DType;
    use tpu_base::tensor::element::{F4E2M1FN, S4, U4};

    #[test]
    fn bits_stay_and_narrow_types_keep_their_extension() {
        assert_eq!(unary::<f32, u32>(&OP, &[1.0, -0.0]), [0x3f80_0000, 0x8000_0000]);
        assert_eq!(unary::<S4, U4>(&OP, &[S4(-1), S4(5)]), [U4(15), U4(5)]);
        assert_eq!(unary::<F4E2M1FN, S4>(&OP, &[F4E2M1FN(9)]), [S4(-7)]);
    }

    #[test]
    fn bytes_become_nibbles_and_back() {
        let there = Case::new("bitcast_convert").value(DType::U8, &[2], &[0x2f_u8, 0x81]);
        let loose: Vec<u8> = there.declares(DType::S4, &[2, 2]).eval(&OP);
        assert_eq!(loose, [0xff, 0x02, 0x01, 0xf8]);
        let back = Case::new("bitcast_convert").value(DType::S4, &[2, 2], &loose);
        assert_eq!(back.declares(DType::U8, &[2]).eval::<u8>(&OP), [0x2f, 0x81]);
    }

    #[test]
    fn c1_and_c2_widths_that_do_not_fit_are_refused() {
        let case = |dtype, dims: &[usize]| {
            Case::new("bitcast_convert").operand(dtype, dims).declares(DType::F64, &[2])
        };
        assert!(case(DType::F32, &[2, 3]).shapes(&OP).contains("C1"));
        assert!(case(DType::C64, &[2]).shapes(&OP).contains("C2"));
        assert!(matches!(case(DType::F32, &[2, 2]).lower(&OP), Ok(crate::Lowered::View)));
    }
}
