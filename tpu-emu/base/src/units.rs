//! Sizes, addresses and times as types. No bare `u64` of these crosses a module.
use std::fmt;
use std::ops::{Add, AddAssign, Sub, SubAssign};

const _: () = assert!(usize::BITS == 64, "a 64-bit host is required");

/// A number of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Bytes(pub u64);

impl Bytes {
    /// No bytes.
    pub const ZERO: Self = Self(0);

    /// `n` KiB.
    pub const fn kib(n: u64) -> Self {
        Self(n << 10)
    }

    /// `n` MiB.
    pub const fn mib(n: u64) -> Self {
        Self(n << 20)
    }

    /// `n` GiB.
    pub const fn gib(n: u64) -> Self {
        Self(n << 30)
    }

    /// The next multiple of `step`, or `None` past 2^64.
    pub const fn round_up(self, step: Self) -> Option<Self> {
        match self.0.checked_next_multiple_of(step.0) {
            Some(n) => Some(Self(n)),
            None => None,
        }
    }

    /// `self - other`, zero where `other` is larger.
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// `self + other`, or `None` past 2^64.
    pub const fn checked_add(self, other: Self) -> Option<Self> {
        match self.0.checked_add(other.0) {
            Some(n) => Some(Self(n)),
            None => None,
        }
    }
}

impl Add for Bytes {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl Sub for Bytes {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}

impl AddAssign for Bytes {
    fn add_assign(&mut self, other: Self) {
        self.0 += other.0;
    }
}

impl SubAssign for Bytes {
    fn sub_assign(&mut self, other: Self) {
        self.0 -= other.0;
    }
}

impl fmt::Display for Bytes {
    /// Exact, in the largest unit that divides the number: `8 KiB`, `513 B`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [(30, "GiB"), (20, "MiB"), (10, "KiB")];
        let exact =
            units.iter().find(|(shift, _)| self.0 != 0 && self.0.is_multiple_of(1 << shift));
        match exact {
            Some((shift, unit)) => write!(f, "{} {unit}", self.0 >> shift),
            None => write!(f, "{} B", self.0),
        }
    }
}

/// A byte offset from the start of one memory space.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct DevAddr(pub u64);

impl DevAddr {
    /// The address `size` further on.
    pub const fn offset(self, size: Bytes) -> Self {
        Self(self.0 + size.0)
    }
}

impl fmt::Display for DevAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#012x}", self.0)
    }
}

/// Nanoseconds since the machine was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Nanos(pub u64);

/// A 64-bit count as an index; the assertion above makes it lossless.
#[expect(clippy::cast_possible_truncation, reason = "usize has 64 bits, asserted above")]
pub const fn to_usize(n: u64) -> usize {
    n as usize
}

/// An index as a 64-bit count.
pub const fn to_u64(n: usize) -> u64 {
    n as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_is_shown_in_the_largest_exact_unit() {
        let shown = [0, 513, 8 << 10, 3 << 20, 16 << 30].map(|n| Bytes(n).to_string());
        assert_eq!(shown, ["0 B", "513 B", "8 KiB", "3 MiB", "16 GiB"]);
    }

    #[test]
    fn rounding_up_past_the_end_is_none() {
        assert_eq!(Bytes(513).round_up(Bytes(512)), Some(Bytes(1024)));
        assert_eq!(Bytes(u64::MAX).round_up(Bytes(512)), None);
    }
}
