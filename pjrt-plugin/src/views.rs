//! Shapes and layouts as C arrays, one set for each array description of the machine.
use crate::boundary::{self, Caller};
use crate::sys;
use parking_lot::RwLock;
use std::collections::HashMap;
use std::sync::{Arc, LazyLock};
use tpu_emu::hbm::layout::Layout;
use tpu_emu::hbm::spec::{ArraySpec, LayoutRequest};
use tpu_emu::{Error, Result};

/// What C asks of a buffer's description.
#[derive(Debug)]
pub(crate) struct SpecView {
    pub(crate) dims: Vec<i64>,
    pub(crate) minor_to_major: Vec<i64>,
    /// The extents of all tiles, one tile behind the other.
    pub(crate) tile_dims: Vec<i64>,
    /// How many extents each tile has.
    pub(crate) tile_dim_sizes: Vec<usize>,
}

/// Views by the description's address; the description is kept, so the address stays its own.
type Views = HashMap<usize, (Arc<ArraySpec>, Arc<SpecView>)>;

static VIEWS: LazyLock<RwLock<Views>> = LazyLock::new(RwLock::default);

impl SpecView {
    /// The view of a description.
    pub(crate) fn of(spec: &Arc<ArraySpec>) -> Arc<Self> {
        let key = Arc::as_ptr(spec).addr();
        if let Some((_, view)) = VIEWS.read().get(&key) {
            return Arc::clone(view);
        }
        let view = Arc::new(Self::new(spec));
        let mut views = VIEWS.write();
        let (_, view) = views.entry(key).or_insert_with(|| (Arc::clone(spec), view));
        Arc::clone(view)
    }

    fn new(spec: &ArraySpec) -> Self {
        let signed = |n: &u64| n.cast_signed();
        let tiles = &spec.layout.tiles;
        Self {
            dims: spec.dims.iter().map(signed).collect(),
            minor_to_major: axes_to_c(&spec.layout.minor_to_major),
            tile_dims: tiles.iter().flatten().map(signed).collect(),
            tile_dim_sizes: tiles.iter().map(Vec::len).collect(),
        }
    }
}

fn axes_to_c(axes: &[usize]) -> Vec<i64> {
    axes.iter().filter_map(|&axis| i64::try_from(axis).ok()).collect()
}

/// The layout that a client asks of the device; a null pointer is no wish.
///
/// # Errors
/// `BadArgument` for strides that are no order of axes, and for unknown kinds of layout.
pub(crate) fn layout_request(
    caller: &Caller,
    layout: *const sys::PJRT_Buffer_MemoryLayout,
    dims: &[i64],
    element: usize,
) -> Result<LayoutRequest> {
    if layout.is_null() {
        return Ok(LayoutRequest::Default);
    }
    match read_layout(caller, layout)? {
        HostLayout::Tiled(layout) if layout.tiles.is_empty() => {
            check_rank(layout.minor_to_major.len(), dims.len())?;
            Ok(LayoutRequest::Order(layout.minor_to_major))
        }
        HostLayout::Tiled(layout) => Ok(LayoutRequest::Tiled(layout)),
        HostLayout::Strides(strides) => {
            check_rank(strides.len(), dims.len())?;
            let mut order: Vec<usize> = (0..dims.len()).collect();
            order.sort_by_key(|&axis| (strides[axis], std::cmp::Reverse(axis)));
            let extents: Vec<u64> = dims.iter().map(|dim| dim.unsigned_abs()).collect();
            let dense = tpu_emu::tensor::strided::ordered_strides(&extents, element, &order)?;
            let differs = |axis: &usize| extents[*axis] > 1 && dense[*axis] != strides[*axis];
            if (0..dims.len()).any(|axis| differs(&axis)) && !extents.contains(&0) {
                let message = format!("device strides {strides:?} of {dims:?} are not dense");
                return Err(Error::bad(message));
            }
            Ok(LayoutRequest::Order(order))
        }
    }
}

fn check_rank(given: usize, rank: usize) -> Result<()> {
    if given == rank {
        return Ok(());
    }
    Err(Error::bad(format!("a layout of {given} axes for an array of {rank}")))
}

/// A layout as it comes from C.
#[derive(Debug)]
pub(crate) enum HostLayout {
    Tiled(Layout),
    Strides(Vec<i64>),
}

/// # Errors
/// `BadArgument` for numbers that no axis or extent can have.
pub(crate) fn read_layout(
    caller: &Caller,
    layout: *const sys::PJRT_Buffer_MemoryLayout,
) -> Result<HostLayout> {
    let layout = caller.read(layout)?;
    match layout.type_ {
        sys::PJRT_Buffer_MemoryLayout_Type::PJRT_Buffer_MemoryLayout_Type_Tiled => {
            let tiled = boundary::tiled(&layout);
            let axes =
                caller.axes(tiled.minor_to_major, tiled.minor_to_major_size, "minor_to_major")?;
            let minor_to_major = axes
                .iter()
                .map(|&axis| {
                    usize::try_from(axis)
                        .map_err(|_| Error::bad(format!("axis {axis} in a layout")))
                })
                .collect::<Result<Vec<usize>>>()?;
            let sizes = caller.axes(tiled.tile_dim_sizes, tiled.num_tiles, "tile_dim_sizes")?;
            let total = sizes
                .iter()
                .try_fold(0_usize, |sum, &size| sum.checked_add(size))
                .filter(|&total| total <= 1 << 16)
                .ok_or_else(|| Error::bad("a layout with too many tile extents"))?;
            let mut extents = caller.slice(tiled.tile_dims, total, "tile_dims")?.iter();
            let tiles = sizes
                .iter()
                .map(|&size| {
                    extents
                        .by_ref()
                        .take(size)
                        .map(|&extent| {
                            u64::try_from(extent).map_err(|_| {
                                Error::bad(format!("tile extent {extent} in a layout"))
                            })
                        })
                        .collect()
                })
                .collect::<Result<Vec<Vec<u64>>>>()?;
            Ok(HostLayout::Tiled(Layout {
                minor_to_major,
                tiles,
                element_bits: None,
                memory_space: None,
            }))
        }
        sys::PJRT_Buffer_MemoryLayout_Type::PJRT_Buffer_MemoryLayout_Type_Strides => {
            let strides = boundary::strides(&layout);
            let list =
                caller.axes(strides.byte_strides, strides.num_byte_strides, "byte_strides")?;
            Ok(HostLayout::Strides(list.to_vec()))
        }
        other => Err(Error::bad(format!("{} is no kind of memory layout", other.0))),
    }
}
