//! Recognises the body of an argmax or argmin, and has loops for those of common types.
use crate::elementwise::kind::{Direction, ElementwiseKind, Order};
use crate::elementwise::program::{ElementwiseProgram, Instr, Register};
use crate::simd;
use bytemuck::{Pod, cast_slice, cast_slice_mut};
use tpu_base::tensor::DType;
use tpu_base::tensor::element::{Element, for_dtype};

/// Whether a program on `(held value, held index, value, index)` keeps the first extreme value, or
/// the first NaN, with its index. Such a body is associative.
///
/// The form is that of JAX: values are picked by `held > value or held != held` (the second part
/// is for floats), indices by the same or `held == value and held index < index`.
pub fn is_pick(program: &ElementwiseProgram) -> bool {
    recognise(program).is_some()
}

/// The loops of such a body, for values of 32 and 64 bits and bytes with indices of `s32`.
pub fn pick_loops(program: &ElementwiseProgram) -> Option<PickLoops> {
    let largest = recognise(program)?;
    if program.dtype(Register::Parameter(1)) != DType::S32 {
        return None;
    }
    Some(match program.dtype(Register::Parameter(0)) {
        DType::F32 => PickLoops::of::<f32>(largest),
        DType::F64 => PickLoops::of::<f64>(largest),
        DType::S32 => PickLoops::of::<i32>(largest),
        DType::U32 => PickLoops::of::<u32>(largest),
        DType::S8 => PickLoops::of::<i8>(largest),
        DType::U8 => PickLoops::of::<u8>(largest),
        _ => return None,
    })
}

/// Whether the largest value is kept, or the smallest.
fn recognise(program: &ElementwiseProgram) -> Option<bool> {
    let [held, held_index, value, index] = [0, 1, 2, 3].map(Register::Parameter);
    let [value_result, index_result] = program.results[..] else { return None };
    let selection = |result: Register, kept: Register, other: Register| {
        let [condition, a, b] = operands(program, result, ElementwiseKind::Select)?[..] else {
            return None;
        };
        (a == kept && b == other).then_some(condition)
    };
    let by_value = selection(value_result, held, value)?;
    let by_index = selection(index_result, held_index, index)?;
    let ways = [(Direction::Gt, true), (Direction::Lt, false)];
    let more = |register: Register| {
        let named = |&(way, _): &(Direction, bool)| is(program, register, way, held, value);
        ways.into_iter().find(named).map(|(_, largest)| largest)
    };
    let nan = |register: Register| is(program, register, Direction::Ne, held, held);
    let integers = is_integer(program.dtype(held));
    let values = match operands(program, by_value, ElementwiseKind::Or) {
        Some(&[a, b]) if nan(b) => more(a),
        Some(&[a, b]) if nan(a) => more(b),
        None if integers => more(by_value),
        _ => None,
    };
    let tie = |register: Register| match operands(program, register, ElementwiseKind::And) {
        Some(&[a, b]) => {
            let equal = |register| {
                is(program, register, Direction::Eq, held, value)
                    || is(program, register, Direction::Eq, value, held)
            };
            let before = |register| is(program, register, Direction::Lt, held_index, index);
            (equal(a) && before(b)) || (equal(b) && before(a))
        }
        _ => false,
    };
    let [a, b] = operands(program, by_index, ElementwiseKind::Or)?[..] else { return None };
    let indices = (a == by_value && tie(b)) || (b == by_value && tie(a));
    values.filter(|_| indices && is_integer(program.dtype(held_index)))
}

fn operands(
    program: &ElementwiseProgram,
    result: Register,
    kind: ElementwiseKind,
) -> Option<&[Register]> {
    let Register::Step(index) = result else { return None };
    let named = |step: &&Instr| step.op.kind == kind;
    program.steps.get(index).filter(named).map(|step| &step.inputs[..])
}

/// Whether a result compares two registers by value.
fn is(
    program: &ElementwiseProgram,
    result: Register,
    direction: Direction,
    a: Register,
    b: Register,
) -> bool {
    let kind = ElementwiseKind::Compare(direction, Order::Value);
    operands(program, result, kind) == Some(&[a, b])
}

