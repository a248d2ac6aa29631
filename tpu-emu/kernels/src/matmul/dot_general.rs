//! Sums of products over axes of two arrays, as matrix products over strided views.
mod variants;

pub use variants::Regrouped;

use super::accumulate::Work;
use super::blocked::{self, ProductTile};
use super::bytes::{self, ByteMachine, ByteMatrix};
use super::gemm_crate::{Extent, Matrix};
use super::micro_kernel::ROWS;
use super::operand::{OperandArray, ProductOperand};
use super::pack::{Load, Panel, Strided};
use super::precision::{Arithmetic, SumType, for_kind, scratch_bytes};
use super::small::{self, SmallOperand, is_small};
use super::tiny::{self, TinyProduct, is_tiny};
use crate::matmul::tuning::{
    BLOCK_COLUMNS, CHUNK_MULTIPLY_ADDS, MAX_PACKED_BYTE_ROWS, MAX_PACKED_LHS_ROWS,
    MAX_UNPACKED_DEPTH, MAX_UNPACKED_RHS_ELEMENTS, MAX_UNSPLIT_ROWS, SMALL_CHUNK_MULTIPLY_ADDS,
    WRITE_MULTIPLY_ADDS,
};
use crate::parallel;
use bytemuck::{cast_slice, cast_slice_mut};
use parking_lot::Mutex;
use std::ops::Range;
use tpu_base::error::Result;
use tpu_base::tensor::{DType, Shape};

