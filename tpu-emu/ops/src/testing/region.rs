//! Bodies of operations, made of elementwise ones.
use super::Case;
use crate::{Lowered, RegionCode, find};
use std::sync::Arc;
use tpu_base::error::Result;
use tpu_base::tensor::{DType, Shape};
use tpu_kernels::elementwise::kind::ElementwiseKind;
use tpu_kernels::elementwise::program::{
    ElementwiseConstant, ElementwiseOp, ElementwiseProgram, Instr, Register,
};
use tpu_kernels::vm::CompiledLoop;
use tpu_stablehlo::ir::Attribute;

/// A region made of elementwise operations.
#[derive(Debug)]
pub(crate) struct TestRegion {
    code: CompiledLoop,
    parameters: Vec<Shape>,
    results: Vec<Shape>,
}

impl TestRegion {
    /// A region that runs `steps` on scalars.
    pub(crate) fn steps(
        parameters: &[DType],
        steps: Vec<(ElementwiseOp, Vec<Register>)>,
        results: &[Register],
    ) -> Arc<dyn RegionCode> {
        Self::with_constants(parameters, Vec::new(), steps, results)
    }

    fn of(program: ElementwiseProgram) -> Arc<dyn RegionCode> {
        let scalar = |&register| Shape::scalar(program.dtype(register));
        let results = program.results.iter().map(scalar).collect();
        let parameters = program.parameters.iter().map(|&dtype| Shape::scalar(dtype)).collect();
        Arc::new(Self { code: CompiledLoop::of(program), parameters, results })
    }

    /// A region with constants of one element each.
    pub(crate) fn with_constants(
        parameters: &[DType],
        constants: Vec<ElementwiseConstant>,
        steps: Vec<(ElementwiseOp, Vec<Register>)>,
        results: &[Register],
    ) -> Arc<dyn RegionCode> {
        let steps = steps.into_iter().map(|(op, inputs)| Instr { op, inputs }).collect();
        let (parameters, results) = (parameters.to_vec(), results.to_vec());
        Self::of(ElementwiseProgram { parameters, constants, steps, results })
    }

    /// A region of one operation on its two parameters.
    pub(crate) fn binary(op: ElementwiseOp) -> Arc<dyn RegionCode> {
        let inputs = vec![Register::Parameter(0), Register::Parameter(1)];
        Self::steps(&[op.operand; 2], vec![(op, inputs)], &[Register::Step(0)])
    }
}

impl RegionCode for TestRegion {
    fn parameters(&self) -> &[Shape] {
        &self.parameters
    }

    fn results(&self) -> &[Shape] {
        &self.results
    }

    fn apply(&self, lanes: usize, inputs: &[&[u8]], outputs: &mut [&mut [u8]]) -> Result<()> {
        self.code.apply(lanes, inputs, outputs);
        Ok(())
    }

    fn program(&self) -> Option<&ElementwiseProgram> {
        Some(self.code.program())
    }
}

/// A kind by its name; for names that no operation has, one that no kernel knows.
pub(crate) fn kind(name: &str) -> ElementwiseKind {
    let known = find(name.split('.').next().unwrap_or_default());
    let known = known.and_then(|_| lane_operation(name, &[DType::S32; 2], DType::S32));
    known.map_or(ElementwiseKind::NextAfter, |op| op.kind)
}

/// The elementwise operation that an operation becomes on scalars.
pub(crate) fn step(
    name: &str,
    list: &[(&'static str, Attribute)],
    operands: &[DType],
    result: DType,
) -> ElementwiseOp {
    lowered(name, list, operands, result)
        .unwrap_or_else(|| panic!("{name} is no elementwise operation"))
}

/// The elementwise operation of a mnemonic, a comparison's direction behind a dot; `None` for types that
/// it does not take.
pub(crate) fn lane_operation(
    name: &str,
    operands: &[DType],
    result: DType,
) -> Option<ElementwiseOp> {
    match name.split_once('.') {
        Some((name, direction)) => {
            let list = [("comparison_direction", Attribute::Word(direction.to_owned().into()))];
            lowered(name, &list, operands, result)
        }
        None => lowered(name, &[], operands, result),
    }
}

fn lowered(
    name: &str,
    list: &[(&'static str, Attribute)],
    operands: &[DType],
    result: DType,
) -> Option<ElementwiseOp> {
    let mnemonic = name.strip_prefix("stablehlo.").unwrap_or(name);
    let entry = find(mnemonic).unwrap_or_else(|| panic!("no operation {mnemonic}"));
    let case = Case::new(entry.mnemonic).attributes(list).declares(result, &[]);
    let case = operands.iter().fold(case, |case, &dtype| case.operand(dtype, &[]));
    match case.lower(entry) {
        Ok(Lowered::Elementwise(op)) => Some(op),
        _ => None,
    }
}

/// A elementwise operation on one type from a function of two elements.
macro_rules! lane {
    ($name:literal, $operand:ident $t:ty => $result:ident $r:ty, $f:expr) => {{
        fn run(_: [u32; 2], inputs: &[&[u8]], output: &mut [u8]) {
            let f: fn($t, $t) -> $r = $f;
            let inputs = inputs.iter().map(|input| bytemuck::cast_slice::<u8, $t>(input));
            let inputs: Vec<&[$t]> = inputs.collect();
            let output = bytemuck::cast_slice_mut::<u8, $r>(output);
            for (index, output) in output.iter_mut().enumerate() {
                *output = f(inputs[0][index], inputs[inputs.len() - 1][index]);
            }
        }
        tpu_kernels::elementwise::program::ElementwiseOp {
            kind: crate::testing::kind($name),
            operand: tpu_base::tensor::DType::$operand,
            result: tpu_base::tensor::DType::$result,
            run,
            immediate: [0; 2],
            transcendental: false,
        }
    }};
}
pub(crate) use lane;