fn is_integer(dtype: DType) -> bool {
    for_dtype!(dtype, T: Int => T::DTYPE).is_some()
}

/// A loop over rows of values and indices.
pub type PickColumns = fn(held: [&mut [u8]; 2], rows: [&[u8]; 2], [usize; 2]);

/// Loops over values and indices, as bytes aligned for their types.
#[derive(Debug, Clone, Copy)]
pub struct PickLoops {
    /// Takes rows of values and indices, one after the other, into what is held, lane by lane. The
    /// last argument is `[rows, step]`, where a step leads from the start of one row to that of the
    /// next.
    pub columns: PickColumns,
    /// Takes a row of values and indices into the one that is held.
    pub row: fn(held: [&mut [u8]; 2], row: [&[u8]; 2]),
}

impl PickLoops {
    fn of<V: Comparable>(largest: bool) -> Self {
        if largest {
            Self { columns: columns::<V, true>, row: row::<V, true> }
        } else {
            Self { columns: columns::<V, false>, row: row::<V, false> }
        }
    }
}

/// What is compared.
trait Comparable: Pod + PartialOrd {
    const ZERO: Self;
    fn is_nan(self) -> bool;
}

macro_rules! values {
    ($($type:ty: $zero:literal, $nan:expr;)*) => {$(
        impl Comparable for $type {
            const ZERO: Self = $zero;

            #[inline(always)]
            fn is_nan(self) -> bool {
                let nan: fn(Self) -> bool = $nan;
                nan(self)
            }
        }
    )*};
}

values! {
    f32: 0.0, |value| value.is_nan();
    f64: 0.0, |value| value.is_nan();
    i32: 0, |_| false;
    u32: 0, |_| false;
    i8: 0, |_| false;
    u8: 0, |_| false;
}

#[inline(always)]
fn beats<V: Comparable, const LARGEST: bool>(a: V, b: V) -> bool {
    if LARGEST { a > b } else { a < b }
}

/// Takes one more value and index into what is held.
#[inline(always)]
fn take<V: Comparable, const LARGEST: bool>(
    (value, index): (&mut V, &mut i32),
    (next, place): (V, i32),
) {
    let kept = beats::<V, LARGEST>(*value, next) | value.is_nan();
    let first = kept | ((*value == next) & (*index < place));
    *value = if kept { *value } else { next };
    *index = if first { *index } else { place };
}

fn columns<V: Comparable, const LARGEST: bool>(
    held: [&mut [u8]; 2],
    rows: [&[u8]; 2],
    [count, step]: [usize; 2],
) {
    let [values, indices] = held;
    let held = (cast_slice_mut(values), cast_slice_mut(indices));
    let rows = (cast_slice(rows[0]), cast_slice(rows[1]));
    simd::run(PickedColumns::<V, LARGEST> { held, rows, count, step });
}

struct PickedColumns<'a, V, const LARGEST: bool> {
    held: (&'a mut [V], &'a mut [i32]),
    rows: (&'a [V], &'a [i32]),
    count: usize,
    step: usize,
}

/// Columns whose values and indices stay in registers from row to row.
const COLUMNS: usize = 16;

impl<V: Comparable, const LARGEST: bool> simd::Loop for PickedColumns<'_, V, LARGEST> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { held, rows, count, step } = self;
        let (values, rest) = held.0.as_chunks_mut::<COLUMNS>();
        let (places, last) = held.1.as_chunks_mut::<COLUMNS>();
        let mut first = 0;
        for (values, places) in values.iter_mut().zip(places) {
            let (mut held, mut at) = (*values, *places);
            for start in (0..count).map(|row| row * step + first) {
                let next = &rows.0[start..start + COLUMNS];
                let place = &rows.1[start..start + COLUMNS];
                for (held, (&next, &place)) in
                    held.iter_mut().zip(&mut at).zip(next.iter().zip(place))
                {
                    take::<V, LARGEST>(held, (next, place));
                }
            }
            (*values, *places) = (held, at);
            first += COLUMNS;
        }
        for start in (0..count).map(|row| row * step + first) {
            let next = rows.0[start..].iter().zip(&rows.1[start..]);
            for (held, (&next, &place)) in rest.iter_mut().zip(&mut *last).zip(next) {
                take::<V, LARGEST>(held, (next, place));
            }
        }
    }
}

