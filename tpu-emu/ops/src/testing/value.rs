//! Arrays of tests.
use bytemuck::{AnyBitPattern, NoUninit};
use tpu_base::tensor::{DType, Shape};

/// An array: its shape and its elements, which begin where arrays of programs do.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TestValue {
    pub(crate) shape: Shape,
    lines: Vec<CacheLine>,
}

#[derive(Debug, Clone, Copy, PartialEq, bytemuck::Zeroable, bytemuck::Pod)]
#[repr(C, align(64))]
struct CacheLine([u8; 64]);

/// Numbers from bytes, which may begin anywhere.
pub(crate) fn numbers<T: AnyBitPattern>(bytes: &[u8]) -> Vec<T> {
    bytes.chunks_exact(size_of::<T>()).map(bytemuck::pod_read_unaligned).collect()
}

/// Bytes that begin where arrays do, none of them zero.
pub(super) fn scratch(bytes: usize) -> TestValue {
    let mut value = TestValue::zero(Shape::new(DType::U8, [bytes]));
    value.bytes_mut().fill(0x5a);
    value
}

impl TestValue {
    /// An array from its elements.
    pub(crate) fn of<T: NoUninit>(dtype: DType, dims: &[usize], elements: &[T]) -> Self {
        let mut value = Self::zero(Shape::new(dtype, dims));
        let bytes = bytemuck::cast_slice(elements);
        assert_eq!(value.shape.bytes(), bytes.len(), "bytes of {}", value.shape);
        value.bytes_mut().copy_from_slice(bytes);
        value
    }

    /// An array of zero bytes.
    pub(crate) fn zero(shape: Shape) -> Self {
        let lines = vec![CacheLine([0; 64]); shape.bytes().div_ceil(64)];
        Self { shape, lines }
    }

    /// The elements' bytes.
    pub(crate) fn bytes(&self) -> &[u8] {
        &bytemuck::cast_slice(&self.lines)[..self.shape.bytes()]
    }

    /// The elements' bytes, to write.
    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        let bytes = self.shape.bytes();
        &mut bytemuck::cast_slice_mut(&mut self.lines)[..bytes]
    }

    /// The elements.
    pub(crate) fn elements<T: AnyBitPattern>(&self) -> Vec<T> {
        numbers(self.bytes())
    }
}
