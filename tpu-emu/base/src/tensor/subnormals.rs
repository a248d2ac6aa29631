// UNSAFETY: reads and writes the control register of the calling thread's float unit.
//! Whether floats that are too small to be normal are numbers or zeros.
//!
//! The mode belongs to a thread: who computes sets it for as long as a [`Guard`] lives, and what
//! is handed to other threads takes it along (`parallel`).
#![expect(unsafe_code, reason = "reads and writes registers")]
use std::marker::PhantomData;

/// What becomes of subnormal floats of 32 and 64 bits, as operands and as results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subnormals {
    /// They are numbers, as IEEE 754 has it.
    Kept,
    /// They count as zeros of their sign.
    Flushed,
}

/// The mode of the calling thread, until it is dropped: then the thread has the mode back that it
/// had before.
#[derive(Debug)]
pub struct Guard {
    before: Option<register::Word>,
    /// It belongs to the thread.
    thread: PhantomData<*const ()>,
}

impl Subnormals {
    /// What the calling thread does.
    #[inline]
    pub fn here() -> Self {
        if register::read() & register::FLUSH == register::FLUSH {
            Self::Flushed
        } else {
            Self::Kept
        }
    }

    /// Lets the calling thread do this; it rounds to the nearest meanwhile, and no operation
    /// traps.
    #[inline]
    pub fn enter(self) -> Guard {
        let wanted = match self {
            Self::Kept => register::PLAIN,
            Self::Flushed => register::PLAIN | register::FLUSH,
        };
        let before = register::read();
        let changes = before & !register::SEEN != wanted;
        if changes {
            register::write(wanted);
        }
        Guard { before: changes.then_some(before), thread: PhantomData }
    }
}

impl Drop for Guard {
    #[inline]
    fn drop(&mut self) {
        if let Some(before) = self.before {
            register::write(before);
        }
    }
}

/// One. A product with it is computed, so that it is a zero where subnormal numbers are; the
/// compiler leaves every other product that changes nothing out. It is the same everywhere, so
/// loops hold it in a register.
#[inline(always)]
pub(crate) fn one_single() -> f32 {
    register::unknown_single(1.0)
}

/// One, likewise.
#[inline(always)]
pub(crate) fn one_double() -> f64 {
    register::unknown_double(1.0)
}

/// Numbers of which the compiler knows no more than that they are the same for the same number:
/// they stand in a register of a class, in the text of a comment for the assembler.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
macro_rules! unknown {
    ($class:ident, $comment:literal) => {
        #[inline(always)]
        pub(super) fn unknown_single(mut number: f32) -> f32 {
            // SAFETY: there is no instruction.
            unsafe { asm!($comment, inout($class) number, options(pure, nomem, nostack, preserves_flags)) };
            number
        }

        #[inline(always)]
        pub(super) fn unknown_double(mut number: f64) -> f64 {
            // SAFETY: there is no instruction.
            unsafe { asm!($comment, inout($class) number, options(pure, nomem, nostack, preserves_flags)) };
            number
        }
    };
}

/// MXCSR.
#[cfg(target_arch = "x86_64")]
mod register {
    use std::arch::asm;

    unknown! { xmm_reg, "/* {0} */" }

    pub(super) type Word = u32;
    /// Round to nearest, no exception traps.
    pub(super) const PLAIN: Word = 0x1f80;
    /// Subnormal results and operands are zeros.
    pub(super) const FLUSH: Word = 1 << 15 | 1 << 6;
    /// What has happened so far.
    pub(super) const SEEN: Word = 0x3f;

    #[inline]
    pub(super) fn read() -> Word {
        let mut word: Word = 0;
        // SAFETY: the instruction stores four bytes at `word`, and every x86-64 has it.
        unsafe { asm!("stmxcsr [{}]", in(reg) &raw mut word, options(nostack, preserves_flags)) };
        word
    }

    #[inline]
    pub(super) fn write(word: Word) {
        // SAFETY: the instruction reads four bytes of `word`, which has no reserved bit set: it
        // is one of the constants above or was read before. All traps stay off.
        unsafe { asm!("ldmxcsr [{}]", in(reg) &raw const word, options(nostack, preserves_flags)) };
    }
}

/// FPCR.
#[cfg(target_arch = "aarch64")]
mod register {
    use std::arch::asm;

    unknown! { vreg, "/* {0:v} */" }

    pub(super) type Word = u64;
    pub(super) const PLAIN: Word = 0;
    /// Subnormal results and operands of 32 and 64 bits are zeros.
    pub(super) const FLUSH: Word = 1 << 24;
    pub(super) const SEEN: Word = 0;

    #[inline]
    pub(super) fn read() -> Word {
        let word: Word;
        // SAFETY: the register can be read by every program.
        unsafe { asm!("mrs {}, fpcr", out(reg) word, options(nomem, nostack, preserves_flags)) };
        word
    }

    #[inline]
    pub(super) fn write(word: Word) {
        // SAFETY: the register can be written by every program; no trap is enabled by the
        // constants above.
        unsafe { asm!("msr fpcr, {}", in(reg) word, options(nostack, preserves_flags)) };
    }
}

/// No register that is known: subnormals are kept.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod register {
    pub(super) type Word = u32;
    pub(super) const PLAIN: Word = 0;
    pub(super) const FLUSH: Word = 1;
    pub(super) const SEEN: Word = Word::MAX;

    pub(super) fn read() -> Word {
        PLAIN
    }

    pub(super) fn write(_: Word) {}

    pub(super) use std::hint::black_box as unknown_single;
    pub(super) use std::hint::black_box as unknown_double;
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::hint::black_box;

    fn halved() -> [f64; 2] {
        let single = black_box(f32::MIN_POSITIVE) * black_box(0.5);
        [f64::from_bits(u64::from(single.to_bits())), black_box(f64::MIN_POSITIVE) * black_box(0.5)]
    }

    #[test]
    fn a_mode_lasts_as_long_as_its_guard_and_modes_nest() {
        let kept = halved();
        assert!(kept.iter().all(|&half| half != 0.0));
        {
            let _flushed = Subnormals::Flushed.enter();
            assert_eq!((Subnormals::here(), halved()), (Subnormals::Flushed, [0.0; 2]));
            {
                let _kept = Subnormals::Kept.enter();
                assert_eq!((Subnormals::here(), halved()), (Subnormals::Kept, kept));
                let _again = Subnormals::Flushed.enter();
                assert_eq!(halved(), [0.0; 2]);
            }
            assert_eq!(halved(), [0.0; 2]);
            // What is too small as an operand is a zero of its sign, too.
            assert_eq!((black_box(-1e-40_f32) * black_box(1e30)).to_bits(), 1 << 31);
        }
        assert_eq!(halved(), kept);
    }
}