/// The axes that are multiplied over and those that are kept, in the order of the result.
#[derive(Debug, Clone, Copy)]
pub struct Axes<'a> {
    /// Axes that both operands and the result have.
    pub batch: [&'a [usize]; 2],
    /// Axes that are summed over.
    pub sum: [&'a [usize]; 2],
    /// The other axes of each operand.
    pub free: [&'a [usize]; 2],
}

/// The operands that two arrays are.
fn sides(
    arithmetic: &Arithmetic,
    extent: Extent,
    [lhs, rhs]: &[OperandArray; 2],
) -> [ProductOperand; 2] {
    [(0, lhs), (1, rhs)].map(|(index, array)| side(arithmetic, extent, (index, array)))
}

/// The operand of a number that an array is.
fn side(
    arithmetic: &Arithmetic,
    Extent { m, n, k }: Extent,
    (index, array): (usize, &OperandArray),
) -> ProductOperand {
    let size = [m, n, k];
    let long = k > MAX_UNPACKED_DEPTH && !is_small(size) && !is_tiny(size);
    let deep = arithmetic.kind == SumType::F32 && long && m > 1 && n > 1;
    ProductOperand::new(arithmetic, array, (index, deep))
}

/// A compiled contraction. The result has the batch axes, the free axes of the left operand and
/// those of the right one, dense.
#[derive(Debug, Clone)]
pub struct Contraction {
    arithmetic: Arithmetic,
    arrays: [OperandArray; 2],
    sides: [ProductOperand; 2],
    /// Extents of the batch axes.
    batch: Vec<usize>,
    extent: Extent,
    result: DType,
}

impl Contraction {
    /// Plans it. The axes partition each operand's, and paired ones have equal extents.
    pub fn new(
        arithmetic: Arithmetic,
        [lhs, rhs]: [&Shape; 2],
        result: DType,
        Axes { batch, sum, free }: Axes<'_>,
    ) -> Self {
        let count = |shape: &Shape, axes: &[usize]| -> usize {
            axes.iter().fold(1_usize, |all, &axis| all.saturating_mul(shape.dims[axis]))
        };
        let extent =
            Extent { m: count(lhs, free[0]), n: count(rhs, free[1]), k: count(lhs, sum[0]) };
        let arrays = [
            OperandArray::new(lhs, [batch[0], free[0], sum[0]]),
            OperandArray::new(rhs, [batch[1], sum[1], free[1]]),
        ];
        let sides = |arithmetic: &Arithmetic| sides(arithmetic, extent, &arrays);
        let floats = arithmetic.in_floats([lhs.dtype, rhs.dtype], result, extent.k);
        let in_bytes = arithmetic.kind == SumType::U32
            && (extent.m > 1 && extent.n > 1 && !is_small([extent.m, extent.n, extent.k]))
            && ByteMachine::found().is_some()
            && sides(&arithmetic).iter().all(ProductOperand::is_of_bytes);
        let arithmetic = if in_bytes { arithmetic } else { floats };
        let sides = sides(&arithmetic);
        let batch = batch[0].iter().map(|&axis| lhs.dims[axis]).collect();
        Self { arithmetic, arrays, sides, batch, extent, result }
    }

    /// Multiplications and additions.
    #[expect(clippy::cast_precision_loss, reason = "a count of operations, as a float by contract")]
    pub fn flops(&self) -> f64 {
        let Extent { m, n, k } = self.extent;
        let batch: f64 = self.batch.iter().map(|&extent| extent as f64).product();
        2.0 * batch * m as f64 * n as f64 * k as f64
    }

    /// Bytes of scratch memory of a run.
    pub fn scratch(&self) -> usize {
        let parts = self.arithmetic.parts();
        let width = self.arithmetic.kind.bytes();
        let sides = self.sides.iter().flat_map(|side| side.numbers(parts));
        sides.fold(0, |all, count| all.saturating_add(scratch_bytes(count, width)))
    }

    /// Computes the result.
    ///
    /// # Errors
    /// `Unimplemented` for types that hold no numbers.
    pub fn run(&self, scratch: &mut [u8], operands: [&[u8]; 2], result: &mut [u8]) -> Result<()> {
        if result.is_empty() {
            return Ok(());
        }
        match self.arithmetic.kind {
            SumType::F32 => self.run_panels::<f32>(scratch, operands, result),
            SumType::U32 => self.run_panels::<u32>(scratch, operands, result),
            kind => for_kind!(kind, W => self.run_in::<W>(scratch, operands, result)),
        }
    }

    /// The operands as they are read into panels.
    fn strided<'a, T: Panel>(
        &self,
        mut scratch: &'a mut [u8],
        operands: [&'a [u8]; 2],
    ) -> Result<[Strided<'a>; 2]> {
        let mut side = |index: usize| -> Result<Strided<'a>> {
            let side = &self.sides[index];
            let strides =
                if index == 0 { [side.row, side.column] } else { [side.column, side.row] };
            if !side.read && side.order.is_none() {
                let (load, bytes) = (side.load, operands[index]);
                return Ok(Strided { load, bytes, start: [0, 0], strides, outer: side.outer });
            }
            let numbers = side.prepare::<T>(&self.arithmetic, operands[index], &mut scratch)?;
            let start = [0, side.elements * size_of::<T>()];
            let bytes = cast_slice(numbers);
            Ok(Strided { load: Load::Plain, bytes, start, strides, outer: side.outer })
        };
        Ok([side(0)?, side(1)?])
    }

    fn run_panels<T: Panel>(
        &self,
        scratch: &mut [u8],
        operands: [&[u8]; 2],
        result: &mut [u8],
    ) -> Result<()> {
        let sides = self.strided::<T>(scratch, operands)?;
        let Extent { m, n, k } = self.extent;
        let all = m * n * self.result.host_bytes();
        let row = n * self.result.host_bytes();
        let work = n.saturating_mul(k.saturating_add(WRITE_MULTIPLY_ADDS));
        let outcome = Mutex::new(Ok(()));
        let keep = |finished: Result<()>| {
            if finished.is_err() {
                *outcome.lock() = finished;
            }
        };
        let at = |index: usize| {
            let mut sides = sides;
            for (side, (start, plan)) in
                sides.iter_mut().zip(self.starts(index).into_iter().zip(&self.sides))
            {
                let plain = plan.read || plan.order.is_some();
                let width = if plain { size_of::<T>() } else { plan.dtype.host_bytes() };
                side.start[0] = start * width;
            }
            sides
        };
        let whole = self.arithmetic.passes.len() == 1;
        let vector = (m == 1 || n == 1) && whole;
        if whole && (is_tiny([m, n, k]) || !vector && is_small([m, n, k])) {
            return self.small::<T>(sides, result);
        }
        // Where sums are short, lines are stored about as long as they are multiplied.
        let shallow = k <= MAX_UNPACKED_DEPTH;
        let most = if shallow { SMALL_CHUNK_MULTIPLY_ADDS } else { CHUNK_MULTIPLY_ADDS };
        let batches = (most / work.saturating_mul(m).max(1)).max(1);
        let packed = self.packed_rows(sides);
        let least = if m < 2 * packed { m.div_ceil(2) } else { packed };
        let rows = (most / work).max(least).next_multiple_of(ROWS);
        // Products whose rows are one chunk are shared as they are.
        let unsplit = m > MAX_UNSPLIT_ROWS && rows >= m;
        let vectors = vector && self.batch.iter().any(|&size| size > 1);
        if batches > 1 || unsplit || vectors {
            parallel::chunks_mut(result, batches * all, |chunk, out| {
                for (index, out) in out.chunks_exact_mut(all).enumerate() {
                    let sides = at(chunk * batches + index);
                    keep(if vector {
                        self.vector::<T>(sides, out)
                    } else {
                        self.rows::<T>(sides, 0..m, out)
                    });
                }
            });
            return outcome.into_inner();
        }
        for (index, out) in result.chunks_exact_mut(all).enumerate() {
            let sides = at(index);
            if vector {
                keep(self.vector::<T>(sides, out));
            } else if m <= MAX_UNSPLIT_ROWS {
                keep(self.columns::<T>(sides, out));
            } else {
                // Right panels are made once for every chunk of rows.
                parallel::chunks_mut(out, rows * row, |chunk, out| {
                    let first = chunk * rows;
                    keep(self.rows::<T>(sides, first..m.min(first + rows), out));
                });
            }
        }
        outcome.into_inner()
    }

    /// The product in single operations, where it is tiny, its elements are of one type of 32 bits
    /// and lie where strides reach them, and it has at most so many results.
    pub fn tiny(&self, most: usize) -> Option<TinyProduct> {
        let Extent { m, n, k } = self.extent;
        let arithmetic = &self.arithmetic;
        let batches = self.batch.iter().fold(1_usize, |all, &size| all.saturating_mul(size));
        let count = batches.saturating_mul(m).saturating_mul(n);
        let fits = |side: &ProductOperand| {
            let plain = matches!(side.load, Load::Plain | Load::Nearest);
            let lies = side.order.is_none() && side.outer.is_none();
            side.dtype == self.result && plain && !side.read && lies
        };
        let single = matches!(arithmetic.kind, SumType::F32 | SumType::U32);
        let whole = arithmetic.passes.len() == 1 && arithmetic.gives(self.result);
        let few = is_tiny([m, n, k]) && (1..=most).contains(&count);
        if !(single && whole && few && self.sides.iter().all(fits)) {
            return None;
        }
        let [left, right] = &self.sides;
        let terms = |at: usize| -> Vec<[usize; 2]> {
            let [a, b] = self.starts(at / (m * n));
            let (i, j) = (at / n % m, at % n);
            let first = [a + i * left.row, b + j * right.column];
            (0..k).map(|l| [first[0] + l * left.column, first[1] + l * right.row]).collect()
        };
        let rounded = [left, right].map(|side| side.load == Load::Nearest);
        Some(TinyProduct { terms: (0..count).map(terms).collect(), rounded })
    }

    /// Small products, chunks of the batch at a time.
    fn small<T: Panel>(&self, sides: [Strided<'_>; 2], result: &mut [u8]) -> Result<()> {
        let Extent { m, n, k } = self.extent;
        let operands = sides.map(SmallOperand::from);
        let work = m.saturating_mul(n).saturating_mul(k.saturating_add(WRITE_MULTIPLY_ADDS));
        let (some, row) =
            ((SMALL_CHUNK_MULTIPLY_ADDS / work).max(1), m * n * self.result.host_bytes());
        let outcome = Mutex::new(Ok(()));
        parallel::chunks_mut(result, some * row, |chunk, out| {
            let starts = |index: usize| self.starts(chunk * some + index);
            let products = |out: &mut [T]| {
                if is_tiny([m, n, k]) {
                    tiny::products([m, n, k], operands, starts, out);
                } else {
                    small::products([m, n, k], operands, starts, out);
                }
            };
            if self.arithmetic.gives(self.result) {
                products(cast_slice_mut(out));
                return;
            }
            let finished = blocked::with_sums(out.len() / row * m * n, |sums: &mut [T]| {
                products(&mut *sums);
                self.arithmetic.finish(sums, self.result, out)
            });
            if finished.is_err() {
                *outcome.lock() = finished;
            }
        });
        outcome.into_inner()
    }

    /// A product of a matrix and a vector.
    fn vector<T: Panel>(&self, [lhs, rhs]: [Strided<'_>; 2], out: &mut [u8]) -> Result<()> {
        let Extent { m, n, k } = self.extent;
        let (matrix, vector) = if n == 1 { (lhs, rhs) } else { (rhs, lhs) };
        if self.arithmetic.gives(self.result) {
            super::gemv::product::<T>(matrix, vector, k, cast_slice_mut(out));
            return Ok(());
        }
        let mut sums = vec![<T as Work>::ZERO; m * n];
        super::gemv::product(matrix, vector, k, &mut sums);
        self.arithmetic.finish(&mut sums, self.result, out)
    }

    /// A product of few rows, split by columns: by halves of blocks where there are few.
    fn columns<T: Panel>(&self, [lhs, rhs]: [Strided<'_>; 2], out: &mut [u8]) -> Result<()> {
        let Extent { m, n, k: depth } = self.extent;
        let some = if n > 2 * BLOCK_COLUMNS { BLOCK_COLUMNS } else { BLOCK_COLUMNS / 2 };
        if m.saturating_mul(n).saturating_mul(depth) < CHUNK_MULTIPLY_ADDS / 4 || n <= some {
            return self.rows::<T>([lhs, rhs], 0..m, out);
        }
        let blocks = parallel::map(n.div_ceil(some), |block| {
            let columns = block * some..n.min((block + 1) * some);
            let stride = columns.len();
            let mut sums = vec![<T as Work>::ZERO; m * stride];
            let part = ProductTile { rows: 0..m, columns, depth };
            self.blocked([lhs, rhs], part, (&mut sums, stride));
            sums
        });
        let width = self.result.host_bytes();
        for (block, mut sums) in blocks.into_iter().enumerate() {
            let columns = sums.len() / m;
            for (i, sums) in sums.chunks_exact_mut(columns).enumerate() {
                let out = &mut out[(i * n + block * some) * width..][..columns * width];
                self.arithmetic.finish(sums, self.result, out)?;
            }
        }
        Ok(())
    }

    /// Some rows and columns of a product, dense.
    fn part<T: Panel>(
        &self,
        [lhs, rhs]: [Strided<'_>; 2],
        rows: Range<usize>,
        columns: Range<usize>,
        sums: &mut [T],
    ) {
        let (depth, passes) = (self.extent.k, self.arithmetic.passes);
        let shallow = (1..=MAX_UNPACKED_DEPTH).contains(&depth)
            && columns.len() * depth <= MAX_UNPACKED_RHS_ELEMENTS;
        if shallow && passes.len() == 1 && self.bytes([lhs, rhs]).is_none() {
            let size = [rows.len(), columns.len(), depth];
            let start = [rows.start * lhs.strides[0], columns.start * rhs.strides[0]];
            small::products(size, [lhs, rhs].map(SmallOperand::from), |_| start, sums);
            return;
        }
        let stride = columns.len();
        self.blocked([lhs, rhs], ProductTile { rows, columns, depth }, (sums, stride));
    }

    /// Rows whose packed panels stay in a cache.
    fn packed_rows(&self, sides: [Strided<'_>; 2]) -> usize {
        if self.bytes(sides).is_some() { MAX_PACKED_BYTE_ROWS } else { MAX_PACKED_LHS_ROWS }
    }

    /// The operands as bytes, where they are and a machine multiplies those.
    fn bytes<'a>(&self, sides: [Strided<'a>; 2]) -> Option<(ByteMachine, [ByteMatrix<'a>; 2])> {
        if self.arithmetic.kind != SumType::U32 {
            return None;
        }
        let [Some(lhs), Some(rhs)] = sides.map(ByteMatrix::of) else { return None };
        Some((ByteMachine::found()?, [lhs, rhs]))
    }

    /// A part of a product through packed panels.
    fn blocked<T: Panel>(
        &self,
        [lhs, rhs]: [Strided<'_>; 2],
        part: ProductTile,
        (sums, stride): (&mut [T], usize),
    ) {
        match self.bytes([lhs, rhs]) {
            Some((machine, [lhs, rhs])) => {
                bytes::product(machine, part, &lhs, rhs, (cast_slice_mut(sums), stride));
            }
            None => blocked::product(part, self.arithmetic.passes, &lhs, &rhs, (sums, stride)),
        }
    }

    /// Some rows of a product.
    fn rows<T: Panel>(
        &self,
        [lhs, rhs]: [Strided<'_>; 2],
        rows: Range<usize>,
        out: &mut [u8],
    ) -> Result<()> {
        let n = self.extent.n;
        let width = self.result.host_bytes();
        let packed = self.packed_rows([lhs, rhs]);
        for first in rows.clone().step_by(packed) {
            let some = first..rows.end.min(first + packed);
            let out = &mut out[(first - rows.start) * n * width..][..some.len() * n * width];
            if self.arithmetic.gives(self.result) {
                self.part::<T>([lhs, rhs], some, 0..n, cast_slice_mut(out));
                continue;
            }
            for left in (0..n).step_by(BLOCK_COLUMNS) {
                let columns = left..n.min(left + BLOCK_COLUMNS);
                let stride = columns.len();
                blocked::with_sums(some.len() * stride, |sums: &mut [T]| -> Result<()> {
                    self.part([lhs, rhs], some.clone(), columns, &mut *sums);
                    if stride == n {
                        return self.arithmetic.finish(sums, self.result, out);
                    }
                    for (sums, out) in sums.chunks_exact_mut(stride).zip(out.chunks_mut(n * width))
                    {
                        let out = &mut out[left * width..][..stride * width];
                        self.arithmetic.finish(sums, self.result, out)?;
                    }
                    Ok(())
                })?;
            }
        }
        Ok(())
    }

    fn run_in<'a, W: Work>(
        &self,
        mut scratch: &'a mut [u8],
        [lhs, rhs]: [&'a [u8]; 2],
        result: &mut [u8],
    ) -> Result<()> {
        let arithmetic = &self.arithmetic;
        let numbers: [&[W]; 2] = [
            self.sides[0].prepare::<W>(arithmetic, lhs, &mut scratch)?,
            self.sides[1].prepare::<W>(arithmetic, rhs, &mut scratch)?,
        ];
        let Extent { m, n, k } = self.extent;
        let row = n * self.result.host_bytes();
        let work = n.saturating_mul(k.max(1));
        let outcome = Mutex::new(Ok(()));
        // A chunk is some rows of one product, or some whole products.
        let rows = (CHUNK_MULTIPLY_ADDS / work.max(1)).next_multiple_of(ROWS).min(m);
        let several =
            if rows < m { 1 } else { (CHUNK_MULTIPLY_ADDS / work.saturating_mul(m).max(1)).max(1) };
        let (batches, rows) = if several > 1 { (several, m) } else { (1, rows) };
        let one = |index: usize, out: &mut [u8], first: usize| {
            let starts = self.starts(index);
            let operand = |side: usize, start: usize| {
                let ProductOperand { row, column, elements, .. } = self.sides[side];
                (Matrix { data: numbers[side], row, column }.from(start), elements)
            };
            let lhs = operand(0, starts[0] + first * self.sides[0].row);
            let extent = Extent { m: out.len() / row, n, k };
            let finished = self.chunk(extent, out, lhs, operand(1, starts[1]));
            if finished.is_err() {
                *outcome.lock() = finished;
            }
        };
        if batches > 1 {
            parallel::chunks_mut(result, batches * m * row, |chunk, out| {
                for (index, out) in out.chunks_exact_mut(m * row).enumerate() {
                    one(chunk * batches + index, out, 0);
                }
            });
        } else if rows == m {
            parallel::chunks_mut(result, m * row, |index, out| one(index, out, 0));
        } else {
            for (index, out) in result.chunks_exact_mut(m * row).enumerate() {
                parallel::chunks_mut(out, rows * row, |chunk, out| one(index, out, chunk * rows));
            }
        }
        outcome.into_inner()
    }

    /// Some rows of a product.
    fn chunk<W: Work>(
        &self,
        extent: Extent,
        out: &mut [u8],
        lhs: (Matrix<'_, W>, usize),
        rhs: (Matrix<'_, W>, usize),
    ) -> Result<()> {
        let arithmetic = &self.arithmetic;
        if arithmetic.gives(self.result) {
            arithmetic.multiply(extent, cast_slice_mut(out), extent.n, lhs, rhs);
            return Ok(());
        }
        let mut sums = vec![W::ZERO; extent.m * extent.n];
        arithmetic.multiply(extent, &mut sums, extent.n, lhs, rhs);
        arithmetic.finish(&mut sums, self.result, out)
    }

    /// The offsets of both operands for a batch index, which is below the product of all sizes.
    fn starts(&self, mut index: usize) -> [usize; 2] {
        let mut at = [0, 0];
        for (axis, &size) in self.batch.iter().enumerate().rev() {
            let (rest, place) = if axis > 0 { (index / size, index % size) } else { (0, index) };
            index = rest;
            for (at, side) in at.iter_mut().zip(&self.sides) {
                *at += place * side.batch[axis].1;
            }
        }
        at
    }
}
