//! Shapes as a memory stores them.
use crate::boundary::Caller;
use crate::dtype;
use crate::shapes::shape_of;
use crate::state::topology;
use crate::sys::PJRT_TopologyDescription_MakeCanonicalShapeForMemorySpace_Args;
use crate::views::layout_request;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::ffi::c_char;
use std::sync::LazyLock;
use tpu_emu::MemoryKind;
use tpu_emu::hbm::layout::TileRules;
use tpu_emu::hbm::spec::Specs;
use tpu_emu::hbm::spec::extents;
use tpu_emu::topology::MEMORY_SPACE_KIND_IDS;
use tpu_emu::{Error, Result};
use tpu_proto::Message;

/// The number of host memory in a layout.
const HOST_MEMORY_SPACE: i64 = 5;

/// The serialized shapes that clients hold, by address: their deleter gets nothing else.
static GIVEN: LazyLock<Mutex<HashMap<usize, Vec<u8>>>> = LazyLock::new(Mutex::default);

/// The shape of an array in a memory, with the layout it has there, as a `ShapeProto`.
///
/// Errors: `BadArgument` for an unknown kind of memory, and for shapes and layouts that cannot
/// be; `Unimplemented` for 6-bit floats, which the message has no number for.
#[doc(alias = "PJRT_TopologyDescription_MakeCanonicalShapeForMemorySpace")]
pub(in crate::api) fn canonical(
    caller: &Caller,
    args: &mut PJRT_TopologyDescription_MakeCanonicalShapeForMemorySpace_Args,
) -> Result<()> {
    let entry = topology(args.topology)?;
    let memory_space = memory_space(args.memory_space_kind_id)?;
    let dtype = dtype::from_c(args.element_type)?;
    let dims = caller.axes(args.dims, args.num_dims, "dims")?;
    let layout = layout_request(caller, args.layout, dims, dtype.host_bytes())?;
    let rules: TileRules = entry.topology.generation().tiles;
    let spec = Specs::new(rules).intern(dtype, &extents(dtype, dims)?, layout)?;
    let shape = shape_of(&spec, memory_space)?;
    let bytes = shape.encode_to_vec();
    let pointer = bytes.as_ptr();
    args.serialized_shape = pointer.cast();
    args.serialized_shape_size = bytes.len();
    args.serialized_shape_deleter = Some(delete);
    GIVEN.lock().insert(pointer.addr(), bytes);
    Ok(())
}

/// Frees a serialized shape; any other pointer changes nothing.
extern "C" fn delete(shape: *const c_char) {
    let given = GIVEN.lock().remove(&shape.addr());
    drop(given);
}

/// The number of a kind of memory in a layout. A kind has one number as a device's memory, and
/// some have another one among those that a topology lists; both are known.
fn memory_space(kind: i32) -> Result<i64> {
    let device = MemoryKind::Device.number();
    let known = MemoryKind::ALL.iter().map(|kind| kind.number()).chain(MEMORY_SPACE_KIND_IDS);
    match known.into_iter().find(|&id| id == kind) {
        Some(id) if id == device => Ok(0),
        Some(_) => Ok(HOST_MEMORY_SPACE),
        None => Err(Error::bad(format!("{kind} is no kind of memory of a TPU"))),
    }
}
