//! Where the parts of a buffer lie in the client's block, and how large the block is.
//!
//! Elements are dense and row-major, whatever the layout says. An array with dynamic dimensions
//! is stored as one of its largest extents; the real extents are numbers of 32 bits in a granule
//! of their own: in front of the elements where the layout has a prefix, else behind the padding.
use crate::abi::Abi;
use crate::shape::Shape;
use tpu_emu::hbm::spec::{ArraySpec, Specs};
use tpu_emu::units::{Bytes, to_u64};
use tpu_emu::{Error, Result};
use tpu_proto::xla::PrimitiveType;

/// Bytes for the extents of an array with dynamic dimensions.
pub(crate) const EXTENTS: u64 = 512;

/// Bytes of an address in the table of a tuple.
pub(crate) const ADDRESS: u64 = 8;

/// Offsets in the block of an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    /// Where the elements begin.
    pub(crate) elements: u64,
    /// Where the extents begin, of an array with dynamic dimensions.
    pub(crate) extents: Option<u64>,
    /// One past the last byte that means something.
    pub(crate) end: u64,
    /// Bytes of the block, padded to tiles.
    pub(crate) size: Bytes,
}

impl Place {
    /// The place of an array of this shape.
    ///
    /// # Errors
    /// `BadArgument` for an impossible prefix or size.
    pub(crate) fn of(shape: &Shape, spec: &ArraySpec) -> Result<Self> {
        let (padded, logical) = (spec.padded.0, spec.logical.0);
        if !shape.is_dynamic() {
            return Ok(Self { elements: 0, extents: None, end: logical, size: Bytes(padded) });
        }
        let numbers = 4 * to_u64(shape.dims.len());
        let too_large = || Error::bad(format!("{} with extents is past 2^63 bytes", spec.text()));
        let sum = |a: u64, b: u64| {
            a.checked_add(b).filter(|&sum| i64::try_from(sum).is_ok()).ok_or_else(too_large)
        };
        let prefix = shape.layout.as_ref().map_or(0, |layout| layout.prefix_bytes);
        if prefix == 0 {
            let extents = padded.max(logical);
            let (end, size) = (sum(extents, numbers)?, sum(extents, EXTENTS)?);
            return Ok(Self { elements: 0, extents: Some(extents), end, size: Bytes(size) });
        }
        let prefix = u64::try_from(prefix).ok().filter(|&prefix| prefix >= numbers);
        let prefix = prefix.ok_or_else(|| {
            let given = shape.layout.as_ref().map_or(0, |layout| layout.prefix_bytes);
            Error::bad(format!("a prefix of {given} bytes for extents of {numbers}"))
        })?;
        let (end, size) = (sum(prefix, logical)?, sum(prefix, padded)?);
        Ok(Self { elements: prefix, extents: Some(0), end, size: Bytes(size) })
    }
}

/// Bytes of a block for a node of a shape: of a tuple, the table with its parts' addresses.
///
/// # Errors
/// `BadArgument` for shapes that cannot be, `Unimplemented` for an opaque object.
pub(crate) fn size(shape: &Shape, specs: &Specs) -> Result<Bytes> {
    if shape.is_tuple() {
        return Ok(Bytes(ADDRESS * to_u64(shape.tuple.len())));
    }
    if shape.element_type == PrimitiveType::OpaqueType as i32 {
        return Err(Error::Unimplemented("the size of an opaque object".to_owned()));
    }
    Ok(Place::of(shape, &*shape.spec(specs)?)?.size)
}

/// Bytes of a shape on the device, as C has the number.
///
/// # Errors
/// As for [`size`].
pub(crate) fn size_number(shape: &Shape, specs: &Specs) -> Result<i64> {
    let size = size(shape, specs)?;
    i64::try_from(size.0).map_err(|_| Error::bad(format!("{size} are past 2^63")))
}

/// The shape of a client's array on the device: with order and tiles. A client's own order stays.
///
/// # Errors
/// `BadArgument` for shapes and layouts that cannot be.
pub(crate) fn device_shape(abi: &Abi, shape: &Shape, specs: &Specs) -> Result<Shape> {
    each_array(shape, &|array| {
        let spec = array.spec(specs)?;
        let mut tiled = Shape::of(&spec)?;
        tiled.dynamic.clone_from(&array.dynamic);
        if let Some(layout) = &mut tiled.layout {
            let given = array.layout.as_ref();
            layout.memory_space = given.map_or(0, |given| given.memory_space);
            let has_prefix = abi.fields.layout.dynamic_shape_metadata_prefix_bytes.is_some();
            let prefix = given.map_or(0, |given| given.prefix_bytes);
            layout.prefix_bytes = match prefix {
                _ if !array.is_dynamic() || !has_prefix => 0,
                0 => EXTENTS.cast_signed(),
                prefix => prefix,
            };
        }
        Ok(tiled)
    })
}

/// The shape with the order of axes that takes the fewest bytes on the device, without tiles.
///
/// # Errors
/// `BadArgument` for shapes that cannot be.
pub(crate) fn compact_shape(shape: &Shape, specs: &Specs) -> Result<Shape> {
    each_array(shape, &|array| {
        let unordered = Shape { layout: None, ..array.clone() };
        let mut compact = Shape::of(&*unordered.spec(specs)?)?;
        if let Some(layout) = &mut compact.layout {
            layout.tiles.clear();
            layout.element_bits = array.layout.as_ref().map_or(0, |given| given.element_bits);
            layout.memory_space = array.layout.as_ref().map_or(0, |given| given.memory_space);
        }
        Ok(Shape { layout: compact.layout, ..unordered })
    })
}

/// The shape with `change` done to every array in it; tokens and opaque objects stay.
///
/// # Errors
/// Those of `change`, and `BadArgument` for what is no type.
pub(crate) fn each_array(shape: &Shape, change: &dyn Fn(&Shape) -> Result<Shape>) -> Result<Shape> {
    if shape.is_tuple() {
        let parts = shape.tuple.iter().map(|part| each_array(part, change));
        return Ok(Shape::tuple(parts.collect::<Result<_>>()?));
    }
    let kept = [PrimitiveType::Token as i32, PrimitiveType::OpaqueType as i32];
    if kept.contains(&shape.element_type) {
        return Ok(Shape::array(shape.element_type, Vec::new()));
    }
    change(shape)
}
