//! Records as bytes: a kind, a length, fields.
use tpu_base::units::to_u64;

/// Kinds of records, the first byte of each.
#[derive(Debug, Clone, Copy)]
#[repr(u8)]
pub(super) enum RecordKind {
    Start = 1,
    Space = 2,
    Spec = 3,
    Frame = 4,
    Stack = 5,
    Allocate = 6,
    Free = 7,
    Refused = 8,
    Usage = 9,
    Label = 10,
    Dispatch = 11,
    Fault = 12,
    Loss = 13,
    Calls = 14,
    Call = 15,
    Mark = 16,
    Program = 17,
    Holes = 18,
    ClientEnd = 19,
    Launch = 20,
    RefusedProgram = 21,
    Check = 23,
}

/// Kind, length of the payload in 4 bytes, payload.
pub(super) fn record(out: &mut Vec<u8>, kind: RecordKind, fill: impl FnOnce(&mut Vec<u8>)) {
    out.push(kind as u8);
    let length_at = out.len();
    out.extend_from_slice(&[0; 4]);
    fill(out);
    let length = u32::try_from(out.len() - length_at - 4).unwrap_or(u32::MAX);
    out[length_at..length_at + 4].copy_from_slice(&length.to_le_bytes());
}

/// Seven bits a byte, lowest first, the top bit set on all but the last.
pub(super) fn number(out: &mut Vec<u8>, n: u64) {
    if n < 0x80 {
        out.push(n.to_le_bytes()[0]);
        return;
    }
    if n >> 56 != 0 {
        let mut left = n;
        while left >= 0x80 {
            out.push(left.to_le_bytes()[0] | 0x80);
            left >>= 7;
        }
        out.push(left.to_le_bytes()[0]);
        return;
    }
    // All groups of seven bits at once, each to a byte of its own: halves, quarters, eighths.
    let halves = n & 0x0fff_ffff | (n & 0x00ff_ffff_f000_0000) << 4;
    let quarters = halves & 0x0000_3fff_0000_3fff | (halves & 0x0fff_c000_0fff_c000) << 2;
    let bytes = quarters & 0x007f_007f_007f_007f | (quarters & 0x3f80_3f80_3f80_3f80) << 1;
    let last = (63 - bytes.leading_zeros()) / 8;
    let goes_on = 0x0080_8080_8080_8080 & ((1 << (8 * last)) - 1);
    let end = out.len() + last as usize + 1;
    out.extend_from_slice(&(bytes | goes_on).to_le_bytes());
    out.truncate(end);
}

/// The same number in as many bytes as the largest takes.
pub(super) fn long_number(out: &mut Vec<u8>, n: u64) {
    let bits = |shift: u32| (n >> shift).to_le_bytes()[0] & 0x7f;
    out.extend((0..9).map(|place| bits(7 * place) | 0x80));
    out.push(bits(63));
}

/// Length and UTF-8.
pub(super) fn text(out: &mut Vec<u8>, text: &str) {
    number(out, to_u64(text.len()));
    out.extend_from_slice(text.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_take_seven_bits_a_byte() {
        let mut out = Vec::new();
        [0, 0x7f, 0x80, u64::MAX].iter().for_each(|&n| number(&mut out, n));
        assert_eq!(out[..4], [0, 0x7f, 0x80, 0x01]);
        assert_eq!(out.len(), 4 + 10);
    }

    #[test]
    fn numbers_of_every_length_are_those_of_one_group_after_the_other() {
        let by_groups = |mut n: u64| {
            let mut out = Vec::new();
            while n >= 0x80 {
                out.push(n.to_le_bytes()[0] | 0x80);
                n >>= 7;
            }
            out.push(n.to_le_bytes()[0]);
            out
        };
        let around = (0..64).flat_map(|bit| {
            let power = 1_u64 << bit;
            [power - 1, power, power + 1, power | (power / 3), power.wrapping_mul(0x9e37_79b9)]
        });
        for n in around.chain([u64::MAX, 0x0123_4567_89ab_cdef, 0x00fe_dcba_9876_5432]) {
            let mut out = vec![7];
            number(&mut out, n);
            assert_eq!((out[0], &out[1..]), (7, &by_groups(n)[..]), "{n:#x}");
        }
    }
}
