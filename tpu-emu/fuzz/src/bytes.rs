//! Damage to bytes whose meaning is not looked at.
use crate::random::Random;

/// One to eight changes: bits, bytes, parts that are moved, removed, repeated or another
/// program's.
pub fn damage(random: &mut Random, bytes: &mut Vec<u8>, others: &[&[u8]]) {
    let most = *random.pick(&[1, 1, 1, 2, 8]);
    for _ in 0..=random.below(most) {
        if bytes.is_empty() {
            return;
        }
        let at = random.below(bytes.len());
        let count = random.below(bytes.len() - at).min(random.below(32));
        match random.below(8) {
            0 => bytes[at] ^= 1 << random.below(8),
            1 => bytes[at] = random.byte(),
            2 => bytes[at] = *random.pick(&[0x00, 0x01, 0x03, 0x7F, 0x80, 0xFF]),
            3 => drop(bytes.drain(at..at + count)),
            4 => {
                let part = bytes[at..at + count].to_vec();
                let to = random.below(bytes.len());
                bytes.splice(to..to, part);
            }
            5 if !others.is_empty() => {
                let other = *random.pick(others);
                let from = random.below(other.len());
                let end = (from + count).min(other.len());
                bytes.splice(at..at + count, other[from..end].iter().copied());
            }
            // Small numbers are written as themselves in all formats here.
            6 => bytes[at] = bytes[at].wrapping_add(*random.pick(&[1, 2, 4, 252, 254, 255])),
            _ => {
                let byte = random.byte();
                bytes[at..at + count].fill(byte);
            }
        }
    }
}
