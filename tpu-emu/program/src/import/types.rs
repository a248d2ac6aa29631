//! Types of a module as shapes.
use super::super::graph::Graph;
use super::scope::Binding;
use tpu_base::error::{Error, Result};
use tpu_base::tensor::{DType, Shape};
use tpu_ops::Declared;
use tpu_stablehlo::ir::{DYNAMIC, Element, TensorType, Type};

/// The element type on the device.
///
/// # Errors
/// `Unimplemented` for one that no device has.
pub fn dtype(element: Element) -> Result<DType> {
    Ok(match element {
        Element::Pred => DType::Pred,
        Element::S2 => DType::S2,
        Element::S4 => DType::S4,
        Element::S8 => DType::S8,
        Element::S16 => DType::S16,
        Element::S32 => DType::S32,
        Element::S64 => DType::S64,
        Element::U2 => DType::U2,
        Element::U4 => DType::U4,
        Element::U8 => DType::U8,
        Element::U16 => DType::U16,
        Element::U32 => DType::U32,
        Element::U64 => DType::U64,
        Element::F4E2M1FN => DType::F4E2M1FN,
        Element::F6E2M3FN => DType::F6E2M3FN,
        Element::F6E3M2FN => DType::F6E3M2FN,
        Element::F8E3M4 => DType::F8E3M4,
        Element::F8E4M3 => DType::F8E4M3,
        Element::F8E4M3B11FNUZ => DType::F8E4M3B11FNUZ,
        Element::F8E4M3FN => DType::F8E4M3FN,
        Element::F8E4M3FNUZ => DType::F8E4M3FNUZ,
        Element::F8E5M2 => DType::F8E5M2,
        Element::F8E5M2FNUZ => DType::F8E5M2FNUZ,
        Element::F8E8M0FNU => DType::F8E8M0FNU,
        Element::Bf16 => DType::Bf16,
        Element::F16 => DType::F16,
        Element::F32 => DType::F32,
        Element::F64 => DType::F64,
        Element::C64 => DType::C64,
        Element::C128 => DType::C128,
        Element::Tf32 | Element::Index | Element::Other(_) => {
            return Err(Error::Unimplemented(format!("arrays of {element:?}")));
        }
    })
}

/// A declared type: element type and extents.
pub(crate) fn declared(of: &Type) -> Result<Declared> {
    match of {
        Type::Tensor(tensor) | Type::Buffer(tensor) => array(tensor),
        Type::Token => Ok(Declared { dtype: DType::Pred, dims: vec![Some(0)] }),
        other => Err(Error::Unimplemented(format!("values of type {other:?}"))),
    }
}

fn array(tensor: &TensorType) -> Result<Declared> {
    if tensor.quantization.is_some() {
        return Err(Error::Unimplemented("quantized types".to_owned()));
    }
    let dtype = dtype(tensor.element)?;
    let dims = tensor.dims.iter().map(|&dim| {
        if dim == DYNAMIC {
            return Ok(None);
        }
        let negative = |_| Error::bad(format!("an extent of {dim}"));
        usize::try_from(dim).map(Some).map_err(negative)
    });
    let dims = dims.collect::<Result<Vec<_>>>()?;
    // The zeros of an empty array do not hide a product that would overflow.
    let size = dims
        .iter()
        .flatten()
        .filter(|&&dim| dim != 0)
        .try_fold(dtype.host_bytes(), |size, &dim| size.checked_mul(dim))
        .filter(|&size| isize::try_from(size).is_ok());
    size.ok_or_else(|| {
        Error::bad(format!("{}{:?} is past 2^63 bytes", dtype.name(), tensor.dims))
    })?;
    Ok(Declared { dtype, dims })
}

/// New values for a declared type.
pub(super) fn placeholder(of: &Type, graph: &mut Graph) -> Result<Binding> {
    if let Type::Tuple(items) = of {
        let items = items.iter().map(|item| placeholder(item, graph));
        return Ok(Binding::Tuple(items.collect::<Result<_>>()?));
    }
    let shape: Shape = declared(of)?
        .shape()
        .ok_or_else(|| Error::Unimplemented("a value with an unknown extent".to_owned()))?;
    Ok(Binding::Array(graph.add(shape.clone()), shape))
}
