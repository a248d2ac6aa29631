//! Which axes are tiled and how, for each generation.
use super::size::{checked_elements, validate_order};
use super::{Layout, TileRules};
use std::cmp::Reverse;
use tpu_base::error::{Error, Result};
use tpu_base::tensor::dtype::DeviceElement;

/// Lanes of a vector register, the minor side of every tile of two dimensions.
///
/// Source: the layouts that libtpu 0.0.51 compiles for.
pub(super) const LANES: u64 = 128;
/// Sublanes of a vector register.
///
/// Source: as for [`LANES`].
const SUBLANES: u64 = 8;
/// Elements of the largest tile of one dimension, where packing does not ask for more.
///
/// Source: as for [`LANES`].
const LARGEST_LINE: u64 = LANES * SUBLANES;

/// How one element type is packed on one generation; what the rules below need to know of both.
#[derive(Debug, Clone, Copy)]
pub(super) struct Packing {
    /// Elements of one part that share a 32-bit word when packed as tightly as the type allows.
    tightest: u64,
    /// Elements of one part that share a 32-bit word in fact.
    packed: u64,
    /// Rows of the smallest tile, in 32-bit words.
    least_words: u64,
    /// Whether a tile may have eight words of rows.
    large_tiles: bool,
    /// `E(bits)` of the layout text.
    element_bits: Option<u32>,
}

impl Packing {
    /// Errors: `BadArgument` for an element that no generation has.
    pub(super) fn new(rules: TileRules, element: DeviceElement) -> Result<Self> {
        let DeviceElement { bits, parts } = element;
        if !matches!(bits, 1 | 2 | 4 | 8 | 16 | 32) || !matches!(parts, 0 | 1 | 2 | 4) {
            return Err(Error::bad(format!("no element has {parts} parts of {bits} bits")));
        }
        let tightest = u64::from(32 / bits);
        Ok(match rules {
            TileRules::V2 => Self {
                tightest,
                // Nothing is packed below a byte.
                packed: tightest.min(4),
                least_words: 2,
                large_tiles: false,
                element_bits: None,
            },
            TileRules::V4 | TileRules::V4Lite => Self {
                tightest,
                packed: tightest,
                least_words: 1,
                large_tiles: rules == TileRules::V4,
                element_bits: (bits < 8).then_some(bits),
            },
        })
    }

    /// Elements of the tile of a scalar.
    pub(super) fn scalar_tile(self) -> u64 {
        LANES * self.packed * self.least_words
    }

    /// Elements of the tile of a vector of `n` elements.
    pub(super) fn line_tile(self, n: u64) -> u64 {
        let largest = LARGEST_LINE.max(LANES * self.tightest);
        self.scalar_tile().max(largest.min(pow2_at_least(n)))
    }

    /// Rows that count when the axes are chosen, for a second-minor dimension of `n`.
    fn chosen_rows(self, n: u64) -> u64 {
        SUBLANES.min((self.packed * self.least_words).max(pow2_at_least(n)))
    }

    /// Rows of the tile in the end.
    pub(super) fn rows(self, n: u64) -> u64 {
        let eight_words = SUBLANES * self.packed;
        if self.large_tiles && self.packed >= 4 && n.is_multiple_of(eight_words) {
            return eight_words;
        }
        self.chosen_rows(n).max(self.least_packed_rows())
    }

    /// Types of 1 and 2 bits take no fewer rows than fill a word, packed or not.
    fn least_packed_rows(self) -> u64 {
        if self.tightest > SUBLANES { self.tightest } else { 1 }
    }
}

/// What is looked at where two pairs of axes need the same padding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ties {
    /// The most minor pair.
    MostMinor,
    /// The pair with the largest, and so the fewest, tiles; then the most minor one.
    FewestTiles,
}

