//! Products and sums in one rounding: an instruction where a machine has it, several elsewhere.

/// How a machine multiplies and adds with one rounding. All ways give the same bits.
pub trait Fused {
    /// `a * b + c`, rounded once.
    fn mul_add(a: f32, b: f32, c: f32) -> f32;
}

/// A loop whose arithmetic is fused in part, otherwise like a [`Loop`](super::Loop).
pub trait FusedLoop {
    /// What it gives.
    type Output;
    /// The code, for a machine that multiplies and adds in this way.
    fn run<M: Fused>(self) -> Self::Output;
}

/// A loop that multiplies and adds in one way.
#[cfg(all(target_arch = "x86_64", not(tpu_emu_portable)))]
pub(super) struct By<M, L>(pub(super) L, pub(super) std::marker::PhantomData<M>);

#[cfg(all(target_arch = "x86_64", not(tpu_emu_portable)))]
impl<M: Fused, L: FusedLoop> super::Loop for By<M, L> {
    type Output = L::Output;

    #[inline(always)]
    fn run(self) -> L::Output {
        self.0.run::<M>()
    }
}

/// By the instruction.
#[cfg(any(test, all(not(tpu_emu_portable), any(target_arch = "x86_64", target_arch = "aarch64"))))]
pub(super) struct Instruction;

#[cfg(any(test, all(not(tpu_emu_portable), any(target_arch = "x86_64", target_arch = "aarch64"))))]
impl Fused for Instruction {
    #[inline(always)]
    fn mul_add(a: f32, b: f32, c: f32) -> f32 {
        a.mul_add(b, c)
    }
}

/// In double precision, in which the product is exact, without branches and without a call of a
/// library.
#[cfg(any(test, tpu_emu_portable, not(target_arch = "aarch64")))]
pub(super) struct Composed;

#[cfg(any(test, tpu_emu_portable, not(target_arch = "aarch64")))]
impl Fused for Composed {
    #[expect(clippy::cast_possible_truncation, reason = "the one rounding")]
    #[inline(always)]
    fn mul_add(a: f32, b: f32, c: f32) -> f32 {
        let (product, c) = (f64::from(a) * f64::from(b), f64::from(c));
        let sum = product + c;
        // What the sum has lost, which is exact too.
        let part = sum - product;
        let lost = (product - (sum - part)) + (c - part);
        // Of the two numbers that the exact sum lies between, the odd one is rounded to single
        // precision as the exact one is.
        let bits = sum.to_bits();
        let away = (lost > 0.0) == (sum > 0.0);
        let odd = if away { bits | 1 } else { bits.wrapping_sub(1) | 1 };
        // Of infinities and NaN, `lost` is NaN.
        let moved = bits & 1 == 0 && lost.abs() > 0.0;
        f64::from_bits(if moved { odd } else { bits }) as f32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers of all sizes, those at the ends among them.
    fn numbers() -> Vec<f32> {
        let ends = [0.0, f32::MIN_POSITIVE, f32::from_bits(1), f32::MAX, f32::INFINITY, f32::NAN];
        let near = [1.0, 1.0 + f32::EPSILON, 1.0 - f32::EPSILON / 2.0, 3.0, 16_777_216.0];
        let mut bits = 12_345_u32;
        let drawn = (0..50).map(|_| {
            bits = bits.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            f32::from_bits(bits)
        });
        let all: Vec<f32> = ends.into_iter().chain(near).chain(drawn).collect();
        all.iter().flat_map(|&x| [x, -x]).collect()
    }

    /// Sums of products and of numbers near their negation, and near half of a last place of it.
    fn addends(product: f32) -> impl Iterator<Item = f32> {
        let scales =
            [1.0, 2.0_f32.powi(-24), 2.0_f32.powi(-25), 2.0_f32.powi(23), 2.0_f32.powi(24)];
        scales.into_iter().flat_map(move |scale| {
            let near = -product * scale;
            [near, -near, near.next_up(), near.next_down(), -near.next_up()]
        })
    }

    #[test]
    fn it_rounds_once_in_both_ways() {
        let numbers = numbers();
        for &a in &numbers {
            for &b in &numbers {
                for c in numbers.iter().copied().chain(addends(a * b)) {
                    let [one, other] = [Instruction::mul_add(a, b, c), Composed::mul_add(a, b, c)];
                    assert!(
                        one.to_bits() == other.to_bits() || one.is_nan() && other.is_nan(),
                        "{a:e} * {b:e} + {c:e}: {one:e} and {other:e}"
                    );
                }
            }
        }
    }
}
