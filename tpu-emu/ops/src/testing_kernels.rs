//! Operations in tests that become kernels: values in, values out.
use super::{Cx, Declared, Entry, Lowered, Numerics, Site};
use bytemuck::{Pod, cast_slice, cast_slice_mut};
use tpu_base::error::Result;
use tpu_base::tensor::{DType, Shape};
use tpu_stablehlo::ir::{Attribute, Attributes};

/// An array of a test.
#[derive(Debug, Clone)]
pub(super) struct Array {
    pub(super) shape: Shape,
    pub(super) bytes: Vec<u128>,
}

impl Array {
    pub(super) fn new<T: Pod>(dtype: DType, dims: &[usize], values: &[T]) -> Self {
        let mut array = Self::zeros(Shape::new(dtype, dims));
        array.bytes_mut().copy_from_slice(cast_slice(values));
        array
    }

    fn zeros(shape: Shape) -> Self {
        let bytes = vec![0; shape.bytes().div_ceil(16)];
        Self { shape, bytes }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &cast_slice(&self.bytes)[..self.shape.bytes()]
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        let bytes = self.shape.bytes();
        &mut cast_slice_mut(&mut self.bytes)[..bytes]
    }

    pub(super) fn values<T: Pod>(&self) -> Vec<T> {
        cast_slice(self.bytes()).to_vec()
    }
}

/// Attributes by name.
pub(super) fn attributes<const N: usize>(list: [(&'static str, Attribute); N]) -> Attributes {
    Attributes(list.into_iter().map(|(name, value)| (name.into(), value)).collect())
}

/// A list of integers.
pub(super) fn integers<const N: usize>(list: [i64; N]) -> Attribute {
    Attribute::Integers(list.to_vec())
}

/// Infers, lowers and runs an operation; the results have the declared shapes.
///
/// # Errors
/// Those of the operation.
pub(super) fn run(
    entry: &Entry,
    attributes: &Attributes,
    operands: &[Array],
    declared: &[Shape],
    numerics: Numerics,
) -> Result<Vec<Array>> {
    let shapes: Vec<Shape> = operands.iter().map(|array| array.shape.clone()).collect();
    let known: Vec<_> = operands.iter().map(|array| Some(array.bytes().into())).collect();
    let declare = |shape: &Shape| Declared {
        dtype: shape.dtype,
        dims: shape.dims.iter().copied().map(Some).collect(),
    };
    let declared_dims: Vec<Declared> = declared.iter().map(declare).collect();
    let site = |results| Site {
        name: entry.mnemonic,
        attributes,
        operands: &shapes,
        known: &known,
        declared: &declared_dims,
        results,
        bodies: &[],
        numerics,
        partition: 0,
    };
    let inferred = (entry.infer)(&site(&[]))?;
    assert_eq!(inferred, declared);
    let Lowered::Kernel(kernel) = (entry.lower)(&site(&inferred))? else {
        panic!("{} is no kernel", entry.mnemonic)
    };
    let mut results: Vec<Array> = inferred.into_iter().map(Array::zeros).collect();
    // What was there before must not matter.
    let mut scratch = vec![u128::MAX; kernel.scratch().div_ceil(16)];
    let inputs: Vec<&[u8]> = operands.iter().map(Array::bytes).collect();
    let mut outputs: Vec<&mut [u8]> = results.iter_mut().map(Array::bytes_mut).collect();
    outputs.iter_mut().for_each(|output| output.fill(0xff));
    let mut cx =
        Cx { scratch: cast_slice_mut(&mut scratch), seed: &mut 0, transfers: &[], others: None };
    kernel.run(&mut cx, &inputs, &mut outputs)?;
    Ok(results)
}