/// The minor and second-minor dimension of an array of at least two dimensions, none of them 0.
///
/// The pair with the least padding wins; of equals, what `ties` says. Types of 1 and 2 bits
/// prefer, among equals, a pair that fills its tiles.
fn choose_axes(packing: Packing, dims: &[u64], elements: u64, ties: Ties) -> (usize, usize) {
    let mut best = (0, 0);
    let mut least = (u128::MAX, true, Reverse(0));
    for minor in (0..dims.len()).rev() {
        let lanes = round_up(dims[minor], LANES);
        for second in (0..dims.len()).rev().filter(|&second| second != minor) {
            let tile = packing.chosen_rows(dims[second]);
            let rows = round_up(dims[second], tile);
            let others = elements / (dims[minor] * dims[second]);
            let whole = packing.least_packed_rows();
            let ragged = whole > 1
                && !(dims[minor].is_multiple_of(LANES) && dims[second].is_multiple_of(whole));
            let tile = if ties == Ties::FewestTiles { tile } else { 0 };
            let cost = (lanes * rows * u128::from(others), ragged, Reverse(tile));
            if cost < least {
                least = cost;
                best = (minor, second);
            }
        }
    }
    best
}

/// The layout an array gets when nobody asks for one.
///
/// Shapes: `dims` of any rank up to [`crate::MAX_RANK`]. An array without elements, and a token, have
/// no tiles. Small arrays may come out transposed, because that takes fewer tiles.
/// Errors: `BadArgument` for 2^63 elements or more, an unknown element, or too many dimensions.
/// Source: layouts compiled by libtpu 0.0.51 for seven kinds of TPU; the rule was compared with
/// 3721 pairs of type and shape, and with 40 of 1-bit types that the library only describes.
/// Inferred: the tiles of 1-bit arrays of 256 rows or more, and V4Lite, which was only described.
pub fn default_layout(rules: TileRules, element: DeviceElement, dims: &[u64]) -> Result<Layout> {
    let packing = Packing::new(rules, element)?;
    let elements = checked_elements(dims)?;
    if elements == 0 || element.parts == 0 {
        let element_bits = packing.element_bits;
        return Ok(Layout { element_bits, ..Layout::row_major(dims.len()) });
    }
    Ok(tiled(packing, dims, chosen_order(packing, dims, elements, Ties::MostMinor)))
}

/// The order of dimensions, the fastest changing first, that the compiler gives an array of
/// elements' operations where it is free to choose: a parameter that JAX calls `Layout.AUTO`.
///
/// Shapes, errors: as [`default_layout`], whose order it is where no other needs fewer tiles.
/// Source: the layouts of `x * 2` and `x.T` with free parameters and results, of 120 pairs of type
/// and shape, compiled by libtpu 0.0.51 for v5e.
pub fn preferred_order(
    rules: TileRules,
    element: DeviceElement,
    dims: &[u64],
) -> Result<Vec<usize>> {
    let packing = Packing::new(rules, element)?;
    let elements = checked_elements(dims)?;
    if elements == 0 || element.parts == 0 {
        return Ok((0..dims.len()).rev().collect());
    }
    Ok(chosen_order(packing, dims, elements, Ties::FewestTiles))
}

fn chosen_order(packing: Packing, dims: &[u64], elements: u64, ties: Ties) -> Vec<usize> {
    if dims.len() < 2 {
        return (0..dims.len()).collect();
    }
    let (minor, second) = choose_axes(packing, dims, elements, ties);
    let others = (0..dims.len()).rev().filter(|&axis| axis != minor && axis != second);
    [minor, second].into_iter().chain(others).collect()
}

/// The layout of an array whose caller asks for an order of dimensions and leaves the tiles open.
///
/// Shapes: `minor_to_major` is a permutation of `0..dims.len()`.
/// Errors: as [`default_layout`], and `BadArgument` for an order that is no permutation.
/// Source: 25 programs with explicit layouts compiled by libtpu 0.0.51 for five kinds of TPU.
pub fn explicit_layout(
    rules: TileRules,
    element: DeviceElement,
    dims: &[u64],
    minor_to_major: &[usize],
) -> Result<Layout> {
    let packing = Packing::new(rules, element)?;
    validate_order(minor_to_major, dims.len())?;
    let elements = checked_elements(dims)?;
    let minor_to_major = minor_to_major.to_vec();
    if elements == 0 || element.parts == 0 {
        let element_bits = packing.element_bits;
        return Ok(Layout { minor_to_major, element_bits, ..Layout::default() });
    }
    Ok(tiled(packing, dims, minor_to_major))
}

