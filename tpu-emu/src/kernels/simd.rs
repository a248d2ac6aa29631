//! Loops compiled for several vector widths; the widest that the machine has is chosen when it
//! runs.
use pulp::x86::{V3, V4};
use pulp::{Scalar128b, Simd, WithSimd};
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

#[derive(Debug, Clone, Copy)]
enum Machine {
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

thread_local! {
    /// The widest vectors that this thread may use; a test takes less.
    static LIMIT: Cell<Level> = const { Cell::new(Level::Avx512) };
}

static FOUND: OnceLock<Machine> = OnceLock::new();

/// The widest vectors that the processor has and the process may use.
fn found(most: Level) -> Machine {
    let wide = V4::try_new().filter(|_| most >= Level::Avx512);
    let middle = V3::try_new().filter(|_| most >= Level::Avx2);
    match (wide, middle) {
        (Some(wide), _) => Machine::Avx512(wide),
        (None, Some(middle)) => Machine::Avx2(middle),
        (None, None) => Machine::Portable,
    }
}

/// Says which vectors the process may use at most. The first one to say so, or to run a loop,
/// decides for all.
pub fn limit(most: Level) {
    FOUND.get_or_init(|| found(most));
}

fn machine() -> Machine {
    let found = *FOUND.get_or_init(|| found(Level::Avx512));
    match (LIMIT.get(), found) {
        (Level::Avx512, found) => found,
        (Level::Avx2, Machine::Avx512(_)) => V3::try_new().map_or(found, Machine::Avx2),
        (Level::Avx2, found) => found,
        (Level::Portable, _) => Machine::Portable,
    }
}

/// The vectors that loops use on this thread.
pub fn level() -> Level {
    match machine() {
        Machine::Portable => Level::Portable,
        Machine::Avx2(_) => Level::Avx2,
        Machine::Avx512(_) => Level::Avx512,
    }
}

/// Instructions on vectors of 128 and 256 bits, where the machine has them.
pub fn shuffles() -> Option<V3> {
    match machine() {
        Machine::Portable => None,
        Machine::Avx2(middle) => Some(middle),
        Machine::Avx512(_) => V3::try_new(),
    }
}

/// Runs a loop with the widest vectors.
#[inline]
pub fn run<L: Loop>(body: L) -> L::Output {
    match machine() {
        Machine::Portable => body.run(),
        Machine::Avx2(middle) => middle.vectorize(Call(body)),
        Machine::Avx512(wide) => wide.vectorize(Call(body)),
    }
}

/// Runs code written in vectors with the widest ones. Every function that it calls in its inner
/// part is `#[inline(always)]`.
#[inline]
pub fn with<W: WithSimd>(body: W) -> W::Output {
    match machine() {
        Machine::Portable => Simd::vectorize(Scalar128b, body),
        Machine::Avx2(middle) => Simd::vectorize(middle, body),
        Machine::Avx512(wide) => Simd::vectorize(wide, body),
    }
}

/// Runs a test's code with vectors up to a width, in turn for each that the machine has.
#[cfg(test)]
pub(crate) fn at_every_level(test: impl Fn(Level)) {
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
        assert!(matches!(found(Level::Portable), Machine::Portable));
        assert!(!matches!(found(Level::Avx2), Machine::Avx512(_)));
    }

    #[test]
    fn every_width_gives_the_same() {
        let numbers: Vec<u32> = (0..1000).collect();
        let mut seen = Vec::new();
        let levels = std::cell::RefCell::new(&mut seen);
        at_every_level(|level| {
            assert_eq!(run(Sum(&numbers)), 499_500);
            levels.borrow_mut().push(level);
        });
        assert_eq!(seen[0], Level::Portable);
        assert_eq!(seen.last(), Some(&level()));
    }
}
