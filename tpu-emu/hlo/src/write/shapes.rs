//! Types as shapes.
use super::WriteResult;
use tpu_proto::xla::{LayoutProto, PrimitiveType, ShapeProto};
use tpu_stablehlo::ir::{Element, TensorType, Type};

/// The shape of one value.
pub(super) fn of(value: &Type) -> WriteResult<ShapeProto> {
    match value {
        Type::Tensor(tensor) => array(tensor),
        Type::Token => {
            Ok(ShapeProto { element_type: PrimitiveType::Token.into(), ..<_>::default() })
        }
        Type::Tuple(parts) => Ok(tuple(parts.iter().map(of).collect::<WriteResult<_>>()?)),
        other => Err(format!("a value of type {other:?}").into()),
    }
}

/// An array in row-major order.
pub(super) fn array(tensor: &TensorType) -> WriteResult<ShapeProto> {
    if tensor.quantization.is_some() || tensor.dims.iter().any(|dim| *dim < 0) {
        return Err(
            format!("an array of {:?}, quantized or of unknown extents", tensor.dims).into()
        );
    }
    Ok(plain(primitive(tensor.element)?, tensor.dims.clone(), bits(tensor.element)))
}

/// An array of this type and these extents.
pub(super) fn plain(of: PrimitiveType, dimensions: Vec<i64>, bits: i64) -> ShapeProto {
    let rank = dimensions.len();
    let layout = LayoutProto {
        minor_to_major: (0_i64..).take(rank).collect::<Vec<_>>().into_iter().rev().collect(),
        element_size_in_bits: bits,
        tail_padding_alignment_in_elements: 1,
        ..<_>::default()
    };
    ShapeProto {
        element_type: of.into(),
        is_dynamic_dimension: vec![false; rank],
        dimensions,
        tuple_shapes: Vec::new(),
        layout: Some(layout),
    }
}

/// Several values as one.
pub(super) fn tuple(tuple_shapes: Vec<ShapeProto>) -> ShapeProto {
    ShapeProto { element_type: PrimitiveType::Tuple.into(), tuple_shapes, ..<_>::default() }
}

/// A shape with other extents.
pub(super) fn resized(of: &ShapeProto, dimensions: Vec<i64>) -> ShapeProto {
    let bits = of.layout.as_ref().map_or(0, |layout| layout.element_size_in_bits);
    plain(of.element_type(), dimensions, bits)
}

/// Bits of an element where it is packed.
fn bits(element: Element) -> i64 {
    match element {
        Element::S2 | Element::U2 => 2,
        Element::S4 | Element::U4 | Element::F4E2M1FN => 4,
        _ => 0,
    }
}

fn primitive(element: Element) -> WriteResult<PrimitiveType> {
    Ok(match element {
        Element::Pred => PrimitiveType::Pred,
        Element::S2 => PrimitiveType::S2,
        Element::S4 => PrimitiveType::S4,
        Element::S8 => PrimitiveType::S8,
        Element::S16 => PrimitiveType::S16,
        Element::S32 => PrimitiveType::S32,
        Element::S64 => PrimitiveType::S64,
        Element::U2 => PrimitiveType::U2,
        Element::U4 => PrimitiveType::U4,
        Element::U8 => PrimitiveType::U8,
        Element::U16 => PrimitiveType::U16,
        Element::U32 => PrimitiveType::U32,
        Element::U64 => PrimitiveType::U64,
        Element::F16 => PrimitiveType::F16,
        Element::F32 => PrimitiveType::F32,
        Element::F64 => PrimitiveType::F64,
        Element::Bf16 => PrimitiveType::Bf16,
        Element::C64 => PrimitiveType::C64,
        Element::C128 => PrimitiveType::C128,
        Element::F8E5M2 => PrimitiveType::F8e5m2,
        Element::F8E4M3FN => PrimitiveType::F8e4m3fn,
        Element::F8E4M3B11FNUZ => PrimitiveType::F8e4m3b11fnuz,
        Element::F8E5M2FNUZ => PrimitiveType::F8e5m2fnuz,
        Element::F8E4M3FNUZ => PrimitiveType::F8e4m3fnuz,
        Element::F8E4M3 => PrimitiveType::F8e4m3,
        Element::F8E3M4 => PrimitiveType::F8e3m4,
        Element::F4E2M1FN => PrimitiveType::F4e2m1fn,
        Element::F8E8M0FNU => PrimitiveType::F8e8m0fnu,
        other => return Err(format!("elements of type {other:?}").into()),
    })
}
