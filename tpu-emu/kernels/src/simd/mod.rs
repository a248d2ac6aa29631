//! Loops compiled for several vector widths; the widest that the machine has is chosen when it
//! runs.
mod fused;
#[cfg(all(target_arch = "x86_64", not(tpu_emu_portable)))]
mod x86;
#[cfg(all(target_arch = "x86_64", not(tpu_emu_portable)))]
use x86 as machine;
#[cfg(all(target_arch = "aarch64", not(tpu_emu_portable)))]
mod neon;
#[cfg(all(target_arch = "aarch64", not(tpu_emu_portable)))]
use neon as machine;
#[cfg(any(tpu_emu_portable, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
mod plain;
#[cfg(any(tpu_emu_portable, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
use plain as machine;

pub use fused::{Fused, FusedLoop};
use machine::Machine;
pub use machine::Shuffles;
use pulp::WithSimd;
use std::cell::Cell;
use std::sync::OnceLock;

/// The vectors that a loop uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// What every machine of the architecture has.
    Portable,
    /// 256 bits: AVX2 with FMA.
    Avx2,
    /// 512 bits: AVX-512 F, BW, CD, DQ and VL.
    Avx512,
}

/// A loop. `run` is `#[inline(always)]`, and so is every function that it calls in its inner
/// part: what is not inlined is compiled for any machine.
pub trait Loop {
    /// What it gives.
    type Output;
    /// The code.
    fn run(self) -> Self::Output;
}

thread_local! {
    /// The widest vectors that this thread may use; a test takes less.
    static LIMIT: Cell<Level> = const { Cell::new(Level::Avx512) };
}

static FOUND: OnceLock<Machine> = OnceLock::new();

/// Says which vectors the process may use at most. The first one to say so, or to run a loop,
/// decides for all.
pub fn limit(most: Level) {
    FOUND.get_or_init(|| Machine::found(most));
}

fn machine() -> Machine {
    FOUND.get_or_init(|| Machine::found(Level::Avx512)).up_to(LIMIT.get())
}

/// The vectors that loops use on this thread.
pub fn level() -> Level {
    machine().level()
}

/// Instructions that interleave vectors, where the machine has them.
pub fn shuffles() -> Option<Shuffles> {
    machine().shuffles()
}

/// Runs a loop that uses instructions which interleave vectors.
pub fn run_shuffled<L: Loop>(shuffles: Shuffles, body: L) -> L::Output {
    machine::run_shuffled(shuffles, body)
}

/// Runs a loop with the widest vectors.
#[inline]
pub fn run<L: Loop>(body: L) -> L::Output {
    machine().run(body)
}

/// Runs a loop with vectors of 256 bits at most: one that wider ones do not make faster has no third
/// copy in the library.
#[inline]
pub fn run_to_avx2<L: Loop>(body: L) -> L::Output {
    machine().run_to_avx2(body)
}

/// Runs a loop that is fused in part, with the widest vectors.
#[inline]
pub fn run_fused<L: FusedLoop>(body: L) -> L::Output {
    machine().run_fused(body)
}

/// Runs code written in vectors with the widest ones. Every function that it calls in its inner
/// part is `#[inline(always)]`.
#[inline]
pub fn with<W: WithSimd>(body: W) -> W::Output {
    machine().with(body)
}

/// Runs a test's code with vectors up to a width, in turn for each that the machine has.
#[cfg(any(test, feature = "testing"))]
pub fn at_every_level(test: impl Fn(Level)) {
    for level in [Level::Portable, Level::Avx2, Level::Avx512] {
        LIMIT.set(level);
        if self::level() == level {
            test(level);
        }
        LIMIT.set(Level::Avx512);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Sum<'a>(&'a [u32]);

    impl Loop for Sum<'_> {
        type Output = u32;

        #[inline(always)]
        fn run(self) -> u32 {
            self.0.iter().sum()
        }
    }

    #[test]
    fn no_more_is_found_than_allowed() {
        for most in [Level::Portable, Level::Avx2, Level::Avx512] {
            assert!(Machine::found(most).level() <= most);
        }
    }

    #[test]
    fn every_width_gives_the_same() {
        let numbers: Vec<u32> = (0..1000).collect();
        let mut seen = Vec::new();
        let levels = std::cell::RefCell::new(&mut seen);
        at_every_level(|level| {
            assert_eq!((run(Sum(&numbers)), run_to_avx2(Sum(&numbers))), (499_500, 499_500));
            levels.borrow_mut().push(level);
        });
        assert_eq!(seen[0], Level::Portable);
        assert_eq!(seen.last(), Some(&level()));
    }
}
