//! Code inside of reductions, scatters and sorts, where every operation is elementwise.
use std::sync::Arc;
use tpu_base::error::Result;
use tpu_base::tensor::{DType, Shape};
use tpu_kernels::elementwise::program::{ElementwiseProgram, Instr, Register};
use tpu_kernels::vm::CompiledLoop;
use tpu_ops::{ADD, RegionCode};
use tpu_stablehlo::ir::Attributes;

/// A region of elementwise operations.
#[derive(Debug)]
pub(crate) struct ElementwiseBody {
    pub(crate) code: CompiledLoop,
    pub(crate) parameters: Vec<Shape>,
    pub(crate) results: Vec<Shape>,
}

impl RegionCode for ElementwiseBody {
    fn parameters(&self) -> &[Shape] {
        &self.parameters
    }

    fn results(&self) -> &[Shape] {
        &self.results
    }

    fn apply(&self, elements: usize, inputs: &[&[u8]], outputs: &mut [&mut [u8]]) -> Result<()> {
        self.code.apply(elements, inputs, outputs);
        Ok(())
    }

    fn program(&self) -> Option<&ElementwiseProgram> {
        Some(self.code.program())
    }
}

/// The code that adds two elements.
///
/// # Errors
/// Those of `add` for this type.
pub(crate) fn sum(dtype: DType) -> Result<Arc<dyn RegionCode>> {
    let scalar = Shape::scalar(dtype);
    let op = ADD.on_scalars(&Attributes::default(), &[dtype; 2], dtype)?;
    let inputs = vec![Register::Parameter(0), Register::Parameter(1)];
    let program = ElementwiseProgram {
        parameters: vec![dtype; 2],
        steps: vec![Instr { op, inputs }],
        results: vec![Register::Step(0)],
        ..ElementwiseProgram::default()
    };
    let code = CompiledLoop::of(program);
    Ok(Arc::new(ElementwiseBody {
        code,
        parameters: vec![scalar.clone(); 2],
        results: vec![scalar],
    }))
}
