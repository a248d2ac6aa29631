//! Arguments for programs: of any type, the same for the same seed.
use crate::random::Random;
use tpu_emu::hbm::spec::ArraySpec;
use tpu_emu::tensor::DType;

/// The bytes of an argument as a client holds them: half of the arrays small whole numbers,
/// the others any bits.
pub fn argument(random: &mut Random, spec: &ArraySpec) -> Vec<u8> {
    let width = spec.dtype.host_bytes();
    let count = usize::try_from(spec.host_size().0).unwrap_or(0) / width.max(1);
    let small = random.once_in(2);
    let mut bytes = Vec::with_capacity(count * width);
    for _ in 0..count {
        element(random, spec.dtype, small, &mut bytes);
    }
    bytes
}

fn element(random: &mut Random, dtype: DType, small: bool, bytes: &mut Vec<u8>) {
    let number = i32::from(random.byte() % 16) - 5;
    match dtype {
        DType::Pred => bytes.push(random.byte() & 1),
        DType::F32 | DType::C64 if small => {
            for _ in 0..dtype.host_bytes() / 4 {
                bytes.extend_from_slice(&(f64::from(number) / 2.0).to_bits().to_le_bytes()[4..]);
            }
        }
        DType::F64 | DType::C128 if small => {
            for _ in 0..dtype.host_bytes() / 8 {
                bytes.extend_from_slice(&(f64::from(number) / 2.0).to_le_bytes());
            }
        }
        _ if dtype.host_bytes() == 1 => {
            let bits = dtype.element().bits.min(8);
            let byte = random.byte() & (0xFF_u8 >> (8 - bits));
            let signed = matches!(dtype, DType::S1 | DType::S2 | DType::S4);
            let negative = signed && byte >> (bits - 1) == 1;
            bytes.push(if negative { byte | !(0xFF_u8 >> (8 - bits)) } else { byte });
        }
        _ if small => {
            let wide = i64::from(number).to_le_bytes();
            bytes.extend((0..dtype.host_bytes()).map(|at| wide[at % 8]));
        }
        _ => bytes.extend((0..dtype.host_bytes()).map(|_| random.byte())),
    }
}
