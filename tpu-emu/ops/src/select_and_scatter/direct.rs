//! Sums of float sources where windows have their largest or smallest element.
use crate::{Cost, Cx, Kernel};
use bytemuck::Pod;
use half::{bf16, f16};
use std::fmt::Debug;
use std::marker::PhantomData;
use tpu_base::error::Result;
use tpu_base::tensor::DType;
use tpu_kernels::elementwise::kind::{Direction, ElementwiseKind};
use tpu_kernels::elementwise::program::{ElementwiseProgram, Instr, Register};
use tpu_kernels::window::pool::{Along, Pool};
use tpu_kernels::{parallel, simd};

/// The kernel for windows that select by `held >= offered`, or `<=`; `None` for other bodies and
/// types.
pub(super) fn kernel(
    pool: Pool,
    select: &ElementwiseProgram,
    dtype: DType,
    cost: Cost,
) -> Option<Box<dyn Kernel>> {
    let smallest = extreme(select)?;
    Some(match dtype {
        DType::F32 => of::<f32>(pool, smallest, cost),
        DType::F64 => of::<f64>(pool, smallest, cost),
        DType::Bf16 => of::<bf16>(pool, smallest, cost),
        DType::F16 => of::<f16>(pool, smallest, cost),
        _ => return None,
    })
}

fn of<T: Float>(pool: Pool, smallest: bool, cost: Cost) -> Box<dyn Kernel> {
    if smallest {
        Box::new(DirectSelect::<T, true> { pool, cost, float: PhantomData })
    } else {
        Box::new(DirectSelect::<T, false> { pool, cost, float: PhantomData })
    }
}

/// Whether a selection keeps the smallest element (`true`) or the largest one; `None` for others,
/// and for one that tells zeros apart.
fn extreme(select: &ElementwiseProgram) -> Option<bool> {
    let [Instr { op, inputs }] = &select.steps[..] else { return None };
    let smallest = match op.kind {
        ElementwiseKind::Compare(Direction::Ge, _) => false,
        ElementwiseKind::Compare(Direction::Le, _) => true,
        _ => return None,
    };
    let both = [Register::Parameter(0), Register::Parameter(1)];
    if inputs[..] != both || select.results != [Register::Step(0)] {
        return None;
    }
    // Zeros of both signs, of a type of two, four or eight bytes.
    let width = op.operand.host_bytes();
    let mut negative = [0_u64];
    let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut negative);
    *bytes.get_mut(width.checked_sub(1)?)? = 0x80;
    let positive = [0_u64];
    let [negative, positive]: [&[u8]; 2] =
        [&bytemuck::cast_slice(&negative)[..width], &bytemuck::cast_slice(&positive)[..width]];
    let equal = [[negative, positive], [positive, negative]].iter().all(|sides| {
        let mut answer = [0];
        (op.run)(op.immediate, sides, &mut answer);
        answer[0] != 0
    });
    equal.then_some(smallest)
}

/// A float that sources are.
trait Float: Pod + Debug + Send + Sync {
    /// The number compared.
    fn value(self) -> impl PartialOrd;
    /// The sum, rounded.
    fn sum(self, other: Self) -> Self;
}

macro_rules! floats {
    ($($t:ty, $wide:ty, $from:expr;)*) => {$(
        impl Float for $t {
            #[inline(always)]
            fn value(self) -> impl PartialOrd {
                <$wide>::from(self)
            }
            #[inline(always)]
            fn sum(self, other: Self) -> Self {
                let from: fn($wide) -> $t = $from;
                from(<$wide>::from(self) + <$wide>::from(other))
            }
        }
    )*};
}

floats! {
    f32, f32, |x| x;
    f64, f64, |x| x;
    bf16, f32, bf16::from_f32;
    f16, f32, f16::from_f32;
}

#[derive(Debug)]
struct DirectSelect<T, const SMALLEST: bool> {
    pool: Pool,
    cost: Cost,
    float: PhantomData<T>,
}

