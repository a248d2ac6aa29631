//! Bytes as letters, digits, `+` and `/`, which HTML takes as they are.

const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// The text of bytes, with `=` up to four letters.
pub(crate) fn encoded(bytes: &[u8]) -> Vec<u8> {
    let mut text = Vec::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let byte = |place: usize| usize::from(three.get(place).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        let letters = [18, 12, 6, 0].map(|shift| LETTERS[bits >> shift & 63]);
        text.extend(&letters[..=three.len()]);
        text.extend(&b"=="[..3 - three.len()]);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_are_filled_up() {
        let of = [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg==")];
        of.iter().for_each(|(bytes, text)| assert_eq!(encoded(bytes.as_bytes()), text.as_bytes()));
        assert_eq!(encoded(&[0xfb, 0xff, 0xbf]), b"+/+/");
    }
}
