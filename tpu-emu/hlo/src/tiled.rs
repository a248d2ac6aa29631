//! Arrays of a compiled program as they lie in a device's memory.
use std::fmt::Write as _;
use tpu_proto::xla::{LayoutProto, PrimitiveType, ShapeProto};

/// An array in tiles.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tiled {
    /// The type of its elements, as `f32`.
    pub dtype: String,
    /// Extents, major first.
    pub dims: Vec<u64>,
    /// As XLA writes it: `{1,0:T(8,128)}`.
    pub layout: String,
    /// Bytes of its elements, packed.
    pub logical: u64,
    /// Bytes that it takes in its tiles.
    pub bytes: u64,
}

/// An array as it lies in the device's memory; `None` for what is no array, or lies in another
/// memory.
pub(crate) fn tiled(shape: &ShapeProto) -> Option<Tiled> {
    let none = LayoutProto::default();
    let layout = shape.layout.as_ref().unwrap_or(&none);
    let bits = bits(shape.element_type(), layout)?;
    if layout.memory_space != 0 {
        return None;
    }
    let dims: Vec<u64> =
        shape.dimensions.iter().map(|&dim| u64::try_from(dim).unwrap_or(0)).collect();
    let elements = dims.iter().fold(1_u64, |all, &dim| all.saturating_mul(dim));
    let padded = padded(&dims, layout);
    Some(Tiled {
        dtype: shape.element_type().as_str_name().to_ascii_lowercase(),
        layout: text(layout),
        logical: elements.saturating_mul(bits).div_ceil(8),
        bytes: padded.saturating_mul(bits).div_ceil(8),
        dims,
    })
}

/// Elements with those that fill the tiles.
fn padded(dims: &[u64], layout: &LayoutProto) -> u64 {
    // Minor first, as the tiles' sides are counted.
    let mut sides: Vec<u64> = layout
        .minor_to_major
        .iter()
        .map(|&axis| {
            usize::try_from(axis).ok().and_then(|axis| dims.get(axis)).copied().unwrap_or(1)
        })
        .collect();
    if sides.len() != dims.len() {
        sides = dims.iter().rev().copied().collect();
    }
    if let Some(tile) = layout.tiles.first() {
        let tile: Vec<u64> = tile
            .dimensions
            .iter()
            .rev()
            .map(|&side| u64::try_from(side).unwrap_or(1).max(1))
            .collect();
        sides.resize(sides.len().max(tile.len()), 1);
        for (side, of) in sides.iter_mut().zip(tile) {
            *side = side.div_ceil(of).saturating_mul(of);
        }
    }
    sides.iter().fold(1_u64, |all, &side| all.saturating_mul(side))
}

/// Bits of an element in memory; `None` for what has none.
fn bits(of: PrimitiveType, layout: &LayoutProto) -> Option<u64> {
    let packed = u64::try_from(layout.element_size_in_bits).ok().filter(|bits| *bits > 0);
    let whole = match of {
        PrimitiveType::Tuple | PrimitiveType::OpaqueType | PrimitiveType::Token => return None,
        PrimitiveType::Invalid | PrimitiveType::Buffer => return None,
        PrimitiveType::S16 | PrimitiveType::U16 | PrimitiveType::F16 | PrimitiveType::Bf16 => 16,
        PrimitiveType::S32 | PrimitiveType::U32 | PrimitiveType::F32 => 32,
        PrimitiveType::S64 | PrimitiveType::U64 | PrimitiveType::F64 | PrimitiveType::C64 => 64,
        PrimitiveType::C128 => 128,
        _ => 8,
    };
    Some(packed.unwrap_or(whole))
}

/// A layout as XLA writes it.
fn text(layout: &LayoutProto) -> String {
    let numbers = |of: &[i64]| of.iter().map(i64::to_string).collect::<Vec<_>>().join(",");
    let mut text = format!("{{{}", numbers(&layout.minor_to_major));
    for (number, tile) in layout.tiles.iter().enumerate() {
        let begin = if number == 0 { ":T" } else { "" };
        let _ = write!(text, "{begin}({})", numbers(&tile.dimensions));
    }
    text + "}"
}

#[cfg(test)]
mod tests {
    use super::*;
    use tpu_proto::xla::TileProto;

    fn array(dims: &[i64], tiles: &[&[i64]], of: PrimitiveType) -> ShapeProto {
        let mut minor_to_major: Vec<i64> = (0..).take(dims.len()).collect();
        minor_to_major.reverse();
        let tiles = tiles.iter().map(|sides| TileProto { dimensions: sides.to_vec() }).collect();
        let layout = LayoutProto { minor_to_major, tiles, ..<_>::default() };
        let (dimensions, layout) = (dims.to_vec(), Some(layout));
        ShapeProto { element_type: of.into(), dimensions, layout, ..<_>::default() }
    }

    #[test]
    fn the_two_minor_extents_fill_their_tiles() {
        let narrow = tiled(&array(&[3, 4_000_000, 2], &[&[8, 128]], PrimitiveType::F32)).unwrap();
        assert_eq!((narrow.logical, narrow.bytes), (96_000_000, 3 * 4_000_000 * 128 * 4));
        assert_eq!(narrow.layout, "{2,1,0:T(8,128)}");
        let half = tiled(&array(&[5, 100], &[&[8, 128], &[2, 1]], PrimitiveType::Bf16)).unwrap();
        assert_eq!((half.bytes, &*half.layout), (8 * 128 * 2, "{1,0:T(8,128)(2,1)}"));
        let scalar = tiled(&array(&[], &[&[128]], PrimitiveType::S32)).unwrap();
        assert_eq!((scalar.logical, scalar.bytes), (4, 512));
        let empty = tiled(&array(&[0, 7], &[&[8, 128]], PrimitiveType::F32)).unwrap();
        assert_eq!((empty.logical, empty.bytes), (0, 0));
        let plain = tiled(&array(&[3, 5], &[], PrimitiveType::Pred)).unwrap();
        assert_eq!((plain.logical, plain.bytes), (15, 15));
    }

    #[test]
    fn what_lies_elsewhere_and_what_is_no_array_is_nothing() {
        let mut fast = array(&[8, 128], &[&[8, 128]], PrimitiveType::F32);
        fast.layout.as_mut().unwrap().memory_space = 1;
        assert_eq!(tiled(&fast), None);
        assert_eq!(tiled(&array(&[], &[], PrimitiveType::Token)), None);
    }

    #[test]
    fn packed_elements_have_the_bits_that_the_layout_says() {
        let mut nibbles = array(&[64, 128], &[&[64, 128]], PrimitiveType::S4);
        nibbles.layout.as_mut().unwrap().element_size_in_bits = 4;
        assert_eq!(tiled(&nibbles).unwrap().bytes, 64 * 128 / 2);
    }
}
