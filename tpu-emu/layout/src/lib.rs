//! Tiles: the default layout of an array on each generation, and the bytes it takes.
//!
//! This module counts bytes; it does not know where they lie.
mod rules;
mod size;
mod text;

pub use rules::{default_layout, explicit_layout, preferred_order};
pub use size::{padded_bytes, validate};
pub use tpu_topology::TileRules;

/// The most dimensions an array may have.
pub const MAX_RANK: usize = 64;
/// The most tiles a layout may nest.
pub(crate) const MAX_TILES: usize = 4;
/// The most dimensions a tile may have.
pub(crate) const MAX_TILE_RANK: usize = 4;
/// The most elements on a side of a tile.
pub(crate) const MAX_TILE_SIDE: u64 = 1 << 20;

/// The order of an array's dimensions in memory and the tiles they are cut into.
///
/// `Display` writes the text form of XLA, `{1,0:T(8,128)(2,1)}`, and [`Layout::parse`] reads it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Layout {
    /// Dimension numbers, the fastest changing first.
    pub minor_to_major: Vec<usize>,
    /// Nested tiles, the outermost first; each lists its sides major to minor.
    ///
    /// The sides of the first tile are in elements and cover the minor dimensions.
    pub tiles: Vec<Vec<u64>>,
    /// Bits that one element takes, where it is packed below a byte.
    pub element_bits: Option<u32>,
    /// The number of a memory space other than HBM; 5 is pinned host memory.
    pub memory_space: Option<u32>,
}

impl Layout {
    /// The dense layout: row-major, without tiles.
    pub fn row_major(rank: usize) -> Self {
        Self { minor_to_major: (0..rank).rev().collect(), ..Self::default() }
    }
}
