//! The vectors of aarch64: every machine has Neon, and plain loops are compiled for it.
use super::fused::{FusedLoop, Instruction};
use super::{Level, Loop};
use pulp::aarch64::Neon;
use pulp::{Scalar128b, Simd, WithSimd};
use std::convert::Infallible;

/// Instructions that nobody has.
pub type Shuffles = Infallible;

/// Runs a loop that uses these instructions.
pub(super) fn run_shuffled<L: Loop>(machine: Shuffles, _: L) -> L::Output {
    match machine {}
}

/// The vectors of a machine: those that all have.
#[derive(Debug, Clone, Copy)]
pub(super) struct Machine;

impl Machine {
    pub(super) fn found(_: Level) -> Self {
        Self
    }

    pub(super) fn up_to(self, _: Level) -> Self {
        self
    }

    pub(super) fn level(self) -> Level {
        Level::Portable
    }

    pub(super) fn shuffles(self) -> Option<Shuffles> {
        None
    }

    #[inline]
    pub(super) fn run<L: Loop>(self, body: L) -> L::Output {
        body.run()
    }

    #[inline]
    pub(super) fn run_to_avx2<L: Loop>(self, body: L) -> L::Output {
        self.run(body)
    }

    #[inline]
    pub(super) fn run_fused<L: FusedLoop>(self, body: L) -> L::Output {
        body.run::<Instruction>()
    }

    #[inline]
    pub(super) fn with<W: WithSimd>(self, body: W) -> W::Output {
        match Neon::try_new() {
            Some(neon) => Simd::vectorize(neon, body),
            None => Simd::vectorize(Scalar128b, body),
        }
    }
}
