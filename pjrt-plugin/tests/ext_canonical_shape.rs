//! `PJRT_TopologyDescription_MakeCanonicalShapeForMemorySpace` through the C table.
// UNSAFETY: gives serialized messages back by their deleter.
#![expect(unsafe_code, reason = "a C client")]
#![expect(clippy::unwrap_used, reason = "a test may stop anywhere")]
mod ext;

use ext::{
    Failure, INVALID_ARGUMENT, UNIMPLEMENTED, api, args, bytes, call, refuses_what_is_missing,
    topology,
};
use pjrt_sys::{
    PJRT_Buffer_MemoryLayout, PJRT_Buffer_MemoryLayout_Type, PJRT_Buffer_Type,
    PJRT_TopologyDescription, PJRT_TopologyDescription_MakeCanonicalShapeForMemorySpace_Args,
};
use std::ptr::null;
use tpu_proto::Message;
use tpu_proto::xla::{PrimitiveType, ShapeProto};

const DEVICE: i32 = -569_941_144;
const PINNED_HOST: i32 = -1_650_963_262;
static ONE: i64 = 1;

fn shape(
    topology: *const PJRT_TopologyDescription,
    kind: i32,
    element_type: PJRT_Buffer_Type,
    dims: &[i64],
    layout: *const PJRT_Buffer_MemoryLayout,
) -> Result<ShapeProto, Failure> {
    let mut make: PJRT_TopologyDescription_MakeCanonicalShapeForMemorySpace_Args = args();
    (make.topology, make.memory_space_kind_id, make.element_type) = (topology, kind, element_type);
    (make.dims, make.num_dims, make.layout) = (dims.as_ptr(), dims.len(), layout);
    call(api().PJRT_TopologyDescription_MakeCanonicalShapeForMemorySpace, &raw mut make)?;
    let message = bytes(make.serialized_shape.cast(), make.serialized_shape_size);
    let deleter = make.serialized_shape_deleter.unwrap();
    // SAFETY: what the call gave; a second time changes nothing.
    unsafe {
        deleter(make.serialized_shape);
        deleter(make.serialized_shape);
    }
    Ok(ShapeProto::decode(&*message).unwrap())
}

#[test]
fn an_array_gets_the_layout_of_the_device() {
    let topology = topology("v5e:2x2", &[]);
    let bf16 = PJRT_Buffer_Type::PJRT_Buffer_Type_BF16;
    let shape_of = |kind| shape(topology, kind, bf16, &[1024, 512], null()).unwrap();
    let shape = shape_of(DEVICE);
    assert_eq!(shape.element_type(), PrimitiveType::Bf16);
    assert_eq!(shape.dimensions, [1024, 512]);
    assert_eq!(shape.is_dynamic_dimension, [false, false]);
    let layout = shape.layout.unwrap();
    assert_eq!(layout.minor_to_major, [1, 0]);
    let tiles: Vec<_> = layout.tiles.iter().map(|tile| tile.dimensions.as_slice()).collect();
    assert_eq!(tiles, [&[8, 128][..], &[2, 1]]);
    assert_eq!((layout.memory_space, layout.element_size_in_bits), (0, 0));
    assert_eq!(shape_of(PINNED_HOST).layout.unwrap().memory_space, 5);
    assert_eq!(shape_of(1_756_073_601).layout.unwrap().memory_space, 5);
}

#[test]
fn a_packed_type_says_its_bits() {
    let topology = topology("v5e:2x2", &[]);
    let s4 = PJRT_Buffer_Type::PJRT_Buffer_Type_S4;
    let layout = shape(topology, DEVICE, s4, &[64, 128], null()).unwrap().layout.unwrap();
    assert_eq!(layout.element_size_in_bits, 4);
}

#[test]
fn an_order_that_is_asked_for_is_kept() {
    let topology = topology("v5e:2x2", &[]);
    let order = [0, 1];
    let mut layout: PJRT_Buffer_MemoryLayout = args();
    layout.type_ = PJRT_Buffer_MemoryLayout_Type::PJRT_Buffer_MemoryLayout_Type_Tiled;
    // SAFETY: zeros are a tiled layout of no axes.
    let mut tiled = unsafe { layout.anon_1.tiled };
    (tiled.minor_to_major, tiled.minor_to_major_size) = (order.as_ptr(), 2);
    layout.anon_1.tiled = tiled;
    let f32 = PJRT_Buffer_Type::PJRT_Buffer_Type_F32;
    let shape = shape(topology, DEVICE, f32, &[1024, 512], &raw const layout).unwrap();
    let layout = shape.layout.unwrap();
    assert_eq!(layout.minor_to_major, [0, 1]);
    assert_eq!(layout.tiles[0].dimensions, [8, 128]);
}

#[test]
fn what_cannot_be_is_refused() {
    let topology = topology("v5e:2x2", &[]);
    let f32 = PJRT_Buffer_Type::PJRT_Buffer_Type_F32;
    let (code, message) = shape(topology, 7, f32, &[1], null()).unwrap_err();
    assert_eq!(code, INVALID_ARGUMENT);
    assert!(message.starts_with("7 is no kind of memory"), "{message}");
    assert_eq!(shape(topology, DEVICE, f32, &[-1], null()).unwrap_err().0, INVALID_ARGUMENT);
    let none = PJRT_Buffer_Type::PJRT_Buffer_Type_INVALID;
    assert_eq!(shape(topology, DEVICE, none, &[1], null()).unwrap_err().0, INVALID_ARGUMENT);
    let f6 = PJRT_Buffer_Type::PJRT_Buffer_Type_F6E2M3FN;
    assert_eq!(shape(topology, DEVICE, f6, &[1], null()).unwrap_err().0, UNIMPLEMENTED);
    refuses_what_is_missing(api().PJRT_TopologyDescription_MakeCanonicalShapeForMemorySpace);
}

#[test]
fn a_count_of_axes_that_nobody_wrote_leads_nowhere() {
    let mut make: PJRT_TopologyDescription_MakeCanonicalShapeForMemorySpace_Args = args();
    make.topology = topology("v5e:2x2", &[]);
    make.memory_space_kind_id = DEVICE;
    make.element_type = PJRT_Buffer_Type::PJRT_Buffer_Type_F32;
    (make.dims, make.num_dims) = (&raw const ONE, 1 << 40);
    let made = call(api().PJRT_TopologyDescription_MakeCanonicalShapeForMemorySpace, &raw mut make);
    let (code, message) = made.unwrap_err();
    assert_eq!(code, INVALID_ARGUMENT);
    assert!(message.starts_with("1099511627776 dimensions; at most 64"), "{message}");
}
