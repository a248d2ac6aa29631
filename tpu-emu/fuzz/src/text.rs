//! Damage to programs in text, which knows what a number, a name, a type and a line are. Much of
//! what it leaves is still a program.
use crate::random::Random;
use crate::words::{Kind, Word, words};

/// Numbers that code forgets.
const NUMBERS: &[&str] = &[
    "0",
    "0",
    "0",
    "1",
    "1",
    "1",
    "2",
    "3",
    "4",
    "5",
    "7",
    "8",
    "-1",
    "-2",
    "63",
    "64",
    "65",
    "127",
    "128",
    "255",
    "256",
    "1000",
    "65536",
    "2147483647",
    "2147483648",
    "-2147483648",
    "4294967295",
    "4294967296",
    "9223372036854775807",
    "-9223372036854775808",
    "9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "1.0e30",
    "-0.0",
    "0x7FC00000",
];

/// Element types as MLIR writes them.
const ELEMENTS: &[&str] = &[
    "i1",
    "i2",
    "i4",
    "i8",
    "i16",
    "i32",
    "i64",
    "ui2",
    "ui4",
    "ui8",
    "ui16",
    "ui32",
    "ui64",
    "bf16",
    "f16",
    "f32",
    "f64",
    "complex<f32>",
    "complex<f64>",
    "f8E4M3FN",
    "f8E5M2",
    "f8E4M3B11FNUZ",
    "f8E3M4",
    "f8E8M0FNU",
    "f4E2M1FN",
    "f6E2M3FN",
    "tf32",
    "index",
];

/// Element types as HLO writes them.
const HLO_ELEMENTS: &[&str] = &[
    "pred", "s2", "s4", "s8", "s16", "s32", "s64", "u4", "u8", "u16", "u32", "u64", "bf16", "f16",
    "f32", "f64", "c64", "c128", "f8e4m3fn", "f8e5m2", "token", "opaque",
];

/// Extents that code forgets, a few common ones, and some that no memory has.
const EXTENTS: &[&str] = &[
    "0",
    "0",
    "0",
    "0",
    "1",
    "1",
    "1",
    "1",
    "2",
    "3",
    "4",
    "5",
    "8",
    "17",
    "65",
    "130",
    "1027",
    "?",
    "65536",
    "2147483648",
    "4294967296",
    "9223372036854775807",
];

/// One to three changes. `others` are texts whose lines and names may be taken.
pub fn damage(random: &mut Random, text: &mut String, others: &[&str]) {
    for _ in 0..=random.below(4).saturating_sub(1) {
        let changed = match random.below(19) {
            0..=2 => number(random, text),
            3..=7 => everywhere(random, text),
            8..=11 => element_everywhere(random, text),
            12 => retype(random, text),
            13 => rename(random, text, others),
            14 => swap(random, text),
            15 => line(random, text, others),
            16 => remove(random, text),
            17 => rank(random, text),
            _ => letter(random, text),
        };
        if let Some(changed) = changed {
            *text = changed;
        }
    }
}

fn replaced(text: &str, word: Word<'_>, by: &str) -> String {
    format!("{}{by}{}", &text[..word.start], &text[word.start + word.text.len()..])
}

/// Any word of these kinds.
fn any<'t>(random: &mut Random, text: &'t str, kinds: &[Kind]) -> Option<Word<'t>> {
    let found: Vec<Word<'_>> =
        words(text).into_iter().filter(|word| kinds.contains(&word.kind)).collect();
    (!found.is_empty()).then(|| *random.pick(&found))
}

/// Another number in one place.
fn number(random: &mut Random, text: &str) -> Option<String> {
    let word = any(random, text, &[Kind::Number])?;
    let near = word.text.parse::<i128>().ok().filter(|_| random.once_in(2));
    let by = match near {
        Some(number) => (number + i128::from(random.byte() % 5) - 2).to_string(),
        None => (*random.pick(NUMBERS)).to_owned(),
    };
    Some(replaced(text, word, &by))
}

/// An extent of a type, as its digits.
fn extents(of: &str) -> Vec<&str> {
    let inside = of.split(['<', '[']).nth(1).unwrap_or_default();
    inside
        .split(['x', ',', ']', '>'])
        .filter(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()))
        .collect()
}

/// Another extent wherever types, lists and ranges have this one: the program often stays one.
fn everywhere(random: &mut Random, text: &str) -> Option<String> {
    let of = any(random, text, &[Kind::Type])?;
    let all = extents(of.text);
    let old = *all.get(random.below(all.len()))?;
    let new = *random.pick(EXTENTS);
    let numbers_too = random.once_in(2) && new != "?";
    let mut out = String::new();
    let mut at = 0;
    for word in words(text) {
        out.push_str(&text[at..word.start]);
        at = word.start + word.text.len();
        match word.kind {
            Kind::Type => out.push_str(&with_extent(word.text, old, new)),
            Kind::Number if numbers_too && word.text == old => out.push_str(new),
            _ => out.push_str(word.text),
        }
    }
    out.push_str(&text[at..]);
    Some(out)
}

