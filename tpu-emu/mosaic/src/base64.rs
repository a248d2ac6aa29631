//! Bytes in base64, as JSON carries them.

/// The bytes that a text stands for; `None` for anything but whole groups of four letters.
pub(crate) fn decode(text: &str) -> Option<Vec<u8>> {
    let text = text.as_bytes();
    if !text.len().is_multiple_of(4) {
        return None;
    }
    let padding = text.iter().rev().take_while(|&&letter| letter == b'=').count();
    if padding > 2 {
        return None;
    }
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let letters = &text[..text.len() - padding];
    for group in letters.chunks(4) {
        let mut word = 0_u32;
        for &letter in group {
            word = word << 6 | value(letter)?;
        }
        word <<= 6 * (4 - group.len());
        bytes.extend_from_slice(&word.to_be_bytes()[1..group.len().max(1)]);
    }
    Some(bytes)
}

fn value(letter: u8) -> Option<u32> {
    let value = match letter {
        b'A'..=b'Z' => letter - b'A',
        b'a'..=b'z' => letter - b'a' + 26,
        b'0'..=b'9' => letter - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    };
    Some(value.into())
}

#[cfg(test)]
mod tests {
    use super::decode;

    #[test]
    fn every_length_of_the_last_group_is_read() {
        assert_eq!(decode("TUzvUg=="), Some(b"ML\xefR".to_vec()));
        assert_eq!(decode("TUzv"), Some(b"ML\xef".to_vec()));
        assert_eq!(decode("TUw="), Some(b"ML".to_vec()));
        assert_eq!(decode(""), Some(Vec::new()));
    }

    #[test]
    fn other_texts_are_refused() {
        for text in ["TUz", "TUz!", "T===", "TU=v", "TUzvUg==TUzv"] {
            assert_eq!(decode(text), None, "{text}");
        }
    }
}
