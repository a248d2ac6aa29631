//! Batches of matrices: what the decompositions share.
use super::Site;
use parking_lot::Mutex;
use tpu_base::error::{Error, Result};
use tpu_base::tensor::{DType, Shape};
use tpu_kernels::aligned::Aligned;
use tpu_kernels::matmul::precision::SumType;
use tpu_kernels::matmul::widen::{Widen, widen};
use tpu_kernels::parallel;

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
pub(super) fn kind(site: &Site<'_>, dtype: DType) -> Result<SumType> {
    match dtype {
        DType::Bf16 | DType::F16 | DType::F32 => Ok(SumType::F32),
        DType::F64 => Ok(SumType::F64),
        DType::C64 => Ok(SumType::C64),
        DType::C128 => Ok(SumType::C128),
        other => Err(site.unimplemented(format!("matrices of {}", other.name()))),
    }
}

/// The matrices of a batch as bytes, `size` elements each.
pub(super) fn item(bytes: &[u8], dtype: DType, size: usize, index: usize) -> &[u8] {
    let width = size * dtype.host_bytes();
    &bytes[index * width..(index + 1) * width]
}

/// Calls `work` for every matrix of a batch with room and with its part of each result, on
/// several threads where there are many. The room of a thread is as large as `scratch`.
pub(super) fn each(
    count: usize,
    scratch: &mut [u8],
    results: &mut [&mut [u8]],
    work: impl Fn(usize, &mut [u8], &mut [&mut [u8]]) -> Result<()> + Sync,
) -> Result<()> {
    let widths: Vec<usize> = results.iter().map(|result| result.len() / count.max(1)).collect();
    let some = |first: usize, workspace: &mut [u8], results: &mut [&mut [u8]], count: usize| {
        for index in 0..count {
            let parts = results.iter_mut().zip(&widths);
            let mut parts: Vec<&mut [u8]> =
                parts.map(|(result, &width)| &mut result[index * width..][..width]).collect();
            work(first + index, &mut *workspace, &mut parts)?;
        }
        Ok(())
    };
    let chunk = parallel::items_per_chunk(scratch.len()).max(1);
    if count <= chunk || parallel::threads() < 2 {
        return some(0, scratch, results, count);
    }
    let mut chunks: Vec<Vec<&mut [u8]>> = Vec::new();
    chunks.resize_with(count.div_ceil(chunk), Vec::new);
    for (result, &width) in results.iter_mut().zip(&widths) {
        let mut rest = &mut **result;
        for (index, parts) in chunks.iter_mut().enumerate() {
            let count = chunk.min(count - index * chunk);
            let (part, after) = rest.split_at_mut(count * width);
            parts.push(part);
            rest = after;
        }
    }
    let (outcome, size) = (Mutex::new(Ok(())), scratch.len());
    parallel::chunks_mut(&mut chunks, 1, |index, parts| {
        let mut workspace = Aligned::zeros(size);
        let count = chunk.min(count - index * chunk);
        for parts in parts {
            let done = some(index * chunk, workspace.bytes_mut(), parts, count);
            if done.is_err() {
                *outcome.lock() = done;
            }
        }
    });
    outcome.into_inner()
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
            tpu_kernels::matmul::precision::SumType::F64 => {
                type $type = f64;
                $call
            }
            tpu_kernels::matmul::precision::SumType::C64 => {
                type $type = num_complex::Complex<f32>;
                $call
            }
            tpu_kernels::matmul::precision::SumType::C128 => {
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
