//! Constants: elements in row-major order, whatever order the literal has them in.
use crate::ReadError;
use crate::shape;
use std::sync::Arc;
use tpu_proto::xla::{LiteralProto, PrimitiveType, ShapeProto};
use tpu_stablehlo::ir::{Elements, TensorType};

/// The array of a literal, for an instruction of this shape.
pub(crate) fn elements(literal: &LiteralProto, wanted: &ShapeProto) -> Result<Elements, ReadError> {
    let own = literal.shape.as_ref().ok_or("a literal without a shape")?;
    let of = shape::tensor(wanted)?;
    if shape::tensor(own)? != of {
        let (own, wanted) = (&own.dimensions, &wanted.dimensions);
        return Err(format!("a literal of {own:?} for an array of {wanted:?}").into());
    }
    let bytes = stored(literal, own)?;
    let (count, width) = size(&of)?;
    let bytes = match packing(own) {
        Some((bits, signed)) => unpacked(&bytes, bits, signed, count)?,
        None => bytes,
    };
    if bytes.len() != count.saturating_mul(width) {
        let elements = bytes.len() / width;
        return Err(format!("a literal of {elements} elements, its shape has {count}").into());
    }
    let order = shape::physical_order(own)?;
    let bytes = if order.is_sorted() { bytes } else { row_major(&bytes, &of.dims, &order, width)? };
    Ok(canonical(of, bytes, count, width))
}

fn size(of: &TensorType) -> Result<(usize, usize), ReadError> {
    let plain = Elements { of: of.clone(), data: [].into(), splat: false };
    let count = plain.count().ok_or("a constant of unknown extents")?;
    Ok((count, of.element.bytes().ok_or("a constant of a type without storage")?))
}

fn canonical(of: TensorType, mut bytes: Vec<u8>, count: usize, width: usize) -> Elements {
    let splat = count > 1 && bytes.chunks_exact(width).all(|element| *element == bytes[..width]);
    if splat {
        bytes.truncate(width);
    }
    Elements { of, data: Arc::from(bytes), splat }
}

/// The elements as the message has them, little-endian; sub-byte integers packed.
fn stored(literal: &LiteralProto, own: &ShapeProto) -> Result<Vec<u8>, ReadError> {
    macro_rules! wide {
        ($field:ident) => {
            literal.$field.iter().flat_map(|value| value.to_le_bytes()).collect()
        };
    }
    Ok(match own.element_type() {
        PrimitiveType::Pred => literal.preds.iter().map(|value| u8::from(*value)).collect(),
        PrimitiveType::S2 => literal.s2s.clone(),
        PrimitiveType::S4 => literal.s4s.clone(),
        PrimitiveType::S8 => literal.s8s.clone(),
        PrimitiveType::S16 => literal.s16s.clone(),
        PrimitiveType::S32 => wide!(s32s),
        PrimitiveType::S64 => wide!(s64s),
        PrimitiveType::U2 => literal.u2s.clone(),
        PrimitiveType::U4 => literal.u4s.clone(),
        PrimitiveType::U8 => literal.u8s.clone(),
        PrimitiveType::U16 => literal.u16s.clone(),
        PrimitiveType::U32 => wide!(u32s),
        PrimitiveType::U64 => wide!(u64s),
        PrimitiveType::F16 => literal.f16s.clone(),
        PrimitiveType::F32 => wide!(f32s),
        PrimitiveType::F64 => wide!(f64s),
        PrimitiveType::Bf16 => literal.bf16s.clone(),
        PrimitiveType::C64 => wide!(c64s),
        PrimitiveType::C128 => wide!(c128s),
        PrimitiveType::F8e5m2 => literal.f8e5m2s.clone(),
        PrimitiveType::F8e4m3fn => literal.f8e4m3fns.clone(),
        PrimitiveType::F8e4m3b11fnuz => literal.f8e4m3b11fnuzs.clone(),
        PrimitiveType::F8e5m2fnuz => literal.f8e5m2fnuzs.clone(),
        PrimitiveType::F8e4m3fnuz => literal.f8e4m3fnuzs.clone(),
        PrimitiveType::F8e4m3 => literal.f8e4m3s.clone(),
        PrimitiveType::F8e3m4 => literal.f8e3m4s.clone(),
        PrimitiveType::F4e2m1fn => literal.f4e2m1fns.clone(),
        PrimitiveType::F8e8m0fnu => literal.f8e8m0fnus.clone(),
        other => return Err(format!("a constant of type {}", other.as_str_name()).into()),
    })
}

