//! A value written in the program.
use super::{Entry, Lowered, Simplification, Site, factors};
use std::sync::Arc;
use tpu_base::error::{Error, Result};
use tpu_base::tensor::{DType, Shape};
use tpu_stablehlo::ir::{Attribute, Elements};

/// The attribute `value`.
///
/// Shapes: result as declared.
/// Errors: `Constraint` C1 for a value of another shape.
/// Source: StableHLO specification, "constant", C1.
pub const OP: Entry = Entry {
    simplification: Simplification::Moved,
    factors: factors::constant,
    ..Entry::new("constant", infer, lower)
};

fn value<'a>(site: &'a Site<'_>) -> Result<&'a Elements> {
    match site.attribute("value")? {
        Attribute::Elements(elements) => Ok(elements),
        _ => Err(Error::bad(format!("{}: value is no dense array", site.name))),
    }
}

fn infer(site: &Site<'_>) -> Result<Vec<Shape>> {
    let [] = site.exactly()?;
    let result = site.declared(0)?;
    let value = value(site)?;
    let same = value.of.dims.len() == result.rank()
        && value.of.dims.iter().zip(&result.dims).all(|(&a, &b)| usize::try_from(a) == Ok(b));
    let width = value.of.element.bytes();
    if !same || width != Some(result.dtype.host_bytes()) {
        let what = format!("a value of {:?}{:?} for {result}", value.of.element, value.of.dims);
        return Err(site.violates("C1", what));
    }
    let held = if value.splat { result.dtype.host_bytes() } else { result.bytes() };
    // An empty array may come with the element of a splat.
    if value.data.len() != held && result.elements() != 0 {
        let what = format!("{} bytes of a value where {held} are needed", value.data.len());
        return Err(Error::bad(format!("{}: {what}", site.name)));
    }
    Ok(vec![result])
}

fn lower(site: &Site<'_>) -> Result<Lowered> {
    let [result] = site.results else {
        return Err(Error::bad(format!("{} has {} results", site.name, site.results.len())));
    };
    let value = value(site)?;
    let data = match upper_bits(result.dtype) {
        0 => Arc::clone(&value.data),
        upper => value.data.iter().map(|byte| byte & !upper).collect(),
    };
    Ok(if result.elements() == 0 {
        Lowered::Constant(Arc::new([]))
    } else if value.splat && result.elements() > 1 {
        Lowered::Splat(data)
    } else {
        Lowered::Constant(data)
    })
}

/// The bits of a byte that are zero in a program and anything in an attribute.
fn upper_bits(dtype: DType) -> u8 {
    match dtype {
        DType::U2 => 0xfc,
        DType::U4 | DType::F4E2M1FN => 0xf0,
        DType::F6E2M3FN | DType::F6E3M2FN => 0xc0,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Case, bytes};
    use tpu_stablehlo::ir::{Element, TensorType};

    fn case(dims: &[i64], data: &[i32], splat: bool) -> Case {
        let of = TensorType::new(Element::S32, dims.to_vec());
        let elements = Elements { of, data: bytes(data).into(), splat };
        Case::new("stablehlo.constant")
            .attribute("value", Attribute::Elements(elements))
            .declares(DType::S32, &[3])
    }

    #[test]
    fn values_are_written_out_and_splats_stay_one_element() {
        assert_eq!(case(&[3], &[1, 2, 3], false).eval::<i32>(&OP), [1, 2, 3]);
        assert_eq!(case(&[3], &[7], true).eval::<i32>(&OP), [7, 7, 7]);
        assert!(matches!(case(&[3], &[7], true).lower(&OP).unwrap(), Lowered::Splat(_)));
    }

    #[test]
    fn another_shape_and_missing_bytes_are_errors() {
        assert!(case(&[2], &[1, 2], false).shapes(&OP).contains("violates C1"));
        assert!(case(&[3], &[1, 2], false).shapes(&OP).contains("8 bytes of a value where 12"));
    }
}
