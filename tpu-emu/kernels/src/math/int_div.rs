//! Quotients and remainders of integers of 32 bits, computed in double precision.
use crate::elementwise::program::{Immediate, LoopFn};
use crate::simd;
use crate::simd::Loop;
use bytemuck::Pod;
use std::marker::PhantomData;
use tpu_base::tensor::DType;

/// Added to a number below 2^51, it rounds to a whole number that the lowest bits of the sum hold.
pub(crate) const SHIFT: f64 = 6_755_399_441_055_744.0;

/// An integer of 32 bits.
trait Word: Pod + PartialEq {
    /// How far it is from zero, and whether it is below.
    fn parts(self) -> (u32, bool);
    /// The bits.
    fn bits(self) -> u32;
    /// The integer with these bits.
    fn of(bits: u32) -> Self;
}

impl Word for u32 {
    #[inline(always)]
    fn parts(self) -> (u32, bool) {
        (self, false)
    }

    #[inline(always)]
    fn bits(self) -> u32 {
        self
    }

    #[inline(always)]
    fn of(bits: u32) -> Self {
        bits
    }
}

impl Word for i32 {
    #[inline(always)]
    fn parts(self) -> (u32, bool) {
        (self.unsigned_abs(), self < 0)
    }

    #[inline(always)]
    fn bits(self) -> u32 {
        self.cast_unsigned()
    }

    #[inline(always)]
    fn of(bits: u32) -> Self {
        bits.cast_signed()
    }
}

/// The bits of a quotient that is cut towards zero. `above` is the dividend's distance from zero
/// and a half more, over that of the divisor: never a whole number, and nearer to the exact one
/// than that is to a whole number.
#[inline(always)]
fn cut(above: f64, below_zero: bool) -> u32 {
    #[expect(clippy::cast_possible_truncation, reason = "the low bits hold the number")]
    let cut = (above - 0.5 + SHIFT).to_bits() as u32;
    if below_zero { cut.wrapping_neg() } else { cut }
}

struct Divide<'a, T, const REST: bool> {
    inputs: &'a [&'a [u8]],
    output: &'a mut [u8],
    word: PhantomData<T>,
}

impl<T: Word, const REST: bool> Loop for Divide<'_, T, REST> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let a: &[T] = bytemuck::cast_slice(self.inputs[0]);
        let b: &[T] = bytemuck::cast_slice(self.inputs[1]);
        let output: &mut [T] = bytemuck::cast_slice_mut(self.output);
        let rest = |a: T, b: T, quotient: u32| {
            T::of(if REST {
                a.bits().wrapping_sub(quotient.wrapping_mul(b.bits()))
            } else {
                quotient
            })
        };
        let Some(&first) = b.first() else { return };
        let mut all = true;
        for &b in b {
            all &= b == first;
        }
        let (by, below) = first.parts();
        if all && by.is_power_of_two() {
            for (to, &a) in output.iter_mut().zip(a) {
                let (value, sign) = a.parts();
                let quotient = value >> by.trailing_zeros();
                let quotient = if sign != below { quotient.wrapping_neg() } else { quotient };
                *to = rest(a, first, quotient);
            }
            return;
        }
        if all && by != 0 {
            let inverse = 1.0 / f64::from(by);
            for (to, &a) in output.iter_mut().zip(a) {
                let (value, sign) = a.parts();
                let quotient = cut((f64::from(value) + 0.5) * inverse, sign != below);
                *to = rest(a, first, quotient);
            }
            return;
        }
        for ((to, &a), &b) in output.iter_mut().zip(a).zip(b) {
            let ((value, sign), (by, below)) = (a.parts(), b.parts());
            let quotient = cut((f64::from(value) + 0.5) / f64::from(by), sign != below);
            *to = rest(a, b, if by == 0 { u32::MAX } else { quotient });
        }
    }
}

fn divide<T: Word, const REST: bool>(_: Immediate, inputs: &[&[u8]], output: &mut [u8]) {
    simd::run(Divide::<T, REST> { inputs, output, word: PhantomData });
}

/// Quotients, cut towards zero: all bits are set where the divisor is zero. `None` for other types.
pub fn quotients(dtype: DType) -> Option<LoopFn> {
    match dtype {
        DType::S32 => Some(divide::<i32, false>),
        DType::U32 => Some(divide::<u32, false>),
        _ => None,
    }
}

/// What is left of the dividends. `None` for other types.
pub fn remainders(dtype: DType) -> Option<LoopFn> {
    match dtype {
        DType::S32 => Some(divide::<i32, true>),
        DType::U32 => Some(divide::<u32, true>),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tpu_base::tensor::element::{Int, Number};

    fn numbers() -> Vec<u32> {
        let mut numbers = vec![0, 1, 2, 3, 5, 7, 10, 1000, 65_535, 65_536, 0x7fff_ffff];
        numbers.extend([0x8000_0000, 0x8000_0001, 0xffff_fffe, 0xffff_ffff, 0xffff_fff9]);
        let mut state = 12345_u32;
        for shift in 0..32 {
            state = state.wrapping_mul(747_796_405).wrapping_add(2_891_336_453);
            numbers.push(state >> shift);
        }
        // Multiples and their neighbours.
        for by in [3_u32, 7, 641, 46_341] {
            let most = u32::MAX / by * by;
            numbers.extend([most, most - 1, most / 2, by - 1]);
        }
        numbers
    }

    fn check<T: Word + Int + Number + std::fmt::Debug>(dtype: DType) {
        let numbers = numbers();
        let all: Vec<T> = numbers.iter().map(|&bits| T::of(bits)).collect();
        let run = |function: LoopFn, a: &[T], b: &[T]| {
            let mut output = vec![T::of(0); a.len()];
            let inputs = [bytemuck::cast_slice(a), bytemuck::cast_slice(b)];
            function([0; 2], &inputs, bytemuck::cast_slice_mut(&mut output));
            output
        };
        let (quotient, rest) = (quotients(dtype).unwrap(), remainders(dtype).unwrap());
        for (index, &b) in all.iter().enumerate() {
            let same = vec![b; all.len()];
            let mut other = all.clone();
            other.rotate_left(index);
            for divisors in [&same, &other] {
                let (q, r) = (run(quotient, &all, divisors), run(rest, &all, divisors));
                for (at, (&a, &b)) in all.iter().zip(divisors).enumerate() {
                    assert_eq!((q[at], r[at]), (a.div(b), a.rem(b)), "{a:?} by {b:?}");
                }
            }
        }
    }

    #[test]
    fn quotients_and_remainders_are_those_of_the_integers() {
        simd::at_every_level(|_| {
            check::<i32>(DType::S32);
            check::<u32>(DType::U32);
        });
    }
}