fn tiled(packing: Packing, dims: &[u64], minor_to_major: Vec<usize>) -> Layout {
    let mut tiles = Vec::with_capacity(3);
    match *minor_to_major {
        [] => tiles.push(vec![packing.scalar_tile()]),
        [line] => {
            tiles.push(vec![packing.line_tile(dims[line])]);
            if packing.packed > 1 {
                tiles.push(vec![LANES]);
            }
        }
        [_, second, ..] => tiles.push(vec![packing.rows(dims[second]), LANES]),
    }
    if packing.packed > 1 && !minor_to_major.is_empty() {
        tiles.push(vec![packing.packed, 1]);
    }
    Layout { minor_to_major, tiles, element_bits: packing.element_bits, memory_space: None }
}

/// The next multiple of `step`; wider than its input because padding may pass 2^64.
pub(super) fn round_up(n: u64, step: u64) -> u128 {
    u128::from(n).next_multiple_of(u128::from(step))
}

fn pow2_at_least(n: u64) -> u64 {
    n.checked_next_power_of_two().unwrap_or(1 << 63)
}

#[cfg(test)]
mod tests {
    use super::super::MAX_RANK;
    use super::super::padded_bytes;
    use super::*;

    const BF16: DeviceElement = DeviceElement { bits: 16, parts: 1 };
    const C128: DeviceElement = DeviceElement { bits: 32, parts: 4 };
    const F32: DeviceElement = DeviceElement { bits: 32, parts: 1 };
    const PRED: DeviceElement = DeviceElement { bits: 8, parts: 1 };
    const S1: DeviceElement = DeviceElement { bits: 1, parts: 1 };
    const S4: DeviceElement = DeviceElement { bits: 4, parts: 1 };
    const S64: DeviceElement = DeviceElement { bits: 32, parts: 2 };
    const S8: DeviceElement = DeviceElement { bits: 8, parts: 1 };
    const TOKEN: DeviceElement = DeviceElement { bits: 8, parts: 0 };
    const U1: DeviceElement = DeviceElement { bits: 1, parts: 1 };

    /// Element, dimensions, layout text and bytes.
    type Row = (DeviceElement, &'static [u64], &'static str, u64);

    fn check(rules: TileRules, element: DeviceElement, dims: &[u64], text: &str, bytes: u64) {
        let layout = default_layout(rules, element, dims).unwrap();
        let size = padded_bytes(element, dims, &layout).unwrap();
        assert_eq!((layout.to_string().as_str(), size.0), (text, bytes), "{element:?} {dims:?}");
    }

    #[test]
    fn default_layouts_of_v4_and_later_are_those_of_the_real_compiler() {
        let rows: &[Row] = &[
            (F32, &[], "{:T(128)}", 512),
            (S4, &[], "{:T(1024)E(4)}", 512),
            (C128, &[], "{:T(128)}", 2048),
            (F32, &[7], "{0:T(128)}", 512),
            (F32, &[300], "{0:T(512)}", 2048),
            (F32, &[1025], "{0:T(1024)}", 8192),
            (BF16, &[3], "{0:T(256)(128)(2,1)}", 512),
            (PRED, &[5], "{0:T(512)(128)(4,1)}", 512),
            (S64, &[3], "{0:T(128)}", 1024),
            (F32, &[8, 1], "{0,1:T(1,128)}", 512),
            (F32, &[128, 64], "{0,1:T(8,128)}", 32768),
            (F32, &[3, 5, 7], "{2,0,1:T(4,128)}", 10240),
            (F32, &[130, 257], "{1,0:T(8,128)}", 208_896),
            (BF16, &[130, 257], "{1,0:T(8,128)(2,1)}", 104_448),
            (S8, &[130, 257], "{1,0:T(8,128)(4,1)}", 52224),
            (S8, &[32, 128], "{1,0:T(32,128)(4,1)}", 4096),
            (S4, &[130, 257], "{1,0:T(8,128)(8,1)E(4)}", 26112),
            (S4, &[512, 512], "{1,0:T(64,128)(8,1)E(4)}", 131_072),
            (U1, &[1025, 1], "{0,1:T(32,128)(32,1)E(1)}", 4608),
            (S1, &[1025], "{0:T(4096)(128)(32,1)E(1)}", 512),
            (F32, &[1, 3, 224, 224], "{3,2,1,0:T(8,128)}", 688_128),
            (F32, &[4, 0, 2], "{2,1,0}", 0),
            (S4, &[5, 0], "{1,0:E(4)}", 0),
            (TOKEN, &[], "{}", 0),
        ];
        for &(element, dims, text, bytes) in rows {
            check(TileRules::V4, element, dims, text, bytes);
        }
    }

