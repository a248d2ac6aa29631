//! Operations with bodies run alone, for the tests in their files.
use super::{Cx, Declared, Kernel, Lowered, Numerics, RegionCode, Site, custom, find};
use std::sync::Arc;
use tpu_base::error::Result;
use tpu_base::tensor::{DType, Shape};
use tpu_kernels::elementwise::kind::ElementwiseKind;
use tpu_kernels::elementwise::program::{
    ElementwiseConstant, ElementwiseOp, ElementwiseProgram, Instr, Register,
};
use tpu_kernels::elementwise::vm::CompiledLoop;
use tpu_stablehlo::ir::{Attribute, Attributes};

/// An array: its shape and elements.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TestValue {
    pub(crate) shape: Shape,
    pub(crate) words: Vec<u128>,
}

impl TestValue {
    /// From elements.
    pub(crate) fn of<T: bytemuck::Pod>(dtype: DType, dims: &[usize], elements: &[T]) -> Self {
        let mut value = Self::zero(Shape::new(dtype, dims));
        assert_eq!(value.shape.elements(), elements.len());
        value.bytes_mut().copy_from_slice(bytemuck::cast_slice(elements));
        value
    }

    /// All zero bytes.
    pub(crate) fn zero(shape: Shape) -> Self {
        let words = vec![0; shape.bytes().div_ceil(16)];
        Self { shape, words }
    }

    /// The elements' bytes.
    pub(crate) fn bytes(&self) -> &[u8] {
        &bytemuck::cast_slice(&self.words)[..self.shape.bytes()]
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        let bytes = self.shape.bytes();
        &mut bytemuck::cast_slice_mut(&mut self.words)[..bytes]
    }

    /// The elements.
    pub(crate) fn elements<T: bytemuck::Pod>(&self) -> Vec<T> {
        bytemuck::cast_slice(self.bytes()).to_vec()
    }
}

/// A region made of lane operations.
#[derive(Debug)]
pub(crate) struct Code {
    code: CompiledLoop,
    parameters: Vec<Shape>,
    results: Vec<Shape>,
}

impl Code {
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

impl RegionCode for Code {
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

/// The lane operation that an operation becomes on scalars.
pub(crate) fn step(
    name: &str,
    list: &[(&'static str, Attribute)],
    operands: &[DType],
    result: DType,
) -> ElementwiseOp {
    lowered(name, list, operands, result).unwrap_or_else(|| panic!("{name} is no lane operation"))
}

/// The lane operation of a mnemonic, a comparison's direction behind a dot; `None` for types that
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
    let operands: Vec<Shape> = operands.iter().map(|&dtype| Shape::scalar(dtype)).collect();
    let results = [Shape::scalar(result)];
    let site = Site {
        name,
        attributes: &attributes(list),
        operands: &operands,
        known: &[None, None, None],
        declared: &[],
        results: &results,
        bodies: &[],
        numerics: Numerics::Ieee,
        partition: 0,
    };
    let mnemonic = name.strip_prefix("stablehlo.").unwrap_or(name);
    let entry = find(mnemonic).unwrap_or_else(|| panic!("no operation {mnemonic}"));
    match (entry.lower)(&site) {
        Ok(Lowered::Elementwise(op)) => Some(op),
        _ => None,
    }
}

/// A lane operation on one type from a function of two elements.
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
            kind: crate::testing_bodies::kind($name),
            operand: tpu_base::tensor::DType::$operand,
            result: tpu_base::tensor::DType::$result,
            run,
            immediate: [0; 2],
            transcendental: false,
        }
    }};
}
pub(crate) use lane;

/// Attributes from names and values.
pub(crate) fn attributes(list: &[(&'static str, Attribute)]) -> Attributes {
    Attributes(list.iter().map(|(name, value)| ((*name).into(), value.clone())).collect())
}

/// A list of integers.
pub(crate) fn integers(values: &[i64]) -> Attribute {
    Attribute::Integers(values.to_vec())
}

/// Infers, lowers and runs an operation that becomes a kernel.
pub(crate) fn run(
    name: &str,
    list: &[(&'static str, Attribute)],
    operands: &[&TestValue],
    bodies: &[Arc<dyn RegionCode>],
) -> Result<Vec<TestValue>> {
    run_declared(name, list, operands, bodies, &[])
}

/// Runs an operation with regions and declared results.
pub(crate) fn run_declared(
    name: &str,
    list: &[(&'static str, Attribute)],
    operands: &[&TestValue],
    bodies: &[Arc<dyn RegionCode>],
    declared: &[Shape],
) -> Result<Vec<TestValue>> {
    let attributes = attributes(list);
    let shapes: Vec<Shape> = operands.iter().map(|value| value.shape.clone()).collect();
    let known = vec![None; operands.len()];
    let declare = |shape: &Shape| Declared {
        dtype: shape.dtype,
        dims: shape.dims.iter().map(|&dim| Some(dim)).collect(),
    };
    let declared: Vec<Declared> = declared.iter().map(declare).collect();
    let mut site = Site {
        name,
        attributes: &attributes,
        operands: &shapes,
        known: &known,
        declared: &declared,
        results: &[],
        bodies,
        numerics: Numerics::Ieee,
        partition: 0,
    };
    let mnemonic = name.strip_prefix("stablehlo.").or(name.strip_prefix("chlo.")).unwrap_or(name);
    let entry = find(mnemonic).or_else(|| custom::find(name));
    let entry = entry.unwrap_or_else(|| panic!("no operation {mnemonic}"));
    let results = (entry.infer)(&site)?;
    site.results = &results;
    let lowered = (entry.lower)(&site)?;
    let Lowered::Kernel(kernel) = lowered else { panic!("{lowered:?} is no kernel") };
    execute(&*kernel, operands, &results)
}

/// Runs a kernel.
pub(crate) fn execute(
    kernel: &dyn Kernel,
    operands: &[&TestValue],
    results: &[Shape],
) -> Result<Vec<TestValue>> {
    let started = |index: usize, shape: &Shape| match kernel.starts_from(index) {
        Some(operand) => operands[operand].clone(),
        None => TestValue::zero(shape.clone()),
    };
    let mut values: Vec<TestValue> =
        results.iter().enumerate().map(|(index, shape)| started(index, shape)).collect();
    let in_place: Vec<Option<usize>> =
        (0..results.len()).map(|index| kernel.starts_from(index)).collect();
    let inputs: Vec<&[u8]> = operands
        .iter()
        .enumerate()
        .map(|(index, value)| if in_place.contains(&Some(index)) { &[] } else { value.bytes() })
        .collect();
    let moved = kernel.moves(1 << 10).map(|moves| {
        let mut result = values[0].bytes().to_vec();
        moves.follow(&inputs, &mut result);
        result
    });
    let mut outputs: Vec<&mut [u8]> = values.iter_mut().map(TestValue::bytes_mut).collect();
    // Whatever was there before: not zeros.
    let mut scratch = vec![u128::MAX / 3; kernel.scratch().div_ceil(16)];
    let mut cx = Cx {
        scratch: bytemuck::cast_slice_mut(&mut scratch),
        seed: &mut 0,
        transfers: &[],
        others: None,
    };
    kernel.run(&mut cx, &inputs, &mut outputs)?;
    // What it says that it moves is what it does.
    moved.into_iter().for_each(|moved| assert_eq!(values[0].bytes(), moved));
    Ok(values)
}