/// A type with all extents `old` replaced.
fn with_extent(of: &str, old: &str, new: &str) -> String {
    let mut out = String::new();
    let mut rest = of;
    while let Some(at) = rest.find(old) {
        let before = rest[..at].chars().next_back();
        let after = rest[at + old.len()..].chars().next();
        let alone =
            matches!(before, Some('<' | '[' | 'x' | ',')) && matches!(after, Some('x' | ',' | ']'));
        out.push_str(&rest[..at]);
        out.push_str(if alone { new } else { old });
        rest = &rest[at + old.len()..];
    }
    out + rest
}

/// Another element type in all types that have this one.
fn element_everywhere(random: &mut Random, text: &str) -> Option<String> {
    if !text.contains("tensor<") {
        let old = *random.pick(HLO_ELEMENTS);
        let new = *random.pick(HLO_ELEMENTS);
        return Some(text.replace(&format!("{old}["), &format!("{new}[")));
    }
    let there: Vec<&str> = ELEMENTS
        .iter()
        .copied()
        .filter(|one| {
            text.contains(&format!("x{one}>")) || text.contains(&format!("tensor<{one}>"))
        })
        .collect();
    let old = *there.get(random.below(there.len()))?;
    let new = *random.pick(ELEMENTS);
    Some(
        text.replace(&format!("x{old}>"), &format!("x{new}>"))
            .replace(&format!("tensor<{old}>"), &format!("tensor<{new}>")),
    )
}

/// One type becomes another one of the program, or gets another element type.
fn retype(random: &mut Random, text: &str) -> Option<String> {
    let word = any(random, text, &[Kind::Type])?;
    let other = any(random, text, &[Kind::Type])?;
    Some(replaced(text, word, other.text))
}

/// One more dimension, or one less, in all types that equal one.
fn rank(random: &mut Random, text: &str) -> Option<String> {
    let of = any(random, text, &[Kind::Type])?.text;
    let inside = of.strip_prefix("tensor<")?;
    let new = if random.once_in(2) {
        format!("tensor<{}x{inside}", random.pick(EXTENTS))
    } else {
        format!("tensor<{}", inside.split_once('x')?.1)
    };
    Some(text.replace(of, &new))
}

/// One name becomes another one of this or of another program.
fn rename(random: &mut Random, text: &str, others: &[&str]) -> Option<String> {
    let kinds: &[Kind] =
        if random.once_in(3) { &[Kind::Value] } else { &[Kind::Name, Kind::Quoted] };
    let word = any(random, text, kinds)?;
    let from = if others.is_empty() || random.once_in(2) { text } else { *random.pick(others) };
    let other = any(random, from, kinds)?;
    Some(replaced(text, word, other.text))
}

/// Two words of one kind change places.
fn swap(random: &mut Random, text: &str) -> Option<String> {
    let kind = *random.pick(&[Kind::Number, Kind::Value, Kind::Type, Kind::Name]);
    let (one, two) = (any(random, text, &[kind])?, any(random, text, &[kind])?);
    let (first, second) = if one.start < two.start { (one, two) } else { (two, one) };
    let later = replaced(text, second, first.text);
    Some(replaced(&later, first, second.text))
}

/// A line goes away, comes twice, changes places or comes from another program.
fn line(random: &mut Random, text: &str, others: &[&str]) -> Option<String> {
    let mut lines: Vec<&str> = text.lines().collect();
    let at = random.below(lines.len());
    let one = *lines.get(at)?;
    let to = random.below(lines.len());
    match random.below(4) {
        0 => drop(lines.remove(at)),
        1 => lines.insert(to, one),
        2 => lines.swap(at, to),
        _ => {
            let other: Vec<&str> = others.get(random.below(others.len()))?.lines().collect();
            lines.insert(to, other.get(random.below(other.len()))?);
        }
    }
    Some(lines.join("\n"))
}

/// A word goes away or comes twice.
fn remove(random: &mut Random, text: &str) -> Option<String> {
    let all = words(text);
    let word = *all.get(random.below(all.len()))?;
    let twice = format!("{0} {0}", word.text);
    Some(replaced(text, word, if random.once_in(3) { &twice } else { "" }))
}

/// One character becomes another.
fn letter(random: &mut Random, text: &str) -> Option<String> {
    let places: Vec<(usize, char)> = text.char_indices().collect();
    let (at, old) = *places.get(random.below(places.len()))?;
    let new = *random.pick(&[
        '0', '1', '9', '-', 'x', '<', '>', '[', ']', '{', '}', '(', ')', ',', ':', '%', '@', '#',
        '"', '\\', ' ', '\n', 'é', '\u{0}',
    ]);
    Some(format!("{}{new}{}", &text[..at], &text[at + old.len_utf8()..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_extent_is_replaced_where_it_stands_alone() {
        assert_eq!(with_extent("tensor<4x14x4xf32>", "4", "0"), "tensor<0x14x0xf32>");
        assert_eq!(with_extent("f32[4,44]", "4", "1"), "f32[1,44]");
        assert_eq!(extents("tensor<4x?x3xbf16>"), ["4", "3"]);
    }

    #[test]
    fn damage_follows_from_its_seed_and_leaves_text() {
        let text = "func.func @main(%x: tensor<4xf32>) { return %x : tensor<4xf32> }";
        for seed in 0..2000 {
            let [mut one, mut two] = [text.to_owned(), text.to_owned()];
            damage(&mut Random::new(seed), &mut one, &[text]);
            damage(&mut Random::new(seed), &mut two, &[text]);
            assert_eq!(one, two);
        }
    }
}
