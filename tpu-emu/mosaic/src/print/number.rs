//! Numbers as MLIR writes them.
use tpu_mlir::{Element, float};

/// A float: six digits where they read back the same, else nine or more, else its bits.
pub(super) fn float_text(bits: u64, of: Element) -> String {
    if let Some(value) = float::decode(bits, of).filter(|value| value.is_finite()) {
        let same = |text: &str| {
            text.parse::<f64>().ok().and_then(|value| float::encode(value, of)) == Some(bits)
        };
        let six = exponent(&rounded(value, 6).replace('e', "0e"), 'e');
        if same(&six) {
            return six;
        }
        let precision = precision(of);
        let natural = natural(value, precision);
        if natural.contains('.') && same(&natural) {
            return natural;
        }
    }
    let digits = float::width(of).map_or(16, |width| width.div_ceil(4)) as usize;
    format!("0x{bits:0digits$X}")
}

/// A number with so many digits, rounded half up: `1.5e0`.
fn rounded(value: f64, digits: usize) -> String {
    let exact = format!("{value:.*e}", digits + 30);
    let Some((all, power)) = exact.split_once('e') else { return exact };
    let (sign, all) = match all.strip_prefix('-') {
        Some(all) => ("-", all),
        None => ("", all),
    };
    let mut power: i32 = power.parse().unwrap_or(0);
    let all: Vec<u8> = all.bytes().filter(u8::is_ascii_digit).collect();
    let (kept, rest) = all.split_at(digits);
    let mut kept = kept.to_vec();
    if rest.first().is_some_and(|&digit| digit >= b'5') {
        let nines = kept.iter().rev().take_while(|&&digit| digit == b'9').count();
        let first = digits - nines;
        kept[first..].fill(b'0');
        match first.checked_sub(1) {
            Some(last) => kept[last] += 1,
            None => {
                kept[0] = b'1';
                power += 1;
            }
        }
    }
    let kept: String = kept.into_iter().map(char::from).collect();
    let (first, others) = kept.split_at(1);
    let point = if others.is_empty() { "" } else { "." };
    format!("{sign}{first}{point}{others}e{power}")
}

/// Digits that tell the numbers of a type apart.
fn precision(of: Element) -> usize {
    let bits = match of {
        Element::F64 => 53,
        Element::F32 => 24,
        Element::F16 | Element::Tf32 => 11,
        Element::Bf16 => 8,
        Element::F8E3M4 => 5,
        Element::F8E5M2 | Element::F8E5M2FNUZ | Element::F6E3M2FN => 3,
        Element::F4E2M1FN => 2,
        _ => 4,
    };
    2 + bits * 59 / 196
}

/// `1.5e0` with two digits or more in the exponent, and its sign.
fn exponent(text: &str, letter: char) -> String {
    let Some((digits, exponent)) = text.split_once('e') else { return text.to_owned() };
    let (sign, exponent) = match exponent.strip_prefix('-') {
        Some(exponent) => ('-', exponent),
        None => ('+', exponent),
    };
    let width = if letter == 'E' { 1 } else { 2 };
    format!("{digits}{letter}{sign}{exponent:0>width$}")
}

/// A number of so many digits without zeros at its end: with an exponent where it would need more
/// than three zeros as padding.
fn natural(value: f64, precision: usize) -> String {
    let text = rounded(value, precision);
    let Some((digits, power)) = text.split_once('e') else { return text };
    let Ok(power) = power.parse::<i32>() else { return text };
    let (sign, digits) = match digits.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", digits),
    };
    let digits = digits.replace('.', "");
    let digits = match digits.trim_end_matches('0') {
        "" => "0",
        digits => digits,
    };
    let count = i32::try_from(digits.len()).unwrap_or(i32::MAX);
    // The value is digits * 10^last.
    let last = power - count + 1;
    let scientific = if last >= 0 { last > 3 } else { power < 0 && -power > 3 };
    if scientific {
        let (first, rest) = digits.split_at(1);
        let rest = if rest.is_empty() { "0" } else { rest };
        return exponent(&format!("{sign}{first}.{rest}e{power}"), 'E');
    }
    if last >= 0 {
        let zeros = "0".repeat(usize::try_from(last).unwrap_or(0));
        return format!("{sign}{digits}{zeros}");
    }
    if power >= 0 {
        let (whole, rest) = digits.split_at(usize::try_from(power).unwrap_or(0) + 1);
        return format!("{sign}{whole}.{rest}");
    }
    let zeros = "0".repeat(usize::try_from(-power - 1).unwrap_or(0));
    format!("{sign}0.{zeros}{digits}")
}

#[cfg(test)]
mod tests {
    use super::{float_text, rounded};
    use tpu_mlir::Element;

    #[test]
    fn floats_are_written_as_mlir_does() {
        for (bits, of, expected) in [
            (0, Element::F32, "0.000000e+00"),
            (0x3F80_0000, Element::F32, "1.000000e+00"),
            (0xFF33_3332, Element::F32, "-2.38197633E+38"),
            (0x3EAA_AAAB, Element::F32, "0.333333343"),
            (0x3FB8_AA3B, Element::F32, "1.44269502"),
            (0xBAA4_5408, Element::F32, "-0.00125372503"),
            (0xFF80_0000, Element::F32, "0xFF800000"),
            ((-1.5e-10_f64).to_bits(), Element::F64, "-1.500000e-10"),
            (0x7F80, Element::Bf16, "0x7F80"),
            (0x4049, Element::Bf16, "3.140630e+00"),
            (0x7C, Element::F8E5M2, "0x7C"),
            (0x7E, Element::F8E4M3FN, "4.480000e+02"),
        ] {
            assert_eq!(float_text(bits, of), expected);
        }
    }

    #[test]
    fn halves_are_rounded_up() {
        for (value, digits, expected) in [
            (0.5, 1, "5e-1"),
            (2.5, 1, "3e0"),
            (-9.5, 1, "-1e1"),
            (9.996, 3, "1.00e1"),
            (3.140_625, 6, "3.14063e0"),
            (0.0, 3, "0.00e0"),
        ] {
            assert_eq!(rounded(value, digits), expected);
        }
    }

    #[test]
    fn the_bits_of_what_is_no_number_are_kept() {
        assert_eq!(float_text(0x7FC0_0001, Element::F32), "0x7FC00001");
        assert_eq!(float_text(0xFF, Element::F8E4M3FN), "0xFF");
    }
}
