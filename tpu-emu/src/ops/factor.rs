//! Batches of matrices: what the decompositions share.
use super::Site;
use crate::error::{Error, Result};
use crate::kernels::arithmetic::Kind;
use crate::kernels::convert::{Widen, widen};
use crate::tensor::{DType, Shape};

/// Rows and columns of the matrices of a batch, and how many there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Batch {
    pub(super) count: usize,
    pub(super) rows: usize,
    pub(super) columns: usize,
}

impl Batch {
    /// The last two axes are a matrix.
    pub(super) fn new(site: &Site<'_>, shape: &Shape) -> Result<Self> {
        let [batch @ .., rows, columns] = &shape.dims[..] else {
            return Err(Error::bad(format!("{} takes matrices, not {shape}", site.name)));
        };
        Ok(Self { count: batch.iter().product(), rows: *rows, columns: *columns })
    }

    /// Elements of one matrix.
    pub(super) fn size(self) -> usize {
        self.rows * self.columns
    }
}

/// The type that matrices of a type are decomposed in.
pub(super) fn kind(site: &Site<'_>, dtype: DType) -> Result<Kind> {
    match dtype {
        DType::Bf16 | DType::F16 | DType::F32 => Ok(Kind::F32),
        DType::F64 => Ok(Kind::F64),
        DType::C64 => Ok(Kind::C64),
        DType::C128 => Ok(Kind::C128),
        other => Err(site.unimplemented(format!("matrices of {}", other.name()))),
    }
}

/// The matrices of a batch as bytes, `size` elements each.
pub(super) fn item(bytes: &[u8], dtype: DType, size: usize, index: usize) -> &[u8] {
    let width = size * dtype.host_bytes();
    &bytes[index * width..(index + 1) * width]
}

/// The same to be written.
pub(super) fn item_mut(bytes: &mut [u8], dtype: DType, size: usize, index: usize) -> &mut [u8] {
    let width = size * dtype.host_bytes();
    &mut bytes[index * width..(index + 1) * width]
}

/// Reads a matrix.
pub(super) fn read<W: Widen>(dtype: DType, bytes: &[u8], out: &mut [W]) -> Result<()> {
    if widen(dtype, bytes, out) {
        return Ok(());
    }
    Err(Error::Unimplemented(format!("matrices of {}", dtype.name())))
}

/// Writes a matrix.
pub(super) fn write<W: Widen>(values: &[W], dtype: DType, out: &mut [u8]) -> Result<()> {
    if W::narrow(values, dtype, out) {
        return Ok(());
    }
    Err(Error::Unimplemented(format!("matrices of {}", dtype.name())))
}

/// Runs `$call` with `$type` bound to a float or complex type; integers have no decompositions.
macro_rules! for_scalar {
    ($kind:expr, $type:ident => $call:expr) => {
        match $kind {
            $crate::kernels::arithmetic::Kind::F64 => {
                type $type = f64;
                $call
            }
            $crate::kernels::arithmetic::Kind::C64 => {
                type $type = num_complex::Complex<f32>;
                $call
            }
            $crate::kernels::arithmetic::Kind::C128 => {
                type $type = num_complex::Complex<f64>;
                $call
            }
            _ => {
                type $type = f32;
                $call
            }
        }
    };
}
pub(super) use for_scalar;
