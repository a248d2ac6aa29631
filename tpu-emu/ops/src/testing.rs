//! Operations in tests: a site from shapes, a run from values.
use super::{Entry, Lowered, Numerics, Site};
use tpu_base::error::Result;
use tpu_base::tensor::element::Element;
use tpu_base::tensor::{DType, Shape};
use tpu_kernels::elementwise::program::ElementwiseOp;
use tpu_stablehlo::ir::Attributes;

/// Infers and lowers an operation.
///
/// # Errors
/// Those of the operation.
pub(super) fn lowered(
    entry: &Entry,
    attributes: &Attributes,
    operands: &[Shape],
    declared: &[Shape],
) -> Result<(Vec<Shape>, Lowered)> {
    let declared: Vec<super::Declared> = declared
        .iter()
        .map(|shape| super::Declared {
            dtype: shape.dtype,
            dims: shape.dims.iter().copied().map(Some).collect(),
        })
        .collect();
    let known = vec![None; operands.len()];
    let site = |results| Site {
        name: entry.mnemonic,
        attributes,
        operands,
        known: &known,
        declared: &declared,
        results,
        bodies: &[],
        numerics: Numerics::Ieee,
        partition: 0,
    };
    let results = (entry.infer)(&site(&[]))?;
    let lowered = (entry.lower)(&site(&results))?;
    Ok((results, lowered))
}

/// The lane of an elementwise operation on vectors, with the declared element type.
///
/// # Errors
/// Those of the operation.
pub(super) fn lane(
    entry: &Entry,
    attributes: &Attributes,
    operands: &[DType],
    declared: DType,
    count: usize,
) -> Result<ElementwiseOp> {
    let shapes: Vec<Shape> = operands.iter().map(|&dtype| Shape::new(dtype, [count])).collect();
    let (_, lowered) = lowered(entry, attributes, &shapes, &[Shape::new(declared, [count])])?;
    let Lowered::Elementwise(op) = lowered else { panic!("{} is no lane", entry.mnemonic) };
    Ok(op)
}

/// `op(a)` on vectors.
pub(super) fn unary<A: Element, R: Element>(entry: &Entry, a: &[A]) -> Vec<R> {
    let op = lane(entry, &Attributes::default(), &[A::DTYPE], R::DTYPE, a.len()).unwrap();
    assert_eq!((op.operand, op.result), (A::DTYPE, R::DTYPE));
    let mut output = vec![R::zeroed(); a.len()];
    (op.run)(op.immediate, &[bytemuck::cast_slice(a)], bytemuck::cast_slice_mut(&mut output));
    output
}

/// `op(a, b)` on vectors.
pub(super) fn binary<A: Element, B: Element, R: Element>(
    entry: &Entry,
    attributes: &Attributes,
    a: &[A],
    b: &[B],
) -> Vec<R> {
    let op = lane(entry, attributes, &[A::DTYPE, B::DTYPE], R::DTYPE, a.len()).unwrap();
    assert_eq!((op.operand, op.result), (B::DTYPE, R::DTYPE));
    let mut output = vec![R::zeroed(); a.len()];
    let inputs: [&[u8]; 2] = [bytemuck::cast_slice(a), bytemuck::cast_slice(b)];
    (op.run)(op.immediate, &inputs, bytemuck::cast_slice_mut(&mut output));
    output
}
