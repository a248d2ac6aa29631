//! The processors that machine code is written for.
use crate::simd::{Level, level};

/// The instructions that a function may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Target {
    /// AVX-512: 32 registers of 512 bits, and masks in registers of their own.
    #[default]
    Avx512,
    /// AVX2 with F16C and BMI2: 16 registers of 256 bits; masks are vectors.
    Avx2,
}

impl Target {
    /// All of them.
    #[cfg(any(test, feature = "testing"))]
    pub(super) const ALL: [Self; 2] = [Self::Avx512, Self::Avx2];

    /// What this thread's vectors are; `None` for those that no machine code is written for.
    pub(super) fn here() -> Option<Self> {
        match level() {
            Level::Avx512 => Some(Self::Avx512),
            Level::Avx2 => has_halves().then_some(Self::Avx2),
            Level::Portable => None,
        }
    }

    /// What is best on this thread's vectors for lanes of so many bytes at most: of bytes, the
    /// groups of AVX2 are twice those of AVX-512.
    pub(super) fn for_lanes(bytes: usize) -> Option<Self> {
        let found = Self::here()?;
        Some(if bytes == 1 && has_halves() { Self::Avx2 } else { found })
    }

    /// What loops over single elements are written in: short registers are moved faster than those of
    /// 512 bits, and masks are at hand where they are made.
    pub(super) fn for_single_elements() -> Option<Self> {
        Self::here()?;
        has_halves().then_some(Self::Avx2)
    }

    /// Whether one instruction counts the bits of an integer that are set.
    pub(super) fn counts_bits(self) -> bool {
        self == Self::Avx512 && has_counts()
    }

    /// Vector registers.
    pub(super) fn registers(self) -> usize {
        match self {
            Self::Avx512 => 32,
            Self::Avx2 => 16,
        }
    }

    /// Elements that are worked on at once, where none has lanes of more bytes.
    pub(super) fn group(self, lane: usize) -> usize {
        match self {
            Self::Avx512 if lane == 8 => 8,
            Self::Avx512 => 16,
            Self::Avx2 => 32 / lane,
        }
    }
}

/// Whether the processor counts bits in vectors, which its level does not say.
fn has_counts() -> bool {
    #[cfg(target_arch = "x86_64")]
    let has = std::arch::is_x86_feature_detected!("avx512vpopcntdq");
    #[cfg(not(target_arch = "x86_64"))]
    let has = false;
    has
}

/// Whether the processor converts floats of 16 bits, which its level does not say.
fn has_halves() -> bool {
    #[cfg(target_arch = "x86_64")]
    let has = std::arch::is_x86_feature_detected!("f16c");
    #[cfg(not(target_arch = "x86_64"))]
    let has = false;
    has
}
