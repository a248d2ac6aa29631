//! Bytes of an array in a given layout.
use super::{Layout, MAX_RANK, MAX_TILE_RANK, MAX_TILE_SIDE, MAX_TILES};
use tpu_base::error::{Error, Result};
use tpu_base::tensor::dtype::DeviceElement;
use tpu_base::units::{Bytes, to_u64};

/// Bytes of an array in `layout`, padding included.
///
/// Shapes: `layout` fits `dims`. Without `E(bits)` an element below a byte takes a byte.
/// Errors: `BadArgument` for a layout that [`validate`] refuses, or 2^63 bytes or more.
/// Source: sizes of arguments compiled by libtpu 0.0.51; tiles as in XLA's "Tiled layout" page.
pub fn padded_bytes(element: DeviceElement, dims: &[u64], layout: &Layout) -> Result<Bytes> {
    validate(layout, dims)?;
    let bits = match layout.element_bits {
        Some(bits) => u64::from(bits),
        None => u64::from(element.bits.max(8)),
    };
    if checked_elements(dims)? == 0 || element.parts == 0 {
        return Ok(Bytes::ZERO);
    }
    let elements = padded_elements(dims, layout).ok_or_else(|| too_large(dims))?;
    to_bytes(dims, elements, bits, element.parts)
}

/// Whether `layout` is one an array of `dims` can have.
///
/// Errors: `BadArgument`, saying which of these does not hold: the order is a permutation; the
/// tiles are few, small and not empty; an inner tile does not reach past the outer ones; element
/// bits are a power of two up to 32.
pub fn validate(layout: &Layout, dims: &[u64]) -> Result<()> {
    validate_order(&layout.minor_to_major, dims.len())?;
    validate_tiles(&layout.tiles)?;
    match layout.element_bits {
        Some(bits) if !matches!(bits, 1 | 2 | 4 | 8 | 16 | 32) => {
            Err(Error::bad(format!("layout has elements of {bits} bits: {layout}")))
        }
        _ => Ok(()),
    }
}

fn validate_tiles(tiles: &[Vec<u64>]) -> Result<()> {
    if tiles.len() > MAX_TILES {
        let message = format!("layout nests {} tiles, the limit is {MAX_TILES}", tiles.len());
        return Err(Error::bad(message));
    }
    let mut reach = MAX_TILE_RANK;
    for (depth, tile) in tiles.iter().enumerate() {
        if tile.is_empty() || tile.len() > reach {
            let count = tile.len();
            let message = format!("tile {depth} has {count} dimensions, not between 1 and {reach}");
            return Err(Error::bad(message));
        }
        if let Some(side) = tile.iter().find(|side| !(1..=MAX_TILE_SIDE).contains(side)) {
            let message = format!("a side of tile {depth} is {side}, not 1 to {MAX_TILE_SIDE}");
            return Err(Error::bad(message));
        }
        reach = match depth {
            0 => 2 * tile.len(),
            _ => reach + tile.len(),
        }
        .min(MAX_TILE_RANK);
    }
    Ok(())
}

/// Errors: `BadArgument` for an order that is no permutation of `0..rank`.
pub(super) fn validate_order(minor_to_major: &[usize], rank: usize) -> Result<()> {
    check_rank(rank)?;
    if minor_to_major.len() != rank {
        let given = minor_to_major.len();
        let message = format!("layout orders {given} dimensions of an array that has {rank}");
        return Err(Error::bad(message));
    }
    let mut seen = 0_u64;
    for &dim in minor_to_major {
        if dim >= rank || seen & (1 << dim) != 0 {
            let message = format!("layout order {minor_to_major:?} is no permutation of 0..{rank}");
            return Err(Error::bad(message));
        }
        seen |= 1 << dim;
    }
    Ok(())
}

/// Errors: `BadArgument` past [`MAX_RANK`].
fn check_rank(rank: usize) -> Result<()> {
    if rank > MAX_RANK {
        let message = format!("an array of {rank} dimensions is past the limit of {MAX_RANK}");
        return Err(Error::bad(message));
    }
    Ok(())
}

/// Elements of the array without padding; 0 if any dimension is 0.
///
/// Errors: `BadArgument` from 2^63 elements on, or for too many dimensions.
pub(super) fn checked_elements(dims: &[u64]) -> Result<u64> {
    check_rank(dims.len())?;
    if dims.contains(&0) {
        return Ok(0);
    }
    let product = dims.iter().try_fold(1_u64, |product, &dim| product.checked_mul(dim));
    match product {
        Some(elements) if elements >> 63 == 0 => Ok(elements),
        _ => Err(too_large(dims)),
    }
}

/// `None` past 2^128.
fn padded_elements(dims: &[u64], layout: &Layout) -> Option<u128> {
    let covered = layout.tiles.first().map_or(0, Vec::len);
    // The dimensions in reach of the tiles, minor first; absent ones count as 1.
    let mut block = [1_u128; MAX_TILE_RANK * (MAX_TILES + 1)];
    let mut filled = covered;
    let mut major = 1_u128;
    for (position, &dim) in layout.minor_to_major.iter().enumerate() {
        let size = u128::from(dims[dim]);
        if position < covered {
            block[position] = size;
        } else {
            major = major.checked_mul(size)?;
        }
    }
    for tile in &layout.tiles {
        let sides = tile.len();
        block.copy_within(0..filled, sides);
        filled += sides;
        for (position, &side) in tile.iter().rev().enumerate() {
            block[position] = u128::from(side);
            block[position + sides] = block[position + sides].div_ceil(u128::from(side));
        }
    }
    block[..filled].iter().try_fold(major, |product, &size| product.checked_mul(size))
}

