//! Floats of every width: bits from numbers and back. Rounding is to the nearest, ties to even.
use crate::element::Element;

/// How a format spends its bits.
#[derive(Debug, Clone, Copy)]
struct Format {
    exponent: u32,
    mantissa: u32,
    bias: i32,
    special: Special,
}

/// What a format does with values that are not finite.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Special {
    /// As IEEE 754 has it.
    Ieee,
    /// No infinities; all bits set is not a number.
    NanOnly,
    /// No infinities and no negative zero, whose bits are not a number.
    NanIsMinusZero,
    /// Neither.
    FiniteOnly,
}

fn format(element: Element) -> Option<Format> {
    let (exponent, mantissa, bias, special) = match element {
        Element::F64 => (11, 52, 1023, Special::Ieee),
        Element::F32 => (8, 23, 127, Special::Ieee),
        Element::Tf32 => (8, 10, 127, Special::Ieee),
        Element::Bf16 => (8, 7, 127, Special::Ieee),
        Element::F16 => (5, 10, 15, Special::Ieee),
        Element::F8E5M2 => (5, 2, 15, Special::Ieee),
        Element::F8E4M3 => (4, 3, 7, Special::Ieee),
        Element::F8E3M4 => (3, 4, 3, Special::Ieee),
        Element::F8E4M3FN => (4, 3, 7, Special::NanOnly),
        Element::F8E5M2FNUZ => (5, 2, 16, Special::NanIsMinusZero),
        Element::F8E4M3FNUZ => (4, 3, 8, Special::NanIsMinusZero),
        Element::F8E4M3B11FNUZ => (4, 3, 11, Special::NanIsMinusZero),
        Element::F6E2M3FN => (2, 3, 1, Special::FiniteOnly),
        Element::F6E3M2FN => (3, 2, 3, Special::FiniteOnly),
        Element::F4E2M1FN => (2, 1, 1, Special::FiniteOnly),
        _ => return None,
    };
    Some(Format { exponent, mantissa, bias, special })
}

/// Bits of a float of this type; `None` for no float.
pub fn width(element: Element) -> Option<u32> {
    if element == Element::F8E8M0FNU {
        return Some(8);
    }
    format(element).map(|format| 1 + format.exponent + format.mantissa)
}

/// `value` in a type's bits. `None` if the type has nothing for it, as the types without
/// infinities and without NaN have no NaN.
pub fn encode(value: f64, element: Element) -> Option<u64> {
    if element == Element::F64 {
        return Some(value.to_bits());
    }
    if element == Element::F8E8M0FNU {
        return encode_scale(value);
    }
    let format = format(element)?;
    let sign = u64::from(value.is_sign_negative()) << (format.exponent + format.mantissa);
    let unsigned = finite(value.abs(), format);
    let largest = largest(format);
    let nan = match format.special {
        Special::Ieee => {
            (((1 << format.exponent) - 1) << format.mantissa) | (1 << (format.mantissa - 1))
        }
        Special::NanOnly => (1 << (format.exponent + format.mantissa)) - 1,
        Special::NanIsMinusZero => 1 << (format.exponent + format.mantissa),
        Special::FiniteOnly => 0,
    };
    if value.is_nan() {
        return match format.special {
            Special::Ieee => Some(sign | nan),
            Special::NanOnly | Special::NanIsMinusZero => Some(nan),
            Special::FiniteOnly => None,
        };
    }
    Some(match unsigned.filter(|&bits| bits <= largest) {
        Some(0) if format.special == Special::NanIsMinusZero => 0,
        Some(bits) => sign | bits,
        None => match format.special {
            Special::Ieee => sign | (largest + 1),
            Special::NanOnly => sign | nan,
            Special::NanIsMinusZero => nan,
            Special::FiniteOnly => sign | largest,
        },
    })
}

/// The largest finite number.
fn largest(format: Format) -> u64 {
    match format.special {
        Special::Ieee => (((1 << format.exponent) - 1) << format.mantissa) - 1,
        Special::NanOnly => (1 << (format.exponent + format.mantissa)) - 2,
        Special::NanIsMinusZero | Special::FiniteOnly => {
            (1 << (format.exponent + format.mantissa)) - 1
        }
    }
}

/// A number without its sign in bits, past [`largest`] where it does not fit.
fn finite(value: f64, format: Format) -> Option<u64> {
    if !value.is_finite() {
        return None;
    }
    let bits = value.to_bits();
    let stored = i32::try_from(bits >> 52).ok()?;
    let fraction = bits & ((1 << 52) - 1);
    // The value is significand * 2^(exponent - 52).
    let (significand, exponent) =
        if stored == 0 { (fraction, -1022) } else { (fraction | (1 << 52), stored - 1023) };
    let lowest = 1 - format.bias;
    // Bits to cut off the significand so that one unit is the format's unit there.
    let short = lowest.saturating_sub(exponent).max(0).unsigned_abs();
    let cut = 52 - format.mantissa + short;
    let kept = if cut >= 64 { 0 } else { round(significand, cut) };
    let field = u64::try_from((exponent - lowest).max(0)).ok()?;
    // The implicit bit of a normal number carries into the exponent's field by addition.
    Some((field << format.mantissa) + kept)
}

/// `value / 2^cut`, rounded.
fn round(value: u64, cut: u32) -> u64 {
    if cut == 0 {
        return value;
    }
    let kept = value >> cut;
    let rest = value & ((1 << cut) - 1);
    let half = 1 << (cut - 1);
    kept + u64::from(rest > half || (rest == half && kept & 1 == 1))
}

