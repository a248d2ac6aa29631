//! Nodes whose operands are known, evaluated at compile time.
use crate::graph::NodeKind;
use std::sync::Arc;
use tpu_base::error::Result;
use tpu_base::tensor::Shape;
use tpu_kernels::aligned::Aligned;
use tpu_kernels::movement::iota::fill_iota;
use tpu_kernels::movement::strided_view::AccessMap;
use tpu_ops::{Cx, Numerics};

/// The bytes of the results, with the bits that a run under `numerics` would give.
///
/// # Errors
/// Those of the kernel.
pub(crate) fn evaluate(
    work: &NodeKind,
    operands: &[Arc<[u8]>],
    shapes: &[Shape],
    results: &[Shape],
    numerics: Numerics,
) -> Result<Option<Vec<Arc<[u8]>>>> {
    let _mode = numerics.subnormals().enter();
    let operands: Vec<Aligned> = operands.iter().map(|bytes| Aligned::of(bytes)).collect();
    let mut outputs: Vec<Aligned> =
        results.iter().map(|shape| Aligned::zeros(shape.bytes())).collect();
    let elements = results.first().map_or(0, Shape::elements);
    match work {
        NodeKind::Elementwise(op) => {
            let spread = |(operand, shape): (&Aligned, &Shape)| {
                if shape.elements() == elements {
                    operand.clone()
                } else {
                    Aligned::of(&operand.bytes().repeat(elements))
                }
            };
            let inputs: Vec<Aligned> = operands.iter().zip(shapes).map(spread).collect();
            let inputs: Vec<&[u8]> = inputs.iter().map(Aligned::bytes).collect();
            (op.run)(op.immediate, &inputs, outputs[0].bytes_mut());
        }
        NodeKind::Access(access) => {
            let map = AccessMap::new(access, &results[0].dims);
            let width = results[0].dtype.host_bytes();
            map.fill(width, operands[0].bytes(), 0, outputs[0].bytes_mut());
        }
        NodeKind::Iota(axis) => {
            let inner = results[0].dims[axis + 1..].iter().product();
            let (dtype, extent) = (results[0].dtype, results[0].dims[*axis]);
            fill_iota(dtype, 0, inner, extent, outputs[0].bytes_mut());
        }
        NodeKind::Splat(element) => {
            return Ok(Some(vec![element.repeat(elements).into()]));
        }
        NodeKind::Constant(bytes) => return Ok(Some(vec![Arc::clone(bytes)])),
        NodeKind::Kernel(kernel) if kernel.channel().is_some() => return Ok(None),
        NodeKind::Kernel(kernel) => {
            let mut scratch = Aligned::zeros(kernel.scratch());
            let mut inputs: Vec<&[u8]> = operands.iter().map(Aligned::bytes).collect();
            for (index, output) in outputs.iter_mut().enumerate() {
                if let Some(from) = kernel.starts_from(index) {
                    output.bytes_mut().copy_from_slice(operands[from].bytes());
                    inputs[from] = &[];
                }
            }
            let mut cx =
                Cx { scratch: scratch.bytes_mut(), seed: &mut 0, transfers: &[], others: None };
            let mut slices: Vec<&mut [u8]> = outputs.iter_mut().map(Aligned::bytes_mut).collect();
            kernel.run(&mut cx, &inputs, &mut slices)?;
        }
        NodeKind::While(..) | NodeKind::Branch(_) => return Ok(None),
    }
    Ok(Some(outputs.iter().map(|output| output.bytes().into()).collect()))
}