impl<T: Float, const SMALLEST: bool> Kernel for DirectSelect<T, SMALLEST> {
    fn run(&self, _: &mut Cx<'_>, operands: &[&[u8]], results: &mut [&mut [u8]]) -> Result<()> {
        let [operand, source, initial] = operands[..] else { return Ok(()) };
        let operand: &[T] = bytemuck::cast_slice(operand);
        let source: &[T] = bytemuck::cast_slice(source);
        let initial: T = bytemuck::pod_read_unaligned(initial);
        let result: &mut [T] = bytemuck::cast_slice_mut(results[0]);
        let (along, inner) = (self.pool.along(), self.pool.inner());
        let (rows, chunk) = (self.pool.rows(), self.pool.chunk());
        let row = along.outputs() * inner;
        // Windows of different outer indices have no element in common.
        let windows = parallel::items_per_chunk(chunk * size_of::<T>());
        parallel::chunks_mut(result, windows * chunk, |number, result| {
            result.fill(initial);
            let (mut bases, mut offsets) = (Vec::new(), Vec::new());
            let outer = number * windows;
            for at in outer * rows..(outer + result.len() / chunk) * rows {
                self.pool.bases(at, &mut bases);
                simd::run(SourceRow::<T, SMALLEST> {
                    bases: &bases,
                    along,
                    inner,
                    operand,
                    source: &source[at * row..(at + 1) * row],
                    begin: outer * chunk,
                    offsets: &mut offsets,
                    result,
                });
            }
        });
        Ok(())
    }

    fn cost(&self) -> Cost {
        self.cost
    }
}

/// The windows of one row of sources.
struct SourceRow<'a, T, const SMALLEST: bool> {
    bases: &'a [usize],
    along: Along,
    inner: usize,
    operand: &'a [T],
    source: &'a [T],
    /// The element of the operand that the result begins with.
    begin: usize,
    /// Room for the places of a window.
    offsets: &'a mut Vec<usize>,
    result: &'a mut [T],
}

/// Windows that are looked at together.
const LANES: usize = 16;

impl<T: Float, const SMALLEST: bool> simd::Loop for SourceRow<'_, T, SMALLEST> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { bases, along, inner, operand, source, begin, offsets, result } = self;
        let step = along.step();
        for (output, source) in source.chunks_exact(inner).enumerate() {
            let (start, count) = along.span(output);
            offsets.clear();
            for base in bases {
                offsets.extend((0..count).map(|place| base + start + place * step));
            }
            let (blocks, rest) = source.as_chunks::<LANES>();
            for (block, source) in blocks.iter().enumerate() {
                let at = block * LANES;
                window::<T, LANES, SMALLEST>(offsets, at, begin, operand, source, result);
            }
            for (source, at) in rest.iter().zip(blocks.len() * LANES..) {
                window::<T, 1, SMALLEST>(offsets, at, begin, operand, &[*source], result);
            }
        }
    }
}

/// `N` windows side by side: their places are at `offsets` and `column` behind them.
#[inline(always)]
fn window<T: Float, const N: usize, const SMALLEST: bool>(
    offsets: &[usize],
    column: usize,
    begin: usize,
    operand: &[T],
    source: &[T; N],
    result: &mut [T],
) {
    let Some((&first, rest)) = offsets.split_first() else { return };
    let mut held = [T::zeroed(); N];
    held.copy_from_slice(&operand[first + column..][..N]);
    let mut selected = [0_u32; N];
    for (&offset, place) in rest.iter().zip(1_u32..) {
        let offered = &operand[offset + column..][..N];
        for ((held, selected), &offered) in held.iter_mut().zip(&mut selected).zip(offered) {
            let keep = if SMALLEST {
                held.value() <= offered.value()
            } else {
                held.value() >= offered.value()
            };
            *held = if keep { *held } else { offered };
            *selected = if keep { *selected } else { place };
        }
    }
    for (&offset, place) in offsets.iter().zip(0_u32..) {
        let result = &mut result[offset - begin + column..][..N];
        for ((result, &selected), &source) in result.iter_mut().zip(&selected).zip(source) {
            *result = if selected == place { result.sum(source) } else { *result };
        }
    }
}
