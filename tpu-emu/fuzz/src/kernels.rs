//! Damage to the modules of Pallas kernels, which stand in the text of programs in base64.
use crate::bytes;
use crate::random::Random;
use std::ops::Range;

/// What stands before a module.
const BEFORE: &str = r"\22body\22: \22";

/// The digits of base64.
const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Damages one of the kernels of a program, with parts of those of other programs; whether there
/// was one.
pub fn damage(random: &mut Random, source: &mut String, others: &[&str]) -> bool {
    let places = modules(source);
    if places.is_empty() {
        return false;
    }
    let place = random.pick(&places).clone();
    let mut module = decode(&source[place.clone()]);
    let others: Vec<Vec<u8>> = others
        .iter()
        .flat_map(|other| modules(other).into_iter().map(|at| decode(&other[at])))
        .collect();
    let others: Vec<&[u8]> = others.iter().map(Vec::as_slice).collect();
    bytes::damage(random, &mut module, &others);
    source.replace_range(place, &encode(&module));
    true
}

/// Where modules stand in a text.
fn modules(source: &str) -> Vec<Range<usize>> {
    let starts = source.match_indices(BEFORE).map(|(at, before)| at + before.len());
    starts.filter_map(|start| Some(start..start + source[start..].find('\\')?)).collect()
}

/// The bytes of a text; letters that are no digits count as none.
fn decode(text: &str) -> Vec<u8> {
    let digits = text.bytes().filter_map(|letter| DIGITS.iter().position(|&of| of == letter));
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let (mut word, mut bits) = (0_usize, 0);
    for digit in digits {
        word = word << 6 | digit;
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push((word >> bits).to_le_bytes()[0]);
            word &= (1 << bits) - 1;
        }
    }
    bytes
}

fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let of = |at: usize| usize::from(group.get(at).copied().unwrap_or(0));
        let word = of(0) << 16 | of(1) << 8 | of(2);
        for at in 0..4 {
            let digit = char::from(DIGITS[word >> (18 - 6 * at) & 63]);
            text.push(if at <= group.len() { digit } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_of_any_number_come_back() {
        for count in 0..8 {
            let bytes: Vec<u8> = (0..count).map(|at| 200 + 7 * at).collect();
            let text = encode(&bytes);
            assert!(text.len().is_multiple_of(4));
            assert_eq!(decode(&text), bytes);
        }
        assert_eq!(encode(b"Ma"), "TWE=");
    }

    #[test]
    fn what_is_damaged_is_the_module_alone() {
        let source = format!(r"head {BEFORE}{}\22 tail", encode(&[7; 60]));
        let mut damaged = source.clone();
        assert!(damage(&mut Random::new(1), &mut damaged, &[]));
        assert_ne!(damaged, source);
        assert!(damaged.starts_with(&source[..source.find("Bw").unwrap()]));
        assert!(damaged.ends_with(r"\22 tail"));
        assert!(!damage(&mut Random::new(1), &mut "no kernel".to_owned(), &[]));
    }
}
