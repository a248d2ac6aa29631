//! Operations built by hand, inferred, lowered and run.
use super::value::{TestValue, numbers, scratch};
use crate::{Cx, Declared, Entry, Kernel, Lowered, Numerics, RegionCode, Site};
use std::borrow::Borrow;
use std::sync::Arc;
use tpu_base::error::Result;
use tpu_base::tensor::{DType, Shape};
use tpu_kernels::movement::block_copy::fill;
use tpu_kernels::movement::strided_view::Access;
use tpu_stablehlo::ir::{Attribute, Attributes, Name};

/// One operation, with the values of its operands where they are needed.
#[derive(Debug)]
pub(crate) struct Case {
    name: &'static str,
    attributes: Attributes,
    operands: Vec<Shape>,
    values: Vec<TestValue>,
    known: Vec<Option<Arc<[u8]>>>,
    declared: Vec<Declared>,
    bodies: Vec<Arc<dyn RegionCode>>,
    numerics: Numerics,
}

/// The bytes of numbers.
pub(crate) fn bytes<T: bytemuck::NoUninit>(values: &[T]) -> Vec<u8> {
    bytemuck::cast_slice(values).to_vec()
}

impl Case {
    /// An operation without operands.
    pub(crate) fn new(name: &'static str) -> Self {
        Self {
            name,
            attributes: Attributes::default(),
            operands: Vec::new(),
            values: Vec::new(),
            known: Vec::new(),
            declared: Vec::new(),
            bodies: Vec::new(),
            numerics: Numerics::Ieee,
        }
    }

    /// Adds an operand of this shape, all zeros.
    pub(crate) fn operand(self, dtype: DType, dims: &[usize]) -> Self {
        self.given(&[TestValue::zero(Shape::new(dtype, dims))])
    }

    /// Adds an operand with these elements.
    pub(crate) fn value<T: bytemuck::NoUninit>(
        self,
        dtype: DType,
        dims: &[usize],
        values: &[T],
    ) -> Self {
        self.given(&[TestValue::of(dtype, dims, values)])
    }

    /// Adds operands.
    pub(crate) fn given(mut self, values: &[impl Borrow<TestValue>]) -> Self {
        for value in values {
            self.operands.push(value.borrow().shape.clone());
            self.values.push(value.borrow().clone());
            self.known.push(None);
        }
        self
    }

    /// Adds an operand whose elements are known at compile time.
    pub(crate) fn known<T: bytemuck::NoUninit>(
        self,
        dtype: DType,
        dims: &[usize],
        values: &[T],
    ) -> Self {
        let mut case = self.value(dtype, dims, values);
        let last = case.values.len() - 1;
        case.known[last] = Some(case.values[last].bytes().into());
        case
    }

    /// Sets an attribute.
    pub(crate) fn attribute(mut self, name: &'static str, value: Attribute) -> Self {
        self.attributes.set(name, value);
        self
    }

    /// Sets attributes.
    pub(crate) fn attributes<'a, N: Into<Name> + Clone + 'a>(
        mut self,
        list: impl IntoIterator<Item = &'a (N, Attribute)>,
    ) -> Self {
        for (name, value) in list {
            self.attributes.set(name.clone(), value.clone());
        }
        self
    }

    /// Sets an attribute that is a list of integers.
    pub(crate) fn integers(self, name: &'static str, values: &[i64]) -> Self {
        self.attribute(name, integers(values))
    }

    /// Sets an attribute that is a 64-bit integer.
    pub(crate) fn integer(self, name: &'static str, value: i64) -> Self {
        let of = tpu_stablehlo::ir::Element::S64;
        self.attribute(name, Attribute::Integer(value.into(), of))
    }

    /// Declares a result.
    pub(crate) fn declares(mut self, dtype: DType, dims: &[usize]) -> Self {
        let dims = dims.iter().copied().map(Some).collect();
        self.declared.push(Declared { dtype, dims });
        self
    }

    /// Declares results.
    pub(crate) fn declares_all(self, shapes: &[Shape]) -> Self {
        shapes.iter().fold(self, |case, shape| case.declares(shape.dtype, &shape.dims))
    }

    /// Adds regions.
    pub(crate) fn bodies(mut self, bodies: &[Arc<dyn RegionCode>]) -> Self {
        self.bodies.extend_from_slice(bodies);
        self
    }

    /// Adds a region.
    pub(crate) fn body(mut self, body: Arc<dyn RegionCode>) -> Self {
        self.bodies.push(body);
        self
    }

    /// Sets how floats are rounded.
    pub(crate) fn numerics(self, numerics: Numerics) -> Self {
        Self { numerics, ..self }
    }

    fn site<'a>(&'a self, results: &'a [Shape]) -> Site<'a> {
        Site {
            name: self.name,
            attributes: &self.attributes,
            operands: &self.operands,
            known: &self.known,
            declared: &self.declared,
            results,
            bodies: &self.bodies,
            numerics: self.numerics,
            partition: 0,
        }
    }

    /// The shapes of the results.
    pub(crate) fn infer(&self, op: &Entry) -> Result<Vec<Shape>> {
        (op.infer)(&self.site(&[]))
    }

    /// The shapes of the results as text, or the error.
    pub(crate) fn shapes(&self, op: &Entry) -> String {
        match self.infer(op) {
            Ok(shapes) => {
                let shapes: Vec<String> = shapes.iter().map(Shape::to_string).collect();
                shapes.join(" ")
            }
            Err(error) => error.to_string(),
        }
    }

