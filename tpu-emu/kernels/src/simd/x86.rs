//! The vectors of x86-64.
use super::fused::{By, Composed, FusedLoop, Instruction};
use super::{Level, Loop};
use pulp::x86::{V3, V4};
use pulp::{Scalar128b, Simd, WithSimd};
use std::marker::PhantomData;

/// Instructions on vectors of 128 and 256 bits.
pub type Shuffles = V3;

/// Runs a loop that uses these instructions. Those of 256 bits become calls in a loop that is compiled
/// for 512.
pub(super) fn run_shuffled<L: Loop>(machine: Shuffles, body: L) -> L::Output {
    machine.vectorize(Call(body))
}

/// The vectors of a machine.
#[derive(Debug, Clone, Copy)]
pub(super) enum Machine {
    Portable,
    Avx2(V3),
    Avx512(V4),
}

struct Call<L>(L);

impl<L: Loop> pulp::NullaryFnOnce for Call<L> {
    type Output = L::Output;

    #[inline(always)]
    fn call(self) -> L::Output {
        self.0.run()
    }
}

impl Machine {
    /// The widest that the processor has, up to `most`.
    pub(super) fn found(most: Level) -> Self {
        let wide = V4::try_new().filter(|_| most >= Level::Avx512);
        let middle = V3::try_new().filter(|_| most >= Level::Avx2);
        match (wide, middle) {
            (Some(wide), _) => Self::Avx512(wide),
            (None, Some(middle)) => Self::Avx2(middle),
            (None, None) => Self::Portable,
        }
    }

    /// These vectors, or narrower ones if `limit` is narrower.
    pub(super) fn up_to(self, limit: Level) -> Self {
        match (limit, self) {
            (Level::Avx512, found) => found,
            (Level::Avx2, Self::Avx512(_)) => V3::try_new().map_or(self, Self::Avx2),
            (Level::Avx2, found) => found,
            (Level::Portable, _) => Self::Portable,
        }
    }

    pub(super) fn level(self) -> Level {
        match self {
            Self::Portable => Level::Portable,
            Self::Avx2(_) => Level::Avx2,
            Self::Avx512(_) => Level::Avx512,
        }
    }

    pub(super) fn shuffles(self) -> Option<Shuffles> {
        match self {
            Self::Portable => None,
            Self::Avx2(middle) => Some(middle),
            Self::Avx512(_) => V3::try_new(),
        }
    }

    #[inline]
    pub(super) fn run<L: Loop>(self, body: L) -> L::Output {
        match self {
            Self::Portable => body.run(),
            Self::Avx2(middle) => middle.vectorize(Call(body)),
            Self::Avx512(wide) => wide.vectorize(Call(body)),
        }
    }

    #[inline]
    pub(super) fn run_to_avx2<L: Loop>(self, body: L) -> L::Output {
        let middle = match self {
            Self::Portable => return body.run(),
            Self::Avx2(middle) => middle,
            Self::Avx512(wide) => *wide,
        };
        middle.vectorize(Call(body))
    }

    #[inline]
    pub(super) fn run_fused<L: FusedLoop>(self, body: L) -> L::Output {
        match self {
            Self::Portable => body.run::<Composed>(),
            wide => wide.run(By::<Instruction, L>(body, PhantomData)),
        }
    }

    #[inline]
    pub(super) fn with<W: WithSimd>(self, body: W) -> W::Output {
        match self {
            Self::Portable => Simd::vectorize(Scalar128b, body),
            Self::Avx2(middle) => Simd::vectorize(middle, body),
            Self::Avx512(wide) => Simd::vectorize(wide, body),
        }
    }
}
