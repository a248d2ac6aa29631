//! Indices that programs compute: integers of any type.
use crate::tensor::DType;

/// Reads element `at` of an array of integers; unsigned 64-bit ones past `i64::MAX` are that.
pub type IndexReader = fn(bytes: &[u8], at: usize) -> i64;

/// How integers of this type are read; `None` for a type that is none.
pub fn reader(dtype: DType) -> Option<IndexReader> {
    Some(match dtype {
        DType::S1 | DType::S2 | DType::S4 | DType::S8 => |bytes, at| bytes[at].cast_signed().into(),
        DType::U1 | DType::U2 | DType::U4 | DType::U8 => |bytes, at| bytes[at].into(),
        DType::S16 => |bytes, at| i16::from_le_bytes(element(bytes, at)).into(),
        DType::U16 => |bytes, at| u16::from_le_bytes(element(bytes, at)).into(),
        DType::S32 => |bytes, at| i32::from_le_bytes(element(bytes, at)).into(),
        DType::U32 => |bytes, at| u32::from_le_bytes(element(bytes, at)).into(),
        DType::S64 => |bytes, at| i64::from_le_bytes(element(bytes, at)),
        DType::U64 => {
            |bytes, at| i64::try_from(u64::from_le_bytes(element(bytes, at))).unwrap_or(i64::MAX)
        }
        _ => return None,
    })
}

fn element<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let mut element = [0; N];
    element.copy_from_slice(&bytes[at * N..(at + 1) * N]);
    element
}

/// `clamp(0, start, room)`, where `room` is the extent less the size of the slice.
pub fn clamped(start: i64, room: usize) -> usize {
    usize::try_from(start).map_or(0, |start| start.min(room))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_of_every_width_are_read_with_their_sign() {
        let read = |dtype, bytes: &[u8]| reader(dtype).map(|read| read(bytes, 1));
        assert_eq!(read(DType::S8, &[0, 0xff]), Some(-1));
        assert_eq!(read(DType::U8, &[0, 0xff]), Some(255));
        assert_eq!(read(DType::S16, &[0, 0, 0xfe, 0xff]), Some(-2));
        assert_eq!(read(DType::U32, &[0, 0, 0, 0, 0, 0, 0, 0x80]), Some(1 << 31));
        assert_eq!(read(DType::U64, &[0xff; 16]), Some(i64::MAX));
        assert_eq!(read(DType::S64, &[0xff; 16]), Some(-1));
        assert_eq!(read(DType::F32, &[0; 8]), None);
    }

    #[test]
    fn starts_are_clamped_on_both_sides() {
        assert_eq!([-5, 0, 3, 9].map(|start| clamped(start, 4)), [0, 0, 3, 4]);
    }
}
