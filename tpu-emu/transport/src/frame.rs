//! A message with its arrays as one row of bytes.
use std::ops::Range;
use std::sync::Arc;
use tpu_base::transport::ArrayBytes;
use tpu_base::units::{to_u64, to_usize};

const WORD: usize = size_of::<u64>();

/// The lengths, the head, the arrays.
pub(crate) fn pack(head: &[u8], arrays: &[Vec<u8>]) -> Vec<u8> {
    let sum: usize = arrays.iter().map(Vec::len).sum();
    let mut out = Vec::with_capacity(WORD * (2 + arrays.len()) + head.len() + sum);
    let lengths = [arrays.len(), head.len()].into_iter().chain(arrays.iter().map(Vec::len));
    lengths.for_each(|length| out.extend_from_slice(&to_u64(length).to_le_bytes()));
    out.extend_from_slice(head);
    arrays.iter().for_each(|array| out.extend_from_slice(array));
    out
}

/// One of the arrays of a row of bytes.
struct Part(Arc<Vec<u8>>, Range<usize>);

impl AsRef<[u8]> for Part {
    fn as_ref(&self) -> &[u8] {
        &self.0[self.1.clone()]
    }
}

/// Takes a row of bytes apart; `None` for one that [`pack`] did not make.
pub(crate) fn unpack(bytes: Vec<u8>) -> Option<(Vec<u8>, Vec<ArrayBytes>)> {
    let word = |at: usize| -> Option<usize> {
        let bytes = bytes.get(at..at.checked_add(WORD)?)?;
        Some(to_usize(u64::from_le_bytes(bytes.try_into().ok()?)))
    };
    let (count, head) = (word(0)?, word(WORD)?);
    let start = count.checked_add(2)?.checked_mul(WORD)?;
    if start > bytes.len() {
        return None;
    }
    let mut at = start.checked_add(head)?;
    let mut ranges = Vec::with_capacity(count);
    for index in 0..count {
        let end = at.checked_add(word((2 + index) * WORD)?)?;
        ranges.push(at..end);
        at = end;
    }
    if at != bytes.len() {
        return None;
    }
    let head = bytes[start..start + head].to_vec();
    let all = Arc::new(bytes);
    let part = |range| -> ArrayBytes { Box::new(Part(Arc::clone(&all), range)) };
    Some((head, ranges.into_iter().map(part).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_comes_out_of_its_bytes_and_damaged_bytes_are_none() {
        let arrays = [vec![1, 2, 3], Vec::new(), vec![4]];
        let bytes = pack(b"head", &arrays);
        let (head, parts) = unpack(bytes.clone()).unwrap();
        let parts: Vec<Vec<u8>> = parts.iter().map(|part| (**part).as_ref().to_vec()).collect();
        assert_eq!((head.as_slice(), parts.as_slice()), (&b"head"[..], &arrays[..]));
        for length in 0..bytes.len() {
            assert!(unpack(bytes[..length].to_vec()).is_none(), "{length}");
        }
        assert!(unpack(vec![0xff; 64]).is_none());
    }
}
