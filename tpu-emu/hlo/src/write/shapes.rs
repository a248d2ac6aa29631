//! Types as shapes.
use super::WriteResult;
use crate::shape::primitive;
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
    let element = tensor.element;
    let of = primitive(element).ok_or_else(|| format!("elements of type {element:?}"))?;
    Ok(plain(of, tensor.dims.clone(), bits(element)))
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

/// What an operation with these results gives: one as it is, others as a tuple.
pub(super) fn joined(mut results: Vec<ShapeProto>) -> ShapeProto {
    match results.len() {
        1 => results.remove(0),
        _ => tuple(results),
    }
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
