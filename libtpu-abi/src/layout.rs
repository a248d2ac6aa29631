//! `XLA_Layout` as a value of ours, and back.
use crate::abi::{Abi, TILE};
use crate::memory::At;
use tpu_emu::hbm::layout::{Layout, MAX_RANK};
use tpu_emu::tensor::DType;
use tpu_emu::{Error, Result};
use tpu_proto::xla::PrimitiveType;

/// A layout as the interface passes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CLayout {
    /// Axes, the fastest first.
    pub(crate) minor_to_major: Vec<i64>,
    /// Tiles, the outermost first.
    pub(crate) tiles: Vec<Vec<i64>>,
    /// Bits of an element; 0 is what the type has.
    pub(crate) element_bits: i64,
    /// Number of the memory space; 0 is the device's own.
    pub(crate) memory_space: i64,
    /// Bytes in front of the elements that hold dynamic extents.
    pub(crate) prefix_bytes: i64,
}

impl CLayout {
    /// Row-major without tiles.
    pub(crate) fn row_major(rank: usize) -> Self {
        let minor_to_major = (0..rank).rev().map(|axis| i64::try_from(axis).unwrap_or(0)).collect();
        Self {
            minor_to_major,
            tiles: Vec::new(),
            element_bits: 0,
            memory_space: 0,
            prefix_bytes: 0,
        }
    }

    /// The machine's layout in the interface's form.
    pub(crate) fn of(layout: &Layout) -> Self {
        let axis = |&axis: &usize| i64::try_from(axis).unwrap_or(0);
        let tile = |tile: &Vec<u64>| tile.iter().map(|side| side.cast_signed()).collect();
        Self {
            minor_to_major: layout.minor_to_major.iter().map(axis).collect(),
            tiles: layout.tiles.iter().map(tile).collect(),
            element_bits: i64::from(layout.element_bits.unwrap_or(0)),
            memory_space: i64::from(layout.memory_space.unwrap_or(0)),
            prefix_bytes: 0,
        }
    }

    /// The order of the axes.
    ///
    /// # Errors
    /// `BadArgument` for a negative axis.
    pub(crate) fn order(&self) -> Result<Vec<usize>> {
        let axis = |&axis: &i64| {
            usize::try_from(axis).map_err(|_| Error::bad(format!("axis {axis} of a layout")))
        };
        self.minor_to_major.iter().map(axis).collect()
    }

    pub(crate) fn read(abi: &Abi, at: At<'_>) -> Result<Self> {
        let fields = &abi.fields.layout;
        let minor_to_major = at.list(fields.minor_to_major, "minor_to_major")?;
        let (tiles, count) = at.list_place(fields.tiles, TILE, "tiles")?;
        if count > MAX_RANK {
            return Err(Error::bad(format!("{count} tiles in a layout")));
        }
        let tile = |index| tiles.inner(index * TILE).list(0, "dimensions of a tile");
        Ok(Self {
            minor_to_major,
            tiles: (0..count).map(tile).collect::<Result<_>>()?,
            element_bits: fields.element_size_in_bits.map_or(0, |offset| at.read(offset)),
            memory_space: at.read(fields.memory_space),
            prefix_bytes: fields
                .dynamic_shape_metadata_prefix_bytes
                .map_or(0, |offset| at.read(offset)),
        })
    }

    pub(crate) fn write(&self, abi: &Abi, at: At<'_>) {
        let fields = &abi.fields.layout;
        if let Some(format) = fields.format {
            at.write(format, DENSE);
        }
        at.write_list(fields.minor_to_major, &self.minor_to_major);
        // No properties of dimensions: all are dense.
        for offset in [fields.dim_level_types, fields.dim_unique, fields.dim_ordered] {
            offset.inspect(|&offset| at.write_list::<i32>(offset, &[]));
        }
        let tiles = at.list_to_write(fields.tiles, TILE, self.tiles.len());
        for (index, tile) in self.tiles.iter().enumerate() {
            tiles.inner(index * TILE).write_list(0, tile);
        }
        let invalid = PrimitiveType::Invalid as i32;
        for offset in [fields.index_primitive_type, fields.pointer_primitive_type] {
            offset.inspect(|&offset| at.write(offset, invalid));
        }
        let words = [
            (fields.element_size_in_bits, self.element_bits),
            (Some(fields.memory_space), self.memory_space),
            (fields.dynamic_shape_metadata_prefix_bytes, self.prefix_bytes),
            // The client refuses 0.
            (fields.tail_padding_alignment_in_elements, 1),
        ];
        for (offset, value) in words {
            offset.inspect(|&offset| at.write(offset, value));
        }
    }

    /// The machine's form of a layout with tiles.
    ///
    /// # Errors
    /// `BadArgument` for negative axes and sides.
    pub(crate) fn tiled(&self, dtype: DType) -> Result<Layout> {
        let side = |&side: &i64| {
            u64::try_from(side).map_err(|_| Error::bad(format!("a side of {side} in a tile")))
        };
        let tile = |tile: &Vec<i64>| tile.iter().map(side).collect::<Result<Vec<u64>>>();
        Ok(Layout {
            minor_to_major: self.order()?,
            tiles: self.tiles.iter().map(tile).collect::<Result<_>>()?,
            element_bits: self.packed_bits(dtype)?,
            memory_space: None,
        })
    }

    /// Bits of an element that is packed below a byte.
    ///
    /// # Errors
    /// `BadArgument` for bits that are not those of the type, nor a byte.
    fn packed_bits(&self, dtype: DType) -> Result<Option<u32>> {
        let element = dtype.element();
        let own = i64::from(element.bits * element.parts);
        match self.element_bits {
            0 => Ok(None),
            bits if bits == own => Ok((element.bits < 8).then_some(element.bits)),
            8 if own < 8 => Ok(None),
            bits => {
                let name = dtype.name();
                Err(Error::bad(format!("a layout of {bits} bits for {name}, which has {own}")))
            }
        }
    }
}

/// `Format` of `LayoutProto`: dense.
const DENSE: i32 = 1;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shape::Shape;
    use tpu_emu::hbm::layout::TileRules;
    use tpu_emu::hbm::spec::Specs;

    #[test]
    fn bits_of_a_layout_are_those_of_the_type() {
        let specs = Specs::new(TileRules::V4);
        let bytes = |dtype: PrimitiveType, bits| {
            let tiles = vec![vec![8, 128]];
            let layout = CLayout { tiles, element_bits: bits, ..CLayout::row_major(2) };
            let layout = Some(layout);
            let shape = Shape { layout, ..Shape::array(dtype as i32, vec![8, 128]) };
            shape.spec(&specs).map(|spec| spec.padded.0).map_err(|error| error.to_string())
        };
        assert_eq!(bytes(PrimitiveType::S4, 4), Ok(512));
        assert_eq!(bytes(PrimitiveType::S4, 8), Ok(1024));
        assert_eq!(bytes(PrimitiveType::S4, 0), Ok(1024));
        assert_eq!(bytes(PrimitiveType::F64, 64), Ok(8192));
        let refused = "a layout of 1 bits for f32, which has 32";
        assert_eq!(bytes(PrimitiveType::F32, 1), Err(refused.to_owned()));
    }
}
