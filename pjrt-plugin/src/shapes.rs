//! Descriptions of arrays as messages of XLA.
use crate::dtype;
use tpu_emu::hbm::layout::Layout;
use tpu_emu::hbm::spec::ArraySpec;
use tpu_emu::tensor::DType;
use tpu_emu::{Error, Result};
use tpu_proto::xla::{LayoutProto, ShapeProto, TileProto};

/// The shape and layout of an array in the memory with this number: 0 is the device's own.
///
/// # Errors
/// `Unimplemented` for a type that XLA's messages do not know.
pub(crate) fn shape_of(spec: &ArraySpec, memory_space: i64) -> Result<ShapeProto> {
    let layout = match spec.dtype {
        DType::Token => None,
        _ => Some(layout_of(&spec.layout, memory_space)?),
    };
    Ok(ShapeProto {
        element_type: dtype::to_proto(spec.dtype)?.into(),
        dimensions: spec.dims.iter().map(|dim| dim.cast_signed()).collect(),
        is_dynamic_dimension: vec![false; spec.dims.len()],
        tuple_shapes: Vec::new(),
        layout,
    })
}

fn layout_of(layout: &Layout, memory_space: i64) -> Result<LayoutProto> {
    let too_large = |_| Error::bad(format!("the layout {layout} does not fit a message"));
    let axes = layout.minor_to_major.iter().map(|&axis| i64::try_from(axis));
    let tile = |sides: &Vec<u64>| TileProto {
        dimensions: sides.iter().map(|side| side.cast_signed()).collect(),
    };
    Ok(LayoutProto {
        minor_to_major: axes.collect::<Result<_, _>>().map_err(too_large)?,
        tiles: layout.tiles.iter().map(tile).collect(),
        element_size_in_bits: layout.element_bits.map_or(0, i64::from),
        memory_space,
        // Nothing is rounded up: what XLA writes for every layout.
        tail_padding_alignment_in_elements: 1,
    })
}
