//! `XLA_Literal`: arrays in the client's memory, one buffer a leaf of the shape.
// UNSAFETY: follows the pointers of a literal.
#![expect(unsafe_code, reason = "reads and writes the client's arrays")]
use crate::abi::Abi;
use crate::memory::{self, At};
use crate::shape::Shape;
use tpu_emu::hbm::spec::extents;
use tpu_emu::tensor::DType;
use tpu_emu::tensor::strided::{Strided, dense_strides, ordered_strides};
use tpu_emu::units::{to_u64, to_usize};
use tpu_emu::{Error, Result};

/// A literal of a client, for the length of its call.
#[derive(Debug)]
pub(crate) struct Literal {
    pub(crate) shape: Shape,
    pub(crate) leaves: Vec<Leaf>,
}

/// One array or token of a literal.
#[derive(Debug)]
pub(crate) struct Leaf {
    pub(crate) dtype: DType,
    /// Extents, major first.
    pub(crate) dims: Vec<u64>,
    /// Bytes from one element to the next, per axis.
    strides: Vec<i64>,
    buffer: *mut u8,
    size: usize,
}

impl Literal {
    /// Reads a client's literal.
    ///
    /// # Errors
    /// `Null`, and `BadArgument` where buffers and shape do not belong together.
    pub(crate) fn read(abi: &Abi, at: At<'_>) -> Result<Self> {
        let fields = &abi.fields.literal;
        let shape = Shape::read(abi, at.inner(fields.shape))?;
        let leaves = shape.leaves();
        let count: usize = at.read(fields.count);
        if count != leaves.len() {
            let needed = leaves.len();
            return Err(Error::bad(format!("a literal of {count} buffers for {needed} arrays")));
        }
        if count == 0 {
            return Ok(Self { shape, leaves: Vec::new() });
        }
        let buffers = at.follow(fields.buffers, "buffers of a literal")?;
        let sizes = at.follow(fields.sizes, "sizes of a literal")?;
        let leaf =
            |(index, leaf)| Leaf::new(leaf, buffers.read(index * WORD), sizes.read(index * WORD));
        let leaves = leaves.into_iter().enumerate().map(leaf).collect::<Result<_>>()?;
        Ok(Self { shape, leaves })
    }
}

/// Bytes of a pointer.
const WORD: usize = 8;

impl Leaf {
    fn new(shape: &Shape, buffer: *mut u8, size: usize) -> Result<Self> {
        let dtype = shape.dtype()?;
        let dims = extents(dtype, &shape.dims)?;
        let element = dtype.host_bytes();
        let needed = dims.iter().try_fold(to_u64(element), |size, &dim| size.checked_mul(dim));
        if needed != Some(to_u64(size)) {
            let needed = needed.map_or("more".to_owned(), |needed| needed.to_string());
            return Err(Error::bad(format!(
                "a literal of {size} bytes for {}{dims:?}, which takes {needed}",
                dtype.name()
            )));
        }
        if size > 0 && buffer.is_null() {
            return Err(Error::Null("a buffer of a literal"));
        }
        let strides = match &shape.layout {
            Some(layout) => ordered_strides(&dims, element, &layout.order()?)?,
            None => dense_strides(&dims, element)?,
        };
        Ok(Self { dtype, dims, strides, buffer, size })
    }

    /// Elements, dense and row-major, one to a byte at least; `None` where the client's bytes
    /// are just that.
    fn strided(&self) -> Result<Option<Strided<'_>>> {
        let element = self.dtype.host_bytes();
        let dense = self.strides == dense_strides(&self.dims, element)?;
        Ok((!dense).then_some(Strided { dims: &self.dims, strides: &self.strides, element }))
    }

    /// Calls `take` with the elements of an array of the extents `bound`, dense and row-major,
    /// that has this literal in its first corner.
    ///
    /// # Errors
    /// `Null`, and those of `take`.
    pub(crate) fn give<R>(
        &self,
        bound: &[u64],
        take: impl FnOnce(&[u8]) -> Result<R>,
    ) -> Result<R> {
        // SAFETY: a literal's buffers have the sizes beside them: the contract of the interface.
        let bytes =
            unsafe { memory::slice(self.buffer.cast_const(), self.size, "a buffer of a literal") }?;
        let ordered;
        let mut dense = bytes;
        if let Some(strided) = self.strided()? {
            let mut gathered = Vec::with_capacity(self.size);
            strided.gather(bytes, 0, &mut gathered)?;
            ordered = gathered;
            dense = &ordered;
        }
        if self.dims == bound {
            return take(dense);
        }
        let (strides, size) = self.corner(bound)?;
        let mut whole = vec![0; size];
        let strided =
            Strided { dims: &self.dims, strides: &strides, element: self.dtype.host_bytes() };
        strided.scatter(dense, 0, &mut whole)?;
        take(&whole)
    }

    /// The inverse of [`Leaf::give`]: `fill` writes the elements.
    ///
    /// # Errors
    /// As for [`Leaf::give`]; then the client's bytes may be partly written.
    pub(crate) fn fill(
        &self,
        bound: &[u64],
        fill: impl FnOnce(&mut [u8]) -> Result<()>,
    ) -> Result<()> {
        // SAFETY: as in `give`; nobody else uses them during a transfer.
        let bytes = unsafe { memory::slice_mut(self.buffer, self.size, "a buffer of a literal") }?;
        let strided = self.strided()?;
        if strided.is_none() && self.dims == bound {
            return fill(bytes);
        }
        let (strides, size) = self.corner(bound)?;
        let mut whole = vec![0; size];
        fill(&mut whole)?;
        let mut dense = Vec::with_capacity(self.size);
        let corner =
            Strided { dims: &self.dims, strides: &strides, element: self.dtype.host_bytes() };
        corner.gather(&whole, 0, &mut dense)?;
        match strided {
            Some(strided) => strided.scatter(&dense, 0, bytes),
            None => {
                bytes.copy_from_slice(&dense);
                Ok(())
            }
        }
    }

    /// Strides and size of the array that has this one in its first corner.
    fn corner(&self, bound: &[u64]) -> Result<(Vec<i64>, usize)> {
        let element = self.dtype.host_bytes();
        let inside =
            self.dims.len() == bound.len() && self.dims.iter().zip(bound).all(|(a, b)| a <= b);
        let size = bound.iter().try_fold(to_u64(element), |size, &dim| size.checked_mul(dim));
        match size.filter(|_| inside) {
            Some(size) => Ok((dense_strides(bound, element)?, to_usize(size))),
            None => Err(Error::bad(format!("extents {:?} in an array of {bound:?}", self.dims))),
        }
    }
}
