//! Values of floats from their bits.
use crate::ir::Element;

/// A float format of at most 19 bits that has no type in Rust.
struct Format {
    exponent: u32,
    mantissa: u32,
    bias: i32,
    special: Special,
}

/// What the largest exponent means.
enum Special {
    /// Infinity and not-a-number, as in IEEE 754.
    Ieee,
    /// Only all ones is not-a-number.
    OnesNan,
    /// Only the bits of minus zero are not-a-number.
    MinusZeroNan,
    /// Nothing special.
    Finite,
}

/// Bits of a float type.
pub(crate) fn width(of: Element) -> Option<u32> {
    Some(match of {
        Element::F64 => 64,
        Element::F32 => 32,
        Element::F16 | Element::Bf16 => 16,
        Element::F8E8M0FNU => 8,
        other => {
            let format = format(other)?;
            1 + format.exponent + format.mantissa
        }
    })
}

/// The value of a float's bits.
pub(crate) fn value(of: Element, bits: u64) -> Option<f64> {
    let low = |width: u32| bits & (u64::MAX >> (64 - width));
    let low32 = u32::try_from(low(32)).ok()?;
    let low16 = u16::try_from(low(16)).ok()?;
    Some(match of {
        Element::F64 => f64::from_bits(bits),
        Element::F32 => f32::from_bits(low32).into(),
        Element::F16 => half::f16::from_bits(low16).into(),
        Element::Bf16 => half::bf16::from_bits(low16).into(),
        Element::F8E8M0FNU => match low(8) {
            0xFF => f64::NAN,
            exponent => 2_f64.powi(i32::try_from(exponent).ok()? - 127),
        },
        other => decode(&format(other)?, low32)?,
    })
}

fn format(of: Element) -> Option<Format> {
    let (exponent, mantissa, bias, special) = match of {
        Element::F4E2M1FN => (2, 1, 1, Special::Finite),
        Element::F6E2M3FN => (2, 3, 1, Special::Finite),
        Element::F6E3M2FN => (3, 2, 3, Special::Finite),
        Element::F8E3M4 => (3, 4, 3, Special::Ieee),
        Element::F8E4M3 => (4, 3, 7, Special::Ieee),
        Element::F8E4M3FN => (4, 3, 7, Special::OnesNan),
        Element::F8E4M3B11FNUZ => (4, 3, 11, Special::MinusZeroNan),
        Element::F8E4M3FNUZ => (4, 3, 8, Special::MinusZeroNan),
        Element::F8E5M2 => (5, 2, 15, Special::Ieee),
        Element::F8E5M2FNUZ => (5, 2, 16, Special::MinusZeroNan),
        Element::Tf32 => (8, 10, 127, Special::Ieee),
        _ => return None,
    };
    Some(Format { exponent, mantissa, bias, special })
}

fn decode(format: &Format, bits: u32) -> Option<f64> {
    let mantissa = bits & ((1 << format.mantissa) - 1);
    let exponent = (bits >> format.mantissa) & ((1 << format.exponent) - 1);
    let minus = (bits >> (format.mantissa + format.exponent)) & 1 == 1;
    let top = (1 << format.exponent) - 1;
    let ones = (1 << format.mantissa) - 1;
    let sign = if minus { -1.0 } else { 1.0 };
    let special = match format.special {
        Special::Ieee if exponent == top && mantissa == 0 => Some(sign * f64::INFINITY),
        Special::Ieee if exponent == top => Some(f64::NAN),
        Special::OnesNan if exponent == top && mantissa == ones => Some(f64::NAN),
        Special::MinusZeroNan if minus && exponent == 0 && mantissa == 0 => Some(f64::NAN),
        _ => None,
    };
    if special.is_some() {
        return special;
    }
    let fraction = f64::from(mantissa) / f64::from(1_u32 << format.mantissa);
    let (whole, power) = match i32::try_from(exponent).ok()? {
        0 => (0.0, 1 - format.bias),
        exponent => (1.0, exponent - format.bias),
    };
    Some(sign * (whole + fraction) * 2_f64.powi(power))
}

#[cfg(test)]
mod tests {
    use super::value;
    use crate::ir::Element;

    #[test]
    fn small_floats_have_the_values_of_their_formats() {
        for (of, bits, expected) in [
            (Element::F32, 0x3FC0_0000, 1.5),
            (Element::Bf16, 0x3FC0, 1.5),
            (Element::F16, 0x3E00, 1.5),
            (Element::F8E4M3FN, 0x7E, 448.0),
            (Element::F8E5M2, 0x7B, 57344.0),
            (Element::F8E5M2, 0x01, 2_f64.powi(-16)),
            (Element::F8E4M3FNUZ, 0x7F, 240.0),
            (Element::F8E4M3B11FNUZ, 0x7F, 30.0),
            (Element::F8E3M4, 0x6F, 15.5),
            (Element::F4E2M1FN, 0x7, 6.0),
            (Element::F6E2M3FN, 0x1F, 7.5),
            (Element::F6E3M2FN, 0x1F, 28.0),
            (Element::F8E8M0FNU, 0x80, 2.0),
            (Element::Tf32, 0x1FE00, 1.5),
        ] {
            assert_eq!(value(of, bits), Some(expected), "{of:?}");
        }
        assert!(value(Element::F8E4M3FNUZ, 0x80).is_some_and(f64::is_nan));
        assert!(value(Element::F8E4M3FN, 0xFF).is_some_and(f64::is_nan));
        assert_eq!(value(Element::S32, 1), None);
    }
}