    #[test]
    fn v2_pads_to_two_words_of_rows_and_packs_nothing_below_a_byte() {
        let rows: &[Row] = &[
            (F32, &[], "{:T(256)}", 1024),
            (F32, &[8, 1], "{0,1:T(2,128)}", 1024),
            (S8, &[130], "{0:T(1024)(128)(4,1)}", 1024),
            (S8, &[32, 128], "{1,0:T(8,128)(4,1)}", 4096),
            (S1, &[1025], "{0:T(2048)(128)(4,1)}", 2048),
            (S1, &[9, 129], "{1,0:T(32,128)(4,1)}", 8192),
        ];
        for &(element, dims, text, bytes) in rows {
            check(TileRules::V2, element, dims, text, bytes);
        }
    }

    #[test]
    fn a_free_order_has_the_fewest_tiles() {
        let rows: &[(DeviceElement, &[u64], &[usize])] = &[
            (F32, &[], &[]),
            (F32, &[5], &[0]),
            (F32, &[256, 4, 2], &[0, 1, 2]),
            (F32, &[4, 4, 2], &[1, 0, 2]),
            (F32, &[2, 2, 2], &[2, 1, 0]),
            (F32, &[128, 256, 4], &[1, 0, 2]),
            (F32, &[8, 100, 100, 2], &[2, 0, 3, 1]),
            (F32, &[256, 130, 8], &[0, 2, 1]),
            (F32, &[7, 1, 16], &[2, 1, 0]),
            (BF16, &[7, 1, 16], &[2, 0, 1]),
            (S8, &[256, 16, 4], &[0, 1, 2]),
            (S8, &[4, 0], &[1, 0]),
        ];
        for &(element, dims, order) in rows {
            let found = preferred_order(TileRules::V4, element, dims).unwrap();
            assert_eq!(found, order, "{element:?} {dims:?}");
        }
    }

    #[test]
    fn v4_lite_has_no_large_tiles() {
        check(TileRules::V4Lite, S8, &[32, 128], "{1,0:T(8,128)(4,1)}", 4096);
    }

    #[test]
    fn an_order_without_tiles_gets_the_tiles_of_its_second_minor_dimension() {
        let rows: [(Row, &[usize]); 3] = [
            ((F32, &[130, 257], "{0,1:T(8,128)}", 270_336), &[0, 1]),
            ((F32, &[3, 5, 7], "{2,1,0:T(8,128)}", 12288), &[2, 1, 0]),
            ((BF16, &[3, 5, 7], "{0,1,2:T(8,128)(2,1)}", 14336), &[0, 1, 2]),
        ];
        for ((element, dims, text, bytes), order) in rows {
            let layout = explicit_layout(TileRules::V4, element, dims, order).unwrap();
            let size = padded_bytes(element, dims, &layout).unwrap();
            assert_eq!((layout.to_string().as_str(), size.0), (text, bytes));
        }
        assert!(explicit_layout(TileRules::V4, F32, &[3, 5], &[1, 1]).is_err());
        assert!(explicit_layout(TileRules::V4, F32, &[3, 5], &[1]).is_err());
    }

    #[test]
    fn sizes_that_no_memory_has_are_errors() {
        assert!(default_layout(TileRules::V4, F32, &[1 << 32, 1 << 31]).is_err());
        assert!(default_layout(TileRules::V4, F32, &[u64::MAX]).is_err());
        assert!(default_layout(TileRules::V4, F32, &[1; MAX_RANK + 1]).is_err());
        let odd = DeviceElement { bits: 24, parts: 1 };
        assert!(default_layout(TileRules::V4, odd, &[1]).is_err());
    }
}
