//! Operations built by hand, inferred, lowered and run, for the tests of their files.
use super::{Cx, Declared, Entry, Lowered, Numerics, RegionCode, Site};
use std::sync::Arc;
use tpu_base::error::Result;
use tpu_base::tensor::{DType, Shape};
use tpu_kernels::movement::block_copy::fill;
use tpu_stablehlo::ir::{Attribute, Attributes};

/// One operation, with the values of its operands where they are needed.
#[derive(Debug)]
pub(crate) struct Case {
    name: &'static str,
    attributes: Attributes,
    operands: Vec<Shape>,
    values: Vec<Vec<u8>>,
    known: Vec<Option<Arc<[u8]>>>,
    declared: Vec<Declared>,
    bodies: Vec<Arc<dyn RegionCode>>,
    numerics: Numerics,
}

/// The bytes of numbers.
pub(crate) fn bytes<T: bytemuck::NoUninit>(values: &[T]) -> Vec<u8> {
    bytemuck::cast_slice(values).to_vec()
}

/// Numbers from bytes.
pub(crate) fn numbers<T: bytemuck::AnyBitPattern>(bytes: &[u8]) -> Vec<T> {
    bytemuck::pod_collect_to_vec::<u8, u8>(bytes)
        .chunks_exact(size_of::<T>())
        .map(bytemuck::pod_read_unaligned)
        .collect()
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

    /// An operand of this shape, all zeros.
    pub(crate) fn operand(self, dtype: DType, dims: &[usize]) -> Self {
        let zeros = vec![0; Shape::new(dtype, dims).bytes()];
        self.value::<u8>(dtype, dims, &zeros)
    }

    /// An operand with these elements.
    pub(crate) fn value<T: bytemuck::NoUninit>(
        mut self,
        dtype: DType,
        dims: &[usize],
        values: &[T],
    ) -> Self {
        let shape = Shape::new(dtype, dims);
        let values = bytes(values);
        assert_eq!(values.len(), shape.bytes(), "bytes of {shape}");
        self.operands.push(shape);
        self.values.push(values);
        self.known.push(None);
        self
    }

    /// An operand whose elements are known at compile time.
    pub(crate) fn known<T: bytemuck::NoUninit>(
        self,
        dtype: DType,
        dims: &[usize],
        values: &[T],
    ) -> Self {
        let mut case = self.value(dtype, dims, values);
        let last = case.values.len() - 1;
        case.known[last] = Some(case.values[last].as_slice().into());
        case
    }

    /// An attribute.
    pub(crate) fn attribute(mut self, name: &'static str, value: Attribute) -> Self {
        self.attributes.set(name, value);
        self
    }

    /// A list of integers.
    pub(crate) fn integers(self, name: &'static str, values: &[i64]) -> Self {
        self.attribute(name, Attribute::Integers(values.to_vec()))
    }

    /// A 64-bit integer.
    pub(crate) fn integer(self, name: &'static str, value: i64) -> Self {
        let of = tpu_stablehlo::ir::Element::S64;
        self.attribute(name, Attribute::Integer(value.into(), of))
    }

    /// A declared result.
    pub(crate) fn declares(mut self, dtype: DType, dims: &[usize]) -> Self {
        let dims = dims.iter().copied().map(Some).collect();
        self.declared.push(Declared { dtype, dims });
        self
    }

    /// A region.
    pub(crate) fn body(mut self, body: Arc<dyn RegionCode>) -> Self {
        self.bodies.push(body);
        self
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

    /// The bytes of every result.
    pub(crate) fn run(&self, op: &Entry) -> Result<Vec<Vec<u8>>> {
        let shapes = self.infer(op)?;
        let mut results: Vec<AlignedBytes> =
            shapes.iter().map(|shape| AlignedBytes::new(shape.bytes())).collect();
        let operands: Vec<AlignedBytes> =
            self.values.iter().map(|value| AlignedBytes::of(value)).collect();
        match (op.lower)(&self.site(&shapes))? {
            Lowered::Elementwise(lane) => {
                let inputs: Vec<&[u8]> = operands.iter().map(AlignedBytes::bytes).collect();
                (lane.run)(lane.immediate, &inputs, results[0].bytes_mut());
            }
            Lowered::Access(access) => {
                let width = shapes[0].dtype.host_bytes();
                let from = operands[0].bytes();
                let mut index = vec![0_usize; shapes[0].rank()];
                for to in results[0].bytes_mut().chunks_exact_mut(width) {
                    let steps = index.iter().zip(&access.strides);
                    let at: isize =
                        steps.map(|(&i, &stride)| isize::try_from(i).unwrap() * stride).sum();
                    let at = access.offset.checked_add_signed(at).unwrap() * width;
                    to.copy_from_slice(&from[at..at + width]);
                    for (i, &dim) in index.iter_mut().zip(&shapes[0].dims).rev() {
                        *i += 1;
                        if *i < dim {
                            break;
                        }
                        *i = 0;
                    }
                }
            }
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
                for (result, operand) in results.iter_mut().zip(&operands) {
                    result.bytes_mut().copy_from_slice(operand.bytes());
                }
            }
            Lowered::Constant(bytes) => results[0].bytes_mut().copy_from_slice(&bytes),
            Lowered::Splat(element) => fill(results[0].bytes_mut(), &element),
            Lowered::Kernel(kernel) => {
                let mut inputs: Vec<&[u8]> = operands.iter().map(AlignedBytes::bytes).collect();
                for (index, result) in results.iter_mut().enumerate() {
                    // What was there before is no zero.
                    result.bytes_mut().fill(0xa5);
                    if let Some(operand) = kernel.starts_from(index) {
                        result.bytes_mut().copy_from_slice(operands[operand].bytes());
                        inputs[operand] = &[];
                    }
                }
                let moved = kernel.moves(1 << 10).map(|moves| {
                    let mut result = results[0].bytes().to_vec();
                    moves.follow(&inputs, &mut result);
                    result
                });
                let mut scratch = AlignedBytes::new(kernel.scratch());
                scratch.bytes_mut().fill(0x5a);
                let mut seed = 42;
                let mut outputs: Vec<&mut [u8]> =
                    results.iter_mut().map(AlignedBytes::bytes_mut).collect();
                let mut cx = Cx {
                    scratch: scratch.bytes_mut(),
                    seed: &mut seed,
                    transfers: &[],
                    others: None,
                };
                kernel.run(&mut cx, &inputs, &mut outputs)?;
                // What it says that it moves is what it does.
                moved.into_iter().for_each(|moved| assert_eq!(results[0].bytes(), moved));
            }
        }
        Ok(results.iter().map(|result| result.bytes().to_vec()).collect())
    }

    /// The numbers of the only result.
    pub(crate) fn eval<T: bytemuck::AnyBitPattern>(&self, op: &Entry) -> Vec<T> {
        let results = self.run(op).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(results.len(), 1);
        numbers(&results[0])
    }
}

/// Bytes aligned to 64.
struct AlignedBytes {
    lines: Vec<CacheLine>,
    length: usize,
}

#[derive(Clone, Copy, bytemuck::Zeroable, bytemuck::Pod)]
#[repr(C, align(64))]
struct CacheLine([u8; 64]);

impl AlignedBytes {
    fn new(length: usize) -> Self {
        Self { lines: vec![CacheLine([0; 64]); length.div_ceil(64)], length }
    }

    fn of(bytes: &[u8]) -> Self {
        let mut block = Self::new(bytes.len());
        block.bytes_mut().copy_from_slice(bytes);
        block
    }

    fn bytes(&self) -> &[u8] {
        &bytemuck::cast_slice(&self.lines)[..self.length]
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        &mut bytemuck::cast_slice_mut(&mut self.lines)[..self.length]
    }
}
