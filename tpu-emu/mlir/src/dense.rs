//! The bytes of dense arrays.
use crate::element::Element;
use std::sync::Arc;

/// The elements of a dense array, one to a byte where they are smaller, and whether one stands
/// for all. `None` if there are not as many bytes as `count` elements of this type take.
pub fn unpacked(of: Element, count: usize, blob: &[u8]) -> Option<(Arc<[u8]>, bool)> {
    let width = of.bytes()?;
    if of == Element::Pred {
        let (mut data, mut splat) = booleans(blob, count)?;
        if data.len() > 1 && data.iter().all(|byte| *byte == data[0]) {
            data.truncate(1);
            splat = true;
        }
        return Some((data.into(), splat));
    }
    let splat = count != 1 && blob.len() == width;
    if !splat && Some(blob.len()) != count.checked_mul(width) {
        return None;
    }
    if count == 0 {
        return Some((Arc::new([]), false));
    }
    let data: Arc<[u8]> = match of {
        Element::S4 => blob.iter().map(|&byte| extended(byte, 4)).collect(),
        Element::S2 => blob.iter().map(|&byte| extended(byte, 6)).collect(),
        Element::U4 | Element::F4E2M1FN => blob.iter().map(|&byte| byte & 0xF).collect(),
        Element::U2 => blob.iter().map(|&byte| byte & 3).collect(),
        Element::F6E2M3FN | Element::F6E3M2FN => blob.iter().map(|&byte| byte & 0x3F).collect(),
        _ => blob.into(),
    };
    Some((data, splat))
}

/// Booleans as bytes, and whether one stands for all.
fn booleans(blob: &[u8], count: usize) -> Option<(Vec<u8>, bool)> {
    if count == 0 {
        return (blob.len() <= 1).then(|| (Vec::new(), false));
    }
    // One byte of ones is a repeated truth; every other byte may as well be packed.
    if let [0xFF] = blob {
        return Some((vec![1], count > 1));
    }
    if blob.len() == count {
        return Some((blob.iter().map(|&byte| (byte != 0).into()).collect(), false));
    }
    if blob.len() == count.div_ceil(8) {
        let bit = |index: usize| (blob[index / 8] >> (index % 8)) & 1;
        return Some(((0..count).map(bit).collect(), false));
    }
    match blob {
        [byte] => Some((vec![(*byte != 0).into()], true)),
        _ => None,
    }
}

/// A signed number in the low bits of a byte.
fn extended(byte: u8, unused: u32) -> u8 {
    ((byte << unused).cast_signed() >> unused).cast_unsigned()
}

#[cfg(test)]
mod tests {
    use super::{booleans, extended};

    #[test]
    fn booleans_come_packed_repeated_and_one_to_a_byte() {
        assert_eq!(booleans(&[0b101], 3), Some((vec![1, 0, 1], false)));
        assert_eq!(booleans(&[0xFF], 3), Some((vec![1], true)));
        assert_eq!(booleans(&[0xFF], 1), Some((vec![1], false)));
        assert_eq!(booleans(&[0], 100), Some((vec![0], true)));
        assert_eq!(booleans(&[1, 0, 1], 3), Some((vec![1, 0, 1], false)));
        assert_eq!(booleans(&[0xFF], 0), Some((vec![], false)));
        assert_eq!(booleans(&[1, 0], 3), None);
    }

    #[test]
    fn small_signed_numbers_are_extended() {
        assert_eq!(extended(0x0F, 4), 0xFF);
        assert_eq!(extended(0x07, 4), 0x07);
        assert_eq!(extended(0x02, 6), 0xFE);
    }
}
