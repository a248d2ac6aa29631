//! Dense arrays.
use super::BytecodeReader;
use crate::ReadError;
use crate::ir::{Attribute, Element, Elements, TensorType};
use std::sync::Arc;

/// Longer lists that are one repeated element stay [`Elements`].
const LIST: usize = 1 << 16;

impl BytecodeReader<'_> {
    /// A dense array from its bytes: booleans may be packed eight to a byte, and one element may
    /// stand for all.
    pub(crate) fn elements(
        &mut self,
        at: usize,
        of: TensorType,
        blob: &[u8],
    ) -> Result<Elements, ReadError> {
        let error = |what: String| ReadError::at(at, what);
        let Some(width) = of.element.bytes() else {
            return Err(error(format!("an array of {:?}", of.element)));
        };
        let count = Elements { of: of.clone(), data: Arc::new([]), splat: false }
            .count()
            .ok_or_else(|| error(format!("an array of the shape {:?}", of.dims)))?;
        let wrong = || {
            let shape = format!("{:?} of {:?}", of.dims, of.element);
            ReadError::at(at, format!("{} bytes for an array {shape}", blob.len()))
        };
        if of.element == Element::Pred {
            let (mut data, mut splat) = booleans(blob, count).ok_or_else(wrong)?;
            if data.len() > 1 && data.iter().all(|byte| *byte == data[0]) {
                data.truncate(1);
                splat = true;
            }
            self.pay_once(at, data.len())?;
            return Ok(Elements { of, data: data.into(), splat });
        }
        let splat = count != 1 && blob.len() == width;
        if !splat && Some(blob.len()) != count.checked_mul(width) {
            return Err(wrong());
        }
        if count == 0 {
            return Ok(Elements { of, data: Arc::new([]), splat: false });
        }
        self.pay_once(at, blob.len())?;
        let data: Arc<[u8]> = match of.element {
            Element::S4 => blob.iter().map(|&byte| extended(byte, 4)).collect(),
            Element::S2 => blob.iter().map(|&byte| extended(byte, 6)).collect(),
            Element::U4 | Element::F4E2M1FN => blob.iter().map(|&byte| byte & 0xF).collect(),
            Element::U2 => blob.iter().map(|&byte| byte & 3).collect(),
            Element::F6E2M3FN | Element::F6E3M2FN => blob.iter().map(|&byte| byte & 0x3F).collect(),
            _ => blob.into(),
        };
        Ok(Elements { of, data, splat })
    }

    /// A dense array as an attribute: one-dimensional integers of 64 bits and booleans are lists.
    pub(crate) fn list(&mut self, at: usize, elements: Elements) -> Result<Attribute, ReadError> {
        let (&[extent], element) = (elements.of.dims.as_slice(), elements.of.element) else {
            return Ok(Attribute::Elements(elements));
        };
        let count = usize::try_from(extent).unwrap_or(usize::MAX);
        let listed = matches!(element, Element::S64 | Element::Index | Element::Pred);
        if !listed || (elements.splat && count > LIST) || elements.of.quantization.is_some() {
            return Ok(Attribute::Elements(elements));
        }
        self.pay(at, count.saturating_mul(8))?;
        let Some(integers) = elements.integers() else {
            return Ok(Attribute::Elements(elements));
        };
        Ok(if element == Element::Pred {
            Attribute::Booleans(integers.into_iter().map(|value| value != 0).collect())
        } else {
            Attribute::Integers(integers)
        })
    }
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
