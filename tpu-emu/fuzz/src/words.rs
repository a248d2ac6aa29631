//! Programs in text, word by word.

/// A piece of a text that is damaged as a whole: a number, a name, a type, one other character.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Word<'t> {
    pub(crate) text: &'t str,
    pub(crate) start: usize,
    pub(crate) kind: Kind,
}

/// What a word is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// `-4`, `1.5e3`, `0x7F`.
    Number,
    /// `stablehlo.add`, `dense`, `i32`.
    Name,
    /// `%x#1`.
    Value,
    /// `tensor<4x3xf32>`, `f32[4,3]`.
    Type,
    /// `"…"`.
    Quoted,
    /// One other character.
    Other,
}

fn of_name(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '.' | '$' | '@' | '!' | '#')
}

fn of_number(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '.' | '_')
}

/// The words of a text, spaces left out.
pub(crate) fn words(text: &str) -> Vec<Word<'_>> {
    let mut words = Vec::new();
    let mut at = 0;
    while let Some(first) = text[at..].chars().next() {
        let rest = &text[at..];
        if first.is_whitespace() {
            at += first.len_utf8();
            continue;
        }
        let digit = first.is_ascii_digit()
            || first == '-' && rest[1..].starts_with(|c: char| c.is_ascii_digit());
        let span = |from: usize, part: fn(char) -> bool| {
            rest[from..].find(|c| !part(c)).map_or(rest.len(), |end| from + end)
        };
        let (kind, length) = if rest.starts_with("tensor<") {
            (Kind::Type, closing(rest, '<', '>'))
        } else if digit {
            (Kind::Number, span(1, of_number))
        } else if first == '%' {
            (Kind::Value, span(1, of_name))
        } else if first == '"' {
            (Kind::Quoted, rest[1..].find('"').map_or(1, |end| end + 2))
        } else if of_name(first) {
            let length = span(0, of_name);
            if rest[length..].starts_with('[') && is_element(&rest[..length]) {
                (Kind::Type, length + closing(&rest[length..], '[', ']'))
            } else {
                (Kind::Name, length)
            }
        } else {
            (Kind::Other, first.len_utf8())
        };
        words.push(Word { text: &rest[..length], start: at, kind });
        at += length;
    }
    words
}

/// Whether HLO writes an element type so.
fn is_element(name: &str) -> bool {
    let mut letters = name.trim_start_matches(|c: char| c.is_ascii_lowercase()).chars();
    name == "pred" || letters.next().is_some_and(|c| c.is_ascii_digit()) && name.len() < 5
}

/// The length up to the bracket that closes the first one; everything where none does.
fn closing(text: &str, open: char, close: char) -> usize {
    let mut depth = 0_usize;
    for (at, c) in text.char_indices() {
        if c == open {
            depth += 1;
        } else if c == close {
            depth = depth.saturating_sub(1);
            if depth == 0 {
                return at + c.len_utf8();
            }
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_falls_into_numbers_names_values_and_types() {
        let text = "%1 = stablehlo.pad %x, low = [-1] : tensor<4xcomplex<f32>> f32[2,3]{1,0}";
        let found: Vec<(Kind, &str)> =
            words(text).iter().map(|word| (word.kind, word.text)).collect();
        for word in [
            (Kind::Value, "%1"),
            (Kind::Name, "stablehlo.pad"),
            (Kind::Number, "-1"),
            (Kind::Type, "tensor<4xcomplex<f32>>"),
            (Kind::Type, "f32[2,3]"),
        ] {
            assert!(found.contains(&word), "{word:?} in {found:?}");
        }
    }
}