/// Bits of an element and whether it is signed, for the types that share bytes.
fn packing(own: &ShapeProto) -> Option<(u32, bool)> {
    match own.element_type() {
        PrimitiveType::S2 => Some((2, true)),
        PrimitiveType::U2 => Some((2, false)),
        PrimitiveType::S4 => Some((4, true)),
        PrimitiveType::U4 | PrimitiveType::F4e2m1fn => Some((4, false)),
        _ => None,
    }
}

/// One element a byte. The first of a byte is in its low bits.
fn unpacked(bytes: &[u8], bits: u32, signed: bool, count: usize) -> Result<Vec<u8>, ReadError> {
    let each = 8 / bits;
    let whole = usize::try_from(each).map_or(0, |each| count.div_ceil(each));
    if bytes.len() != whole {
        return Err(format!("a literal of {} bytes, its shape has {whole}", bytes.len()).into());
    }
    let unused = 8 - bits;
    let element = |byte: u8, place: u32| {
        let high = byte << (unused - place * bits);
        if signed { (high.cast_signed() >> unused).cast_unsigned() } else { high >> unused }
    };
    let all = bytes.iter().flat_map(|&byte| (0..each).map(move |place| element(byte, place)));
    Ok(all.take(count).collect())
}

/// Elements in the order of the axes, from elements whose axes come in another order.
fn row_major(
    bytes: &[u8],
    dims: &[i64],
    order: &[i64],
    width: usize,
) -> Result<Vec<u8>, ReadError> {
    let too_large = || ReadError::new(format!("an array of {dims:?} is too large"));
    let dims: Vec<usize> = dims
        .iter()
        .map(|&dim| usize::try_from(dim))
        .collect::<Result<_, _>>()
        .map_err(|_| too_large())?;
    let mut strides = vec![0_usize; dims.len()];
    let mut stride = width;
    for &axis in order.iter().rev() {
        let axis = usize::try_from(axis).map_err(|_| too_large())?;
        strides[axis] = stride;
        stride = stride.checked_mul(dims[axis]).ok_or_else(too_large)?;
    }
    let mut sorted = Vec::with_capacity(bytes.len());
    let mut index = vec![0_usize; dims.len()];
    while sorted.len() < bytes.len() {
        let at: usize = index.iter().zip(&strides).map(|(index, stride)| index * stride).sum();
        sorted.extend_from_slice(&bytes[at..at + width]);
        for axis in (0..dims.len()).rev() {
            index[axis] += 1;
            if index[axis] < dims[axis] {
                break;
            }
            index[axis] = 0;
        }
    }
    Ok(sorted)
}

#[cfg(test)]
mod tests {
    use super::{elements, unpacked};
    use tpu_proto::xla::{LayoutProto, LiteralProto, PrimitiveType, ShapeProto};

    fn shape(of: PrimitiveType, dims: &[i64], minor_to_major: &[i64]) -> ShapeProto {
        ShapeProto {
            element_type: of.into(),
            dimensions: dims.to_vec(),
            layout: Some(LayoutProto { minor_to_major: minor_to_major.to_vec(), ..<_>::default() }),
            ..<_>::default()
        }
    }

    #[test]
    fn a_literal_in_column_order_is_turned() {
        let shape = shape(PrimitiveType::U8, &[2, 3], &[0, 1]);
        let u8s = vec![1, 4, 2, 5, 3, 6];
        let literal = LiteralProto { shape: Some(shape.clone()), u8s, ..<_>::default() };
        assert_eq!(&*elements(&literal, &shape).unwrap().data, [1, 2, 3, 4, 5, 6]);
    }

    #[test]
    fn equal_elements_are_one_and_missing_ones_an_error() {
        let shape = shape(PrimitiveType::S32, &[3], &[0]);
        let mut literal =
            LiteralProto { shape: Some(shape.clone()), s32s: vec![7; 3], ..<_>::default() };
        let splat = elements(&literal, &shape).unwrap();
        assert!(splat.splat);
        assert_eq!(&*splat.data, [7, 0, 0, 0]);
        literal.s32s.pop();
        let error = elements(&literal, &shape).unwrap_err();
        assert_eq!(error.what, "a literal of 2 elements, its shape has 3");
    }

    #[test]
    fn small_integers_share_bytes() {
        assert_eq!(unpacked(&[0xF1, 0x07], 4, true, 3).unwrap(), [1, 0xFF, 7]);
        assert_eq!(unpacked(&[0b1110_0100], 2, false, 4).unwrap(), [0, 1, 2, 3]);
        assert!(unpacked(&[0], 4, true, 3).is_err());
    }
}
