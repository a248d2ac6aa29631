//! `Qr`: QR by reflectors, as JAX asks a TPU for it.
use crate::factor::{Batch, each, for_scalar, item, kind, read, write};
use crate::{Cost, Cx, Entry, Kernel, Lowered, Site};
use tpu_base::error::{Error, Result};
use tpu_base::tensor::{DType, Shape};
use tpu_kernels::linalg::householder::{qr, workspace};
use tpu_kernels::linalg::scalar::Scalar;
use tpu_kernels::matmul::precision::{SumType, scratch_bytes, split_scratch};

/// `R` with the reflectors below its diagonal, and the reflectors' factors.
///
/// Shapes: `a [b…, m, n]`; results `[b…, m, n]`, `[b…, min(m, n)]`.
/// Errors: `Unimplemented` for matrices of other numbers than floats and complex ones.
/// Source: JAX, `geqrf_p` on TPU; LAPACK's geqrf.
pub(super) const OP: Entry = Entry::target("Qr", infer, lower);

fn infer(site: &Site<'_>) -> Result<Vec<Shape>> {
    let [a] = site.exactly::<1>()?;
    let Batch { rows, columns, .. } = Batch::new(site, a)?;
    kind(site, a.dtype)?;
    let taus = [&a.dims[..a.rank() - 2], &[rows.min(columns)]].concat();
    Ok(vec![a.clone(), Shape::new(a.dtype, taus)])
}

fn lower(site: &Site<'_>) -> Result<Lowered> {
    let [a] = site.exactly::<1>()?;
    let (batch, kind) = (Batch::new(site, a)?, kind(site, a.dtype)?);
    Ok(Lowered::Kernel(Box::new(Qr { batch, kind, dtype: a.dtype })))
}

#[derive(Debug)]
struct Qr {
    batch: Batch,
    kind: SumType,
    dtype: DType,
}

impl Qr {
    /// Matrix, factors of the reflectors, room.
    fn numbers(&self) -> [usize; 3] {
        let Batch { rows, columns, .. } = self.batch;
        [self.batch.size(), rows.min(columns), workspace([rows, columns])]
    }

    fn run_in<T: Scalar>(
        &self,
        scratch: &mut [u8],
        a: &[u8],
        [out, factors]: [&mut [u8]; 2],
    ) -> Result<()> {
        let Batch { count, rows, columns } = self.batch;
        let [size, taus, room] = self.numbers();
        each(count, scratch, &mut [out, factors], |index, mut scratch, results| {
            let [out, factors] = results else { return Ok(()) };
            let matrix = split_scratch::<T>(&mut scratch, size)?;
            let taus = split_scratch::<T>(&mut scratch, taus)?;
            let room = split_scratch::<T>(&mut scratch, room)?;
            read(self.dtype, item(a, self.dtype, size, index), matrix)?;
            qr([rows, columns], matrix, taus, room);
            write(matrix, self.dtype, out)?;
            write(taus, self.dtype, factors)
        })
    }
}

impl Kernel for Qr {
    fn run(&self, cx: &mut Cx<'_>, operands: &[&[u8]], results: &mut [&mut [u8]]) -> Result<()> {
        let (&[a], [out, factors]) = (operands, results) else {
            return Err(Error::bad("Qr takes one operand and gives two results"));
        };
        for_scalar!(self.kind, T => self.run_in::<T>(cx.scratch, a, [out, factors]))
    }

    fn scratch(&self) -> usize {
        let width = self.kind.bytes();
        self.numbers()
            .into_iter()
            .fold(0, |all, count| all.saturating_add(scratch_bytes(count, width)))
    }

    #[expect(clippy::cast_precision_loss, reason = "a count of operations, as a float by contract")]
    fn cost(&self) -> Cost {
        let Batch { count, rows, columns } = self.batch;
        let (long, short) = (rows.max(columns) as f64, rows.min(columns) as f64);
        let flops = 2.0 * count as f64 * short * short * (long - short / 3.0);
        Cost { flops, transcendentals: 0.0 }
    }
}
