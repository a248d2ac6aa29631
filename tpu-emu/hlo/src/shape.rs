//! Shapes as types, tuples as lists of types.
use crate::ReadError;
use tpu_proto::xla::{PrimitiveType, ShapeProto};
use tpu_stablehlo::ir::{DYNAMIC, Element, TensorType, Type};

/// Types of all arrays and tokens of a shape, from the left.
pub(crate) fn leaves(shape: &ShapeProto) -> Result<Vec<Type>, ReadError> {
    let mut types = Vec::new();
    flatten(shape, &mut types)?;
    Ok(types)
}

fn flatten(shape: &ShapeProto, into: &mut Vec<Type>) -> Result<(), ReadError> {
    if shape.element_type() == PrimitiveType::Tuple {
        return shape.tuple_shapes.iter().try_for_each(|part| flatten(part, into));
    }
    into.push(leaf(shape)?);
    Ok(())
}

/// How many arrays and tokens a shape has.
pub(crate) fn count(shape: &ShapeProto) -> usize {
    match shape.element_type() {
        PrimitiveType::Tuple => shape.tuple_shapes.iter().map(count).sum(),
        _ => 1,
    }
}

/// Where the part of a tuple at a path begins among the leaves, and the part.
pub(crate) fn at_path<'s>(
    mut shape: &'s ShapeProto,
    path: &[i64],
) -> Result<(usize, &'s ShapeProto), ReadError> {
    let mut start = 0;
    for &step in path {
        let parts = &shape.tuple_shapes;
        let part = usize::try_from(step).ok().filter(|&part| part < parts.len());
        let part = part.ok_or_else(|| format!("part {step} of a tuple of {}", parts.len()))?;
        start += parts[..part].iter().map(count).sum::<usize>();
        shape = &parts[part];
    }
    Ok((start, shape))
}

fn leaf(shape: &ShapeProto) -> Result<Type, ReadError> {
    if shape.element_type() == PrimitiveType::Token {
        return Ok(Type::Token);
    }
    tensor(shape).map(Type::Tensor)
}

/// The type of an array.
pub(crate) fn tensor(shape: &ShapeProto) -> Result<TensorType, ReadError> {
    let element = element(shape)?;
    if let Some(negative) = shape.dimensions.iter().find(|dim| **dim < 0) {
        return Err(format!("an extent of {negative}").into());
    }
    let bytes = element.bytes().and_then(|width| i64::try_from(width).ok()).unwrap_or(1);
    let size = shape.dimensions.iter().try_fold(bytes, |size, dim| size.checked_mul(*dim));
    if size.is_none() && !shape.dimensions.contains(&0) {
        return Err(format!("an array of {:?} is too large", shape.dimensions).into());
    }
    let mut of = TensorType::new(element, shape.dimensions.clone());
    let dynamic = &shape.is_dynamic_dimension;
    if dynamic.contains(&true) {
        if dynamic.len() != of.dims.len() {
            return Err(format!("{} flags for {} dimensions", dynamic.len(), of.dims.len()).into());
        }
        of.bounds = vec![DYNAMIC; of.dims.len()];
        for (axis, _) in dynamic.iter().enumerate().filter(|(_, dynamic)| **dynamic) {
            of.bounds[axis] = std::mem::replace(&mut of.dims[axis], DYNAMIC);
        }
    }
    Ok(of)
}

/// The types of elements, as HLO and as programs here name them.
const TYPES: &[(PrimitiveType, Element)] = &[
    (PrimitiveType::Pred, Element::Pred),
    (PrimitiveType::S2, Element::S2),
    (PrimitiveType::S4, Element::S4),
    (PrimitiveType::S8, Element::S8),
    (PrimitiveType::S16, Element::S16),
    (PrimitiveType::S32, Element::S32),
    (PrimitiveType::S64, Element::S64),
    (PrimitiveType::U2, Element::U2),
    (PrimitiveType::U4, Element::U4),
    (PrimitiveType::U8, Element::U8),
    (PrimitiveType::U16, Element::U16),
    (PrimitiveType::U32, Element::U32),
    (PrimitiveType::U64, Element::U64),
    (PrimitiveType::F16, Element::F16),
    (PrimitiveType::F32, Element::F32),
    (PrimitiveType::F64, Element::F64),
    (PrimitiveType::Bf16, Element::Bf16),
    (PrimitiveType::C64, Element::C64),
    (PrimitiveType::C128, Element::C128),
    (PrimitiveType::F8e5m2, Element::F8E5M2),
    (PrimitiveType::F8e4m3fn, Element::F8E4M3FN),
    (PrimitiveType::F8e4m3b11fnuz, Element::F8E4M3B11FNUZ),
    (PrimitiveType::F8e5m2fnuz, Element::F8E5M2FNUZ),
    (PrimitiveType::F8e4m3fnuz, Element::F8E4M3FNUZ),
    (PrimitiveType::F8e4m3, Element::F8E4M3),
    (PrimitiveType::F8e3m4, Element::F8E3M4),
    (PrimitiveType::F4e2m1fn, Element::F4E2M1FN),
    (PrimitiveType::F8e8m0fnu, Element::F8E8M0FNU),
];

