//! Sub-byte elements: one to a byte in client memory, packed on the device.

/// Packs one element a byte into `bits` (1, 2 or 4) bits each, the first in the lowest bits.
///
/// `packed` must hold the elements; unused bits of the last byte become 0.
pub fn pack(bits: u32, loose: &[u8], packed: &mut [u8]) {
    let per_byte = (8 / bits) as usize;
    let mask = low_bits(bits);
    for (group, byte) in loose.chunks(per_byte).zip(packed) {
        let shifts = (0..8).step_by(bits as usize);
        *byte = group.iter().zip(shifts).fold(0, |byte, (&value, at)| byte | (value & mask) << at);
    }
}

/// The inverse of [`pack`]; the upper bits of each byte become 0, of signed types too.
///
/// Source: the bytes that NumPy arrays of ml_dtypes hold, and that jaxlib's CPU device gives back
/// whatever the upper bits were.
pub fn unpack(bits: u32, packed: &[u8], loose: &mut [u8]) {
    let per_byte = (8 / bits) as usize;
    let mask = low_bits(bits);
    for (group, &byte) in loose.chunks_mut(per_byte).zip(packed) {
        let shifts = (0..8).step_by(bits as usize);
        for (value, at) in group.iter_mut().zip(shifts) {
            *value = (byte >> at) & mask;
        }
    }
}

fn low_bits(bits: u32) -> u8 {
    (1 << bits) - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round_trip(bits: u32, loose: &[u8]) -> (Vec<u8>, Vec<u8>) {
        let mut packed = vec![0xff; (loose.len() * bits as usize).div_ceil(8)];
        pack(bits, loose, &mut packed);
        let mut back = vec![0; loose.len()];
        unpack(bits, &packed, &mut back);
        (packed, back)
    }

    #[test]
    fn the_first_element_is_in_the_lowest_bits() {
        assert_eq!(round_trip(4, &[1, 2, 15]), (vec![0x21, 0x0f], vec![1, 2, 15]));
        assert_eq!(round_trip(2, &[1, 2, 3, 0, 1]), (vec![0x39, 0x01], vec![1, 2, 3, 0, 1]));
    }

    #[test]
    fn the_upper_bits_do_not_come_back() {
        // -7 and -1 as a sign-extended byte, and as ml_dtypes writes them.
        for loose in [[0xf9, 0xff], [0x09, 0x0f]] {
            assert_eq!(round_trip(4, &loose), (vec![0xf9], vec![0x09, 0x0f]));
        }
        assert_eq!(round_trip(1, &[0xff, 0, 0xff]).1, [1, 0, 1]);
    }
}