fn to_bytes(dims: &[u64], elements: u128, bits: u64, parts: u32) -> Result<Bytes> {
    let bytes = elements
        .checked_mul(u128::from(bits * u64::from(parts)))
        .map(|bits| bits.div_ceil(8))
        .filter(|&bytes| bytes >> 63 == 0);
    match bytes.map(u64::try_from) {
        Some(Ok(bytes)) => Ok(Bytes(bytes)),
        _ => Err(too_large(dims)),
    }
}

fn too_large(dims: &[u64]) -> Error {
    let rank = to_u64(dims.len());
    Error::bad(format!("an array of {rank} dimensions {dims:?} takes 2^63 bytes or more"))
}

#[cfg(test)]
mod tests {
    use super::super::{TileRules, default_layout, explicit_layout};
    use super::*;

    const C128: DeviceElement = DeviceElement { bits: 32, parts: 4 };
    const F32: DeviceElement = DeviceElement { bits: 32, parts: 1 };

    fn elements() -> impl Iterator<Item = DeviceElement> {
        let bits = [1, 2, 4, 8, 16, 32].map(|bits| DeviceElement { bits, parts: 1 });
        bits.into_iter().chain([0, 2, 4].map(|parts| DeviceElement { bits: 32, parts }))
    }

    /// Numbers that look random and are the same in every run.
    fn shapes(count: usize) -> Vec<Vec<u64>> {
        let mut state = 0x9E37_79B9_7F4A_7C15_u64;
        let mut next = move |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % below
        };
        let interesting = [0, 1, 2, 3, 7, 8, 9, 16, 127, 128, 129, 256, 1024, 1025];
        (0..count)
            .map(|_| {
                (0..next(6)).map(|_| interesting[tpu_base::units::to_usize(next(14))]).collect()
            })
            .collect()
    }

    #[test]
    fn an_array_takes_no_less_than_its_elements() {
        for rules in [TileRules::V2, TileRules::V4Lite, TileRules::V4] {
            for dims in shapes(300) {
                for element in elements() {
                    let layout = default_layout(rules, element, &dims).unwrap();
                    let bytes = padded_bytes(element, &dims, &layout).unwrap();
                    let bits = dims.iter().product::<u64>() * u64::from(element.bits);
                    let dense = (bits * u64::from(element.parts)).div_ceil(8);
                    assert!(bytes.0 >= dense, "{element:?} {dims:?} {layout}: {bytes} < {dense}");
                    assert_eq!(Layout::parse(&layout.to_string()), Ok(layout));
                }
            }
        }
    }

    #[test]
    fn no_order_takes_less_than_the_default_one() {
        let element = F32;
        for dims in [[3, 5, 7], [8, 1, 129], [128, 64, 2], [1, 1, 1]] {
            let layout = default_layout(TileRules::V4, element, &dims).unwrap();
            let least = padded_bytes(element, &dims, &layout).unwrap();
            for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
                let layout = explicit_layout(TileRules::V4, element, &dims, &order).unwrap();
                assert!(padded_bytes(element, &dims, &layout).unwrap() >= least);
            }
        }
    }

    #[test]
    fn a_tile_asked_for_by_the_caller_pads_to_that_tile() {
        let element = F32;
        let asked = |text: &str, dims: &[u64]| {
            padded_bytes(element, dims, &Layout::parse(text).unwrap()).unwrap().0
        };
        assert_eq!(asked("{1,0:T(8,128)}", &[8, 1]), 4096);
        assert_eq!(asked("{0:T(8,128)}", &[129]), 8 * 256 * 4);
        assert_eq!(asked("{1,0}", &[130, 257]), 130 * 257 * 4);
        assert_eq!(asked("{0:T(256)(100)}", &[1]), 300 * 4);
    }

    #[test]
    fn layouts_of_other_arrays_and_senseless_tiles_are_refused() {
        let refused = |text: &str, dims: &[u64]| {
            validate(&Layout::parse(text).unwrap(), dims).unwrap_err().to_string()
        };
        assert_eq!(refused("{1,0}", &[2]), "layout orders 2 dimensions of an array that has 1");
        assert_eq!(refused("{2,0}", &[2, 2]), "layout order [2, 0] is no permutation of 0..2");
        assert_eq!(refused("{1,0:T(0,128)}", &[2, 2]), "a side of tile 0 is 0, not 1 to 1048576");
        assert_eq!(
            refused("{0:T(128)(4,2,1)}", &[2]),
            "tile 1 has 3 dimensions, not between 1 and 2"
        );
        assert_eq!(refused("{0:E(3)}", &[2]), "layout has elements of 3 bits: {0:E(3)}");
    }

    #[test]
    fn padding_past_the_end_of_the_address_space_is_an_error() {
        let element = C128;
        let layout = Layout::parse("{1,0:T(8,128)}").unwrap();
        let error = padded_bytes(element, &[1 << 55, 1], &layout).unwrap_err();
        assert_eq!(
            error.to_string(),
            "an array of 2 dimensions [36028797018963968, 1] takes 2^63 bytes or more"
        );
    }
}