    /// What the operation becomes.
    pub(crate) fn lower(&self, op: &Entry) -> Result<Lowered> {
        let results = self.infer(op)?;
        (op.lower)(&self.site(&results))
    }

    /// The results.
    pub(crate) fn results(&self, op: &Entry) -> Result<Vec<TestValue>> {
        let shapes = self.infer(op)?;
        let lowered = (op.lower)(&self.site(&shapes))?;
        if let Lowered::Kernel(kernel) = lowered {
            return execute(&*kernel, &self.values, &shapes);
        }
        let mut results: Vec<TestValue> = shapes.iter().cloned().map(TestValue::zero).collect();
        let operands = &self.values;
        match lowered {
            Lowered::Elementwise(op) => {
                let last = operands.last().map(|operand| operand.shape.dtype);
                assert_eq!((Some(op.operand), op.result), (last, shapes[0].dtype), "{}", self.name);
                let inputs: Vec<&[u8]> = operands.iter().map(TestValue::bytes).collect();
                (op.run)(op.immediate, &inputs, results[0].bytes_mut());
            }
            Lowered::Spread(op, accesses) => {
                let spread = accesses.iter().zip(operands);
                let inputs: Vec<TestValue> =
                    spread.map(|(access, operand)| accessed(access, operand, &shapes[0])).collect();
                let inputs: Vec<&[u8]> = inputs.iter().map(TestValue::bytes).collect();
                (op.run)(op.immediate, &inputs, results[0].bytes_mut());
            }
            Lowered::Access(access) => results[0] = accessed(&access, &operands[0], &shapes[0]),
            Lowered::Iota(axis) => {
                let inner = shapes[0].strides()[axis];
                let width = shapes[0].dtype.host_bytes();
                for (at, to) in results[0].bytes_mut().chunks_exact_mut(width).enumerate() {
                    let value = at / inner % shapes[0].dims[axis];
                    to.copy_from_slice(&value.to_le_bytes()[..width]);
                }
            }
            Lowered::View => results[0].bytes_mut().copy_from_slice(operands[0].bytes()),
            Lowered::Forward | Lowered::Barrier => {
                for (result, operand) in results.iter_mut().zip(operands) {
                    result.bytes_mut().copy_from_slice(operand.bytes());
                }
            }
            Lowered::Constant(bytes) => results[0].bytes_mut().copy_from_slice(&bytes),
            Lowered::Splat(element) => fill(results[0].bytes_mut(), &element),
            Lowered::Kernel(_) => unreachable!("kernels ran above"),
        }
        Ok(results)
    }

    /// The bytes of every result.
    pub(crate) fn run(&self, op: &Entry) -> Result<Vec<Vec<u8>>> {
        Ok(self.results(op)?.iter().map(|result| result.bytes().to_vec()).collect())
    }

    /// The numbers of the only result.
    pub(crate) fn eval<T: bytemuck::AnyBitPattern>(&self, op: &Entry) -> Vec<T> {
        let results = self.run(op).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(results.len(), 1);
        numbers(&results[0])
    }
}

/// Runs a kernel.
pub(crate) fn execute(
    kernel: &dyn Kernel,
    operands: &[impl Borrow<TestValue>],
    shapes: &[Shape],
) -> Result<Vec<TestValue>> {
    let mut inputs: Vec<&[u8]> = operands.iter().map(|value| value.borrow().bytes()).collect();
    let mut results: Vec<TestValue> = shapes.iter().cloned().map(TestValue::zero).collect();
    for (index, result) in results.iter_mut().enumerate() {
        // What was there before is no zero.
        result.bytes_mut().fill(0xa5);
        if let Some(operand) = kernel.starts_from(index) {
            result.bytes_mut().copy_from_slice(operands[operand].borrow().bytes());
            inputs[operand] = &[];
        }
    }
    let moved = kernel.moves(1 << 10).map(|moves| {
        let mut result = results[0].bytes().to_vec();
        moves.follow(&inputs, &mut result);
        result
    });
    let mut scratch = scratch(kernel.scratch());
    let mut outputs: Vec<&mut [u8]> = results.iter_mut().map(TestValue::bytes_mut).collect();
    let mut seed = 42;
    let mut cx = Cx::alone(scratch.bytes_mut(), &mut seed);
    kernel.run(&mut cx, &inputs, &mut outputs)?;
    // What it says that it moves is what it does.
    moved.into_iter().for_each(|moved| assert_eq!(results[0].bytes(), moved));
    Ok(results)
}

/// A list of integers.
pub(crate) fn integers(values: &[i64]) -> Attribute {
    Attribute::Integers(values.to_vec())
}

/// Attributes from names and values.
pub(crate) fn attributes(list: &[(&'static str, Attribute)]) -> Attributes {
    Attributes(list.iter().map(|(name, value)| ((*name).into(), value.clone())).collect())
}

/// The elements of a value in another order.
fn accessed(access: &Access, operand: &TestValue, shape: &Shape) -> TestValue {
    let width = shape.dtype.host_bytes();
    let (mut result, from) = (TestValue::zero(shape.clone()), operand.bytes());
    let mut index = vec![0_usize; shape.rank()];
    for to in result.bytes_mut().chunks_exact_mut(width) {
        let steps = index.iter().zip(&access.strides);
        let at: isize = steps.map(|(&i, &stride)| isize::try_from(i).unwrap() * stride).sum();
        let at = access.offset.checked_add_signed(at).unwrap() * width;
        to.copy_from_slice(&from[at..at + width]);
        for (i, &dim) in index.iter_mut().zip(&shape.dims).rev() {
            *i += 1;
            if *i < dim {
                break;
            }
            *i = 0;
        }
    }
    result
}