fn row<V: Comparable, const LARGEST: bool>(held: [&mut [u8]; 2], row: [&[u8]; 2]) {
    let [values, indices] = held;
    let values: &mut [V] = cast_slice_mut(values);
    let indices: &mut [i32] = cast_slice_mut(indices);
    let (values, indices) = (&mut values[0], &mut indices[0]);
    let row: (&[V], &[i32]) = (cast_slice(row[0]), cast_slice(row[1]));
    if values.is_nan() {
        return;
    }
    let (extreme, nan) = simd::run(Extreme::<V, LARGEST> { held: *values, row: row.0 });
    if nan {
        let first = row.0.iter().zip(row.1).find(|(value, _)| value.is_nan());
        if let Some((&value, &index)) = first {
            (*values, *indices) = (value, index);
        }
        return;
    }
    let start = if *values == extreme { *indices } else { i32::MAX };
    *indices = simd::run(FirstIndex { extreme, start, row });
    // Zeros of both signs are equal, and the last one is kept.
    let last = row.0.iter().rev().find(|&&value| extreme == V::ZERO && value == extreme);
    let held = if *values == extreme { *values } else { extreme };
    *values = last.copied().unwrap_or(held);
}

/// Elements that are compared beside each other.
const LANES: usize = 32;

/// The extreme of a row that is not NaN, and whether there is a NaN.
struct Extreme<'a, V, const LARGEST: bool> {
    held: V,
    row: &'a [V],
}

impl<V: Comparable, const LARGEST: bool> simd::Loop for Extreme<'_, V, LARGEST> {
    type Output = (V, bool);

    #[inline(always)]
    fn run(self) -> (V, bool) {
        let better = |a: V, b: V| if beats::<V, LARGEST>(a, b) { a } else { b };
        let (blocks, rest) = self.row.as_chunks::<LANES>();
        let mut held = [self.held; LANES];
        let mut nan = false;
        for block in blocks {
            let mut nans = 0;
            for (held, &value) in held.iter_mut().zip(block) {
                *held = better(value, *held);
                nans |= u32::from(value.is_nan());
            }
            nan |= nans != 0;
        }
        let all = held.iter().chain(rest);
        let extreme = all.fold(self.held, |held, &value| better(value, held));
        (extreme, nan || rest.iter().any(|value| value.is_nan()))
    }
}

/// The least index of the elements that equal the extreme.
struct FirstIndex<'a, V> {
    extreme: V,
    start: i32,
    row: (&'a [V], &'a [i32]),
}

