//! Constants as literals.
use super::{WriteResult, shapes};
use tpu_proto::xla::{LiteralProto, PrimitiveType};
use tpu_stablehlo::ir::Elements;

/// The literal of an array; of one element where that stands for all.
pub(super) fn of(elements: &Elements) -> WriteResult<LiteralProto> {
    let mut tensor = elements.of.clone();
    if elements.splat {
        tensor.dims.clear();
        tensor.bounds.clear();
    }
    let shape = shapes::array(&tensor)?;
    let of = shape.element_type();
    let mut literal = LiteralProto { shape: Some(shape), ..<_>::default() };
    let data = &*elements.data;
    macro_rules! wide {
        ($field:ident, $type:ty) => {
            literal.$field = data
                .chunks_exact(size_of::<$type>())
                .filter_map(|bytes| Some(<$type>::from_le_bytes(bytes.try_into().ok()?)))
                .collect()
        };
    }
    match of {
        PrimitiveType::Pred => literal.preds = data.iter().map(|byte| *byte != 0).collect(),
        PrimitiveType::S2 => literal.s2s = packed(data, 2),
        PrimitiveType::S4 => literal.s4s = packed(data, 4),
        PrimitiveType::S8 => literal.s8s = data.to_vec(),
        PrimitiveType::S16 => literal.s16s = data.to_vec(),
        PrimitiveType::S32 => wide!(s32s, i32),
        PrimitiveType::S64 => wide!(s64s, i64),
        PrimitiveType::U2 => literal.u2s = packed(data, 2),
        PrimitiveType::U4 => literal.u4s = packed(data, 4),
        PrimitiveType::U8 => literal.u8s = data.to_vec(),
        PrimitiveType::U16 => literal.u16s = data.to_vec(),
        PrimitiveType::U32 => wide!(u32s, u32),
        PrimitiveType::U64 => wide!(u64s, u64),
        PrimitiveType::F16 => literal.f16s = data.to_vec(),
        PrimitiveType::F32 => wide!(f32s, f32),
        PrimitiveType::F64 => wide!(f64s, f64),
        PrimitiveType::Bf16 => literal.bf16s = data.to_vec(),
        PrimitiveType::C64 => wide!(c64s, f32),
        PrimitiveType::C128 => wide!(c128s, f64),
        PrimitiveType::F8e5m2 => literal.f8e5m2s = data.to_vec(),
        PrimitiveType::F8e4m3fn => literal.f8e4m3fns = data.to_vec(),
        PrimitiveType::F8e4m3b11fnuz => literal.f8e4m3b11fnuzs = data.to_vec(),
        PrimitiveType::F8e5m2fnuz => literal.f8e5m2fnuzs = data.to_vec(),
        PrimitiveType::F8e4m3fnuz => literal.f8e4m3fnuzs = data.to_vec(),
        PrimitiveType::F8e4m3 => literal.f8e4m3s = data.to_vec(),
        PrimitiveType::F8e3m4 => literal.f8e3m4s = data.to_vec(),
        PrimitiveType::F4e2m1fn => literal.f4e2m1fns = packed(data, 4),
        PrimitiveType::F8e8m0fnu => literal.f8e8m0fnus = data.to_vec(),
        other => return Err(format!("a constant of type {}", other.as_str_name()).into()),
    }
    Ok(literal)
}

/// Elements of so many bits, the first of a byte in its low bits.
fn packed(data: &[u8], bits: usize) -> Vec<u8> {
    let mask = u8::MAX >> (8 - bits);
    let byte = |part: &[u8]| {
        part.iter().enumerate().fold(0, |byte, (at, one)| byte | (one & mask) << (at * bits))
    };
    data.chunks(8 / bits).map(byte).collect()
}