fn element(shape: &ShapeProto) -> Result<Element, ReadError> {
    let of = shape.element_type();
    let known = TYPES.iter().find(|(primitive, _)| *primitive == of);
    let known = known.map(|(_, element)| *element);
    known.ok_or_else(|| format!("elements of type {}", of.as_str_name()).into())
}

/// What HLO calls the elements of an array.
pub(crate) fn primitive(element: Element) -> Option<PrimitiveType> {
    TYPES.iter().find(|(_, known)| *known == element).map(|(primitive, _)| *primitive)
}

/// The axes of an array from the slowest to the fastest, as its layout says.
pub(crate) fn physical_order(shape: &ShapeProto) -> Result<Vec<i64>, ReadError> {
    let rank = shape.dimensions.len();
    let wanted: Vec<i64> = (0_i64..).take(rank).collect();
    let Some(layout) = &shape.layout else { return Ok(wanted) };
    if layout.minor_to_major.is_empty() {
        return Ok(wanted);
    }
    let order: Vec<i64> = layout.minor_to_major.iter().rev().copied().collect();
    let mut sorted = order.clone();
    sorted.sort_unstable();
    if sorted != wanted {
        return Err(format!("a layout of axes {order:?} for {rank} dimensions").into());
    }
    Ok(order)
}

#[cfg(test)]
mod tests {
    use super::{at_path, leaves, physical_order};
    use tpu_proto::xla::{LayoutProto, PrimitiveType, ShapeProto};
    use tpu_stablehlo::ir::{DYNAMIC, Element, TensorType, Type};

    fn array(of: PrimitiveType, dims: &[i64]) -> ShapeProto {
        ShapeProto { element_type: of.into(), dimensions: dims.to_vec(), ..<_>::default() }
    }

    fn tuple(parts: Vec<ShapeProto>) -> ShapeProto {
        let element_type = PrimitiveType::Tuple.into();
        ShapeProto { element_type, tuple_shapes: parts, ..<_>::default() }
    }

    #[test]
    fn tuples_are_lists_of_their_arrays() {
        let inner = tuple(vec![array(PrimitiveType::S32, &[]), array(PrimitiveType::Token, &[])]);
        let shape = tuple(vec![array(PrimitiveType::F32, &[2]), inner]);
        let types = leaves(&shape).unwrap();
        assert_eq!(types[0], Type::Tensor(TensorType::new(Element::F32, vec![2])));
        assert_eq!(types[2], Type::Token);
        let (start, part) = at_path(&shape, &[1, 1]).unwrap();
        assert_eq!((start, part.element_type()), (2, PrimitiveType::Token));
        assert_eq!(at_path(&shape, &[2]).unwrap_err().what, "part 2 of a tuple of 2");
    }

    #[test]
    fn dynamic_extents_have_bounds_and_bad_shapes_are_refused() {
        let mut shape = array(PrimitiveType::F32, &[8, 4]);
        shape.is_dynamic_dimension = vec![true, false];
        let types = leaves(&shape).unwrap();
        let bounded = types[0].tensor().unwrap();
        assert_eq!((&*bounded.dims, &*bounded.bounds), (&[DYNAMIC, 4][..], &[8, DYNAMIC][..]));
        let error = leaves(&array(PrimitiveType::F32, &[-1])).unwrap_err();
        assert_eq!(error.what, "an extent of -1");
        assert!(leaves(&array(PrimitiveType::F32, &[i64::MAX, 9])).is_err());
        assert!(leaves(&array(PrimitiveType::OpaqueType, &[])).is_err());
        let layout = LayoutProto { minor_to_major: vec![0, 0], ..<_>::default() };
        shape.layout = Some(layout);
        assert!(physical_order(&shape).is_err());
    }
}
