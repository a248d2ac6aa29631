//! How much memory an array takes in the memories of a core.
use crate::ir::{Cell, DYNAMIC, Element, MemorySpace, Memref};

/// Lanes of a vector register.
const LANES: u64 = 128;
/// Sublanes of a vector register.
const SUBLANES: u64 = 8;
/// Bytes of a word of scalar memory, and of a register's element.
const WORD: u64 = 4;

/// How arrays are tiled in vector memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tiling {
    /// By rows of lanes; a tile has at least as many rows as fill so many words: 2 up to TPU v3,
    /// 1 since.
    Rows {
        /// The words.
        least_words: u64,
    },
    /// Not at all: the memories of SparseCores.
    Flat,
}

impl Tiling {
    /// Bytes that an array takes, with padding and without; of semaphores, how many there are.
    ///
    /// Source: the layouts that Mosaic's compiler inferred in jaxlib 0.6, which then was public.
    pub(super) fn sizes(self, memref: &Memref, memory: MemorySpace) -> [u64; 2] {
        let extent = |&dim: &i64| if dim == DYNAMIC { 0 } else { u64::try_from(dim).unwrap_or(0) };
        let dims: Vec<u64> = memref.dims.iter().map(extent).collect();
        let Cell::Element(element) = memref.cell else { return [count(&dims); 2] };
        let bits = bits(element);
        [self.padded(bits, &dims, memory), bytes(count(&dims), bits)]
    }

    /// Bytes that an array of elements of so many bits takes, with padding.
    pub fn padded(self, bits: u64, dims: &[u64], memory: MemorySpace) -> u64 {
        let unpadded = bytes(count(dims), bits);
        let mut padded = dims.to_vec();
        match (self, memory, padded.as_mut_slice()) {
            (_, MemorySpace::Smem, [.., minor]) => *minor = round_up(*minor, LANES),
            (Self::Flat, ..) | (_, MemorySpace::VmemShared, _) | (_, _, []) => {
                return round_up(unpadded, WORD);
            }
            (Self::Rows { least_words }, _, [.., rows, minor]) => {
                *rows = round_up(*rows, tile_rows(*rows, bits, least_words));
                *minor = round_up(*minor, LANES);
            }
            (Self::Rows { least_words }, _, [line]) => {
                let rows = line.div_ceil(LANES);
                *line = round_up(*line, tile_rows(rows, bits, least_words).saturating_mul(LANES));
            }
        }
        bytes(count(&padded), bits)
    }
}

fn count(dims: &[u64]) -> u64 {
    dims.iter().fold(1, |count, dim| count.saturating_mul(*dim))
}

fn bytes(elements: u64, bits: u64) -> u64 {
    let bits = u128::from(elements) * u128::from(bits);
    u64::try_from(bits.div_ceil(8)).unwrap_or(u64::MAX)
}

/// Rows of a tile of an array with so many: as few as it needs, but whole words.
fn tile_rows(rows: u64, bits: u64, least_words: u64) -> u64 {
    let packing = (32 / bits).max(1);
    let mut tile = packing.saturating_mul(least_words);
    while tile < rows.min(SUBLANES.max(packing)) {
        tile = tile.saturating_mul(2);
    }
    tile
}

fn round_up(value: u64, to: u64) -> u64 {
    value.checked_next_multiple_of(to).unwrap_or(u64::MAX)
}

fn bits(element: Element) -> u64 {
    match element {
        Element::S2 | Element::U2 => 2,
        Element::S4 | Element::U4 | Element::F4E2M1FN => 4,
        element => element.bytes().map_or(32, |bytes| bytes as u64 * 8),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(element: Element, dims: &[i64], memory: MemorySpace, least_words: u64) -> [u64; 2] {
        let cell = Cell::Element(element);
        let memref = Memref { cell, dims: dims.to_vec(), layout: None, space: None };
        Tiling::Rows { least_words }.sizes(&memref, memory)
    }

    fn padded(element: Element, dims: &[i64]) -> u64 {
        sizes(element, dims, MemorySpace::Vmem, 1)[0]
    }

    #[test]
    fn arrays_are_rounded_to_tiles() {
        assert_eq!(padded(Element::F32, &[8, 128]), 4096);
        assert_eq!(padded(Element::F32, &[9, 129]), 16 * 256 * 4);
        assert_eq!(padded(Element::F32, &[3, 8, 128]), 3 * 4096);
        assert_eq!(padded(Element::Bf16, &[9, 128]), 16 * 128 * 2);
        assert_eq!(padded(Element::S8, &[33, 100]), 40 * 128);
        assert_eq!(padded(Element::S4, &[7, 128]), 8 * 64);
        assert_eq!(padded(Element::S2, &[1, 128]), 16 * 32);
    }

    #[test]
    fn few_rows_take_a_small_tile() {
        assert_eq!(padded(Element::F32, &[1, 128]), 512);
        assert_eq!(padded(Element::F32, &[3, 128]), 4 * 512);
        assert_eq!(padded(Element::Bf16, &[1, 128]), 512);
        assert_eq!(sizes(Element::F32, &[1, 128], MemorySpace::Vmem, 2)[0], 1024);
    }

    #[test]
    fn lines_are_compact() {
        assert_eq!(padded(Element::F32, &[1]), 512);
        assert_eq!(padded(Element::F32, &[1024]), 4096);
        assert_eq!(padded(Element::F32, &[1025]), 8192);
        assert_eq!(padded(Element::S8, &[10 << 20]), 10 << 20);
    }

    #[test]
    fn empty_and_huge_arrays_have_sizes() {
        assert_eq!(padded(Element::F32, &[0, 128]), 0);
        assert_eq!(padded(Element::F32, &[i64::MAX, i64::MAX]), u64::MAX);
        assert_eq!(sizes(Element::S32, &[160], MemorySpace::Smem, 1), [1024, 640]);
        assert_eq!(sizes(Element::S32, &[], MemorySpace::Smem, 1), [4, 4]);
    }
}