impl<V: Comparable> simd::Loop for FirstIndex<'_, V> {
    type Output = i32;

    #[inline(always)]
    fn run(self) -> i32 {
        let Self { extreme, start, row: (values, indices) } = self;
        let equal = |(&value, &index): (&V, &i32)| if value == extreme { index } else { i32::MAX };
        let mut held = [start; LANES];
        let (blocks, rest) = values.as_chunks::<LANES>();
        let (places, last) = indices.as_chunks::<LANES>();
        for (block, places) in blocks.iter().zip(places) {
            for (held, pair) in held.iter_mut().zip(block.iter().zip(places)) {
                *held = (*held).min(equal(pair));
            }
        }
        let held = held.into_iter().fold(start, i32::min);
        rest.iter().zip(last).map(equal).fold(held, i32::min)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As the body says it, one element after the other.
    fn one_by_one(largest: bool, held: (f32, i32), row: &[f32], indices: &[i32]) -> (f32, i32) {
        row.iter().zip(indices).fold(held, |(held, at), (&value, &index)| {
            let kept = (if largest { held > value } else { held < value }) || held.is_nan();
            let first = kept || (held == value && at < index);
            (if kept { held } else { value }, if first { at } else { index })
        })
    }

    #[test]
    fn rows_and_lanes_keep_what_the_body_keeps() {
        const SOME: [f32; 6] = [0.0, -0.0, 1.5, -1.5, f32::INFINITY, f32::NEG_INFINITY];
        let mut state = 1_u32;
        let mut below = |count: usize| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            state as usize / 65_536 % count
        };
        for round in 0..400 {
            let length = [0, 1, 2, 31, 32, 33, 64, 100][round % 8];
            let (kinds, largest) = ([2, 4, 6][round / 8 % 3], round / 24 % 2 == 0);
            let mut row: Vec<f32> = (0..length).map(|_| SOME[below(kinds)]).collect();
            if round % 5 == 0 && length > 0 {
                for nan in [0x7FC0_0001, 0xFFC0_0002] {
                    row[below(length)] = f32::from_bits(nan);
                }
            }
            let indices: Vec<i32> = (0..length).map(|_| i32::try_from(below(9)).unwrap()).collect();
            let init = (SOME[below(6)], i32::try_from(below(9)).unwrap());
            let wanted = one_by_one(largest, init, &row, &indices);
            let loops = PickLoops::of::<f32>(largest);
            simd::at_every_level(|level| {
                let (mut value, mut index) = ([init.0], [init.1]);
                let held = [cast_slice_mut(&mut value), cast_slice_mut(&mut index)];
                (loops.row)(held, [cast_slice(&row), cast_slice(&indices)]);
                assert_eq!(
                    (value[0].to_bits(), index[0]),
                    (wanted.0.to_bits(), wanted.1),
                    "{level:?} {init:?} {row:?} {indices:?}"
                );
                let (mut values, mut places) = (vec![init.0; length], vec![init.1; length]);
                let held = [cast_slice_mut(&mut values), cast_slice_mut(&mut places)];
                (loops.columns)(held, [cast_slice(&row), cast_slice(&indices)], [1, 0]);
                for lane in 0..length {
                    let wanted =
                        one_by_one(largest, init, &row[lane..=lane], &indices[lane..=lane]);
                    let found = (values[lane].to_bits(), places[lane]);
                    assert_eq!(found, (wanted.0.to_bits(), wanted.1), "{level:?} {lane}");
                }
            });
        }
    }
    #[test]
    fn columns_keep_what_their_rows_keep_one_after_the_other() {
        const SOME: [f32; 7] = [0.0, -0.0, 1.5, -1.5, f32::INFINITY, f32::NEG_INFINITY, f32::NAN];
        let mut state = 7_u32;
        let mut below = |count: usize| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            state as usize / 65_536 % count
        };
        for round in 0..120 {
            let lanes = [1, 15, 16, 17, 40][round % 5];
            let (count, step) = ([0, 1, 2, 9][round / 5 % 4], lanes + round % 3);
            let kinds = [2, 6, 7][round % 3];
            let values: Vec<f32> = (0..9 * step).map(|_| SOME[below(kinds)]).collect();
            let indices: Vec<i32> =
                (0..9 * step).map(|_| i32::try_from(below(9)).unwrap()).collect();
            let largest = round % 2 == 0;
            let loops = PickLoops::of::<f32>(largest);
            simd::at_every_level(|level| {
                let (mut held, mut places) = (vec![-0.0_f32; lanes], vec![3; lanes]);
                let both = [cast_slice_mut(&mut held), cast_slice_mut(&mut places)];
                (loops.columns)(both, [cast_slice(&values), cast_slice(&indices)], [count, step]);
                for lane in 0..lanes {
                    let column = |row: usize| row * step + lane;
                    let row: Vec<f32> = (0..count).map(|row| values[column(row)]).collect();
                    let at: Vec<i32> = (0..count).map(|row| indices[column(row)]).collect();
                    let wanted = one_by_one(largest, (-0.0, 3), &row, &at);
                    let found = (held[lane].to_bits(), places[lane]);
                    assert_eq!(found, (wanted.0.to_bits(), wanted.1), "{level:?} {lane} {row:?}");
                }
            });
        }
    }
}
