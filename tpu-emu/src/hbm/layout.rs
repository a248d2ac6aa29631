//! Tiles: the default layout of an array on each generation, and the bytes it takes.

/// How wide an element is on the device: `parts` values of `bits` bits.
///
/// Types wider than 32 bits are laid out as arrays of 32-bit parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Element {
    /// Bits of one part: 1, 2, 4, 8, 16 or 32.
    pub bits: u32,
    /// Parts of one element: 1, 2 or 4; 0 for a token.
    pub parts: u32,
}