/// A power of two in eight bits; there is no zero and no sign.
fn encode_scale(value: f64) -> Option<u64> {
    if value.is_nan() || value < 0.0 || value.is_infinite() {
        return Some(0xff);
    }
    let bits = value.to_bits();
    let exponent = i64::try_from(bits >> 52).ok()? - 1023 + 127;
    let fraction = bits & ((1 << 52) - 1);
    // Half the way up is the tie; the even one of two neighbours wins.
    let half = 1 << 51;
    let up = fraction > half || (fraction == half && exponent & 1 == 1);
    let field = exponent + i64::from(up);
    if field > 254 { Some(0xff) } else { u64::try_from(field.max(0)).ok() }
}

/// The number that bits of a type stand for; `None` for no float.
pub fn decode(bits: u64, element: Element) -> Option<f64> {
    if element == Element::F64 {
        return Some(f64::from_bits(bits));
    }
    if element == Element::F8E8M0FNU {
        let exponent = i32::try_from(bits & 0xff).ok()? - 127;
        return Some(if bits & 0xff == 0xff { f64::NAN } else { 2_f64.powi(exponent) });
    }
    let format = format(element)?;
    let place = format.exponent + format.mantissa;
    let unsigned = bits & ((1 << place) - 1);
    let negative = bits >> place & 1 == 1;
    let largest = largest(format);
    if format.special == Special::NanIsMinusZero && negative && unsigned == 0 {
        return Some(f64::NAN);
    }
    let value = if unsigned > largest {
        if format.special == Special::Ieee && unsigned == largest + 1 {
            f64::INFINITY
        } else {
            f64::NAN
        }
    } else {
        let field = i32::try_from(unsigned >> format.mantissa).ok()?;
        let fraction = u32::try_from(unsigned & ((1 << format.mantissa) - 1)).ok()?;
        let implicit = if field == 0 { 0 } else { 1_u32 << format.mantissa };
        let unit = field.max(1) - format.bias - i32::try_from(format.mantissa).ok()?;
        // Small powers of two and products by them are exact; the lowest unit of f32 is 2^-149.
        f64::from(fraction + implicit) * 2_f64.powi(unit)
    };
    Some(if negative { -value } else { value })
}

#[cfg(test)]
mod tests {
    use super::{Element, decode, encode};

    #[test]
    fn every_pattern_of_a_narrow_type_comes_back() {
        let narrow = [
            (Element::F8E5M2, 8),
            (Element::F8E4M3, 8),
            (Element::F8E3M4, 8),
            (Element::F8E4M3FN, 8),
            (Element::F8E5M2FNUZ, 8),
            (Element::F8E4M3FNUZ, 8),
            (Element::F8E4M3B11FNUZ, 8),
            (Element::F6E2M3FN, 6),
            (Element::F6E3M2FN, 6),
            (Element::F4E2M1FN, 4),
            (Element::F8E8M0FNU, 8),
            (Element::Bf16, 16),
            (Element::F16, 16),
        ];
        for (element, width) in narrow {
            for bits in 0..1_u64 << width {
                let value = decode(bits, element).unwrap();
                if !value.is_nan() {
                    assert_eq!(encode(value, element), Some(bits), "{element:?} {bits:#x} {value}");
                }
            }
        }
    }

    #[test]
    fn rounding_to_f32_agrees_with_the_processor() {
        for index in 0..200_000_u64 {
            let bits = index.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (index << 31);
            // Exponents near those of f32 and f16, fractions with long runs of zeros among them.
            let exponent = 1023 - 160 + (bits >> 20) % 320;
            let fraction = bits & ((1 << 52) - 1) & (u64::MAX << (index % 52));
            let value = f64::from_bits((bits & (1 << 63)) | exponent << 52 | fraction);
            #[expect(
                clippy::cast_possible_truncation,
                reason = "the rounding of the processor is the oracle"
            )]
            let single = value as f32;
            assert_eq!(encode(value, Element::F32), Some(single.to_bits().into()), "{value:e}");
        }
    }

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
            assert_eq!(decode(bits, of), Some(expected), "{of:?}");
        }
        assert!(decode(0x80, Element::F8E4M3FNUZ).is_some_and(f64::is_nan));
        assert!(decode(0xFF, Element::F8E4M3FN).is_some_and(f64::is_nan));
        assert_eq!(decode(1, Element::S32), None);
    }

    #[test]
    fn no_neighbour_is_nearer_and_ties_are_even() {
        for element in
            [Element::Bf16, Element::F16, Element::F8E4M3FN, Element::F8E5M2, Element::F8E4M3FNUZ]
        {
            for index in 0..20_000_u64 {
                let bits = index.wrapping_mul(0x9e37_79b9_7f4a_7c15);
                let fraction = bits & ((1 << 52) - 1) & (u64::MAX << (index % 52));
                // Between 2^-9 and 2^7, where each of the types has numbers on both sides.
                let value = f64::from_bits((1023 - 9 + bits % 16) << 52 | fraction);
                let found = encode(value, element).unwrap();
                let error = |bits: u64| (decode(bits, element).unwrap() - value).abs();
                for other in [found + 1, found.saturating_sub(1)] {
                    assert!(error(found) <= error(other), "{element:?} {value:e} {found:#x}");
                    let tie = other != found && error(found) == error(other);
                    assert!(!tie || found.is_multiple_of(2), "{element:?} {value:e} {found:#x}");
                }
            }
        }
    }

    #[test]
    fn too_large_a_number_is_what_the_type_has_for_it() {
        assert_eq!(encode(1e9, Element::F8E4M3FN), Some(0x7f));
        assert_eq!(encode(-1e9, Element::F8E5M2), Some(0xfc));
        assert_eq!(encode(1e9, Element::F8E4M3FNUZ), Some(0x80));
        assert_eq!(encode(1e9, Element::F4E2M1FN), Some(0x7));
    }
}
