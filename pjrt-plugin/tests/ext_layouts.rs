//! The layouts extension, through its table.
#![expect(unsafe_code, reason = "follows the chain of extensions, and calls deleters")]
#![expect(clippy::unwrap_used, reason = "a test may stop anywhere")]

mod c;

use c::buffers::{Array, F32, destroy, ordered};
use c::contract::contract_of;
use c::programs::{DOUBLE, compile, end, end_executable, executable_of};
use c::{Client, Failure, INVALID, assert_refused, call, call_with, list};
use pjrt_sys::{
    PJRT_Buffer_Type, PJRT_Extension_Type, PJRT_Layouts_Extension, PJRT_Layouts_MemoryLayout,
};
use std::ptr::without_provenance_mut;

fn extension() -> &'static PJRT_Layouts_Extension {
    let found = c::extension(PJRT_Extension_Type::PJRT_Extension_Type_Layouts).unwrap();
    // SAFETY: the type says what it is, and the table lives as long as the library.
    let extension = unsafe { &*found.cast::<PJRT_Layouts_Extension>() };
    assert_eq!(extension.base.struct_size, size_of::<PJRT_Layouts_Extension>());
    extension
}

type Layout = *mut PJRT_Layouts_MemoryLayout;

fn forget(layout: Layout) -> Result<(), Failure> {
    call_with(extension().PJRT_Layouts_MemoryLayout_Destroy, |args| args.layout = layout).map(drop)
}

/// The text of a layout; the layout is given back.
fn text(layout: Layout) -> String {
    let text = shown(layout);
    forget(layout).unwrap();
    text
}

/// The text of a layout.
fn shown(layout: Layout) -> String {
    let args = call_with(extension().PJRT_Layouts_MemoryLayout_Serialize, |args| {
        args.layout = layout;
    })
    .unwrap();
    let text = c::text(args.serialized_bytes, args.serialized_bytes_size);
    // SAFETY: the deleter and its object are of one answer, used once.
    unsafe { args.serialized_layout_deleter.unwrap()(args.serialized_layout) };
    text
}

fn default(client: &Client, dtype: PJRT_Buffer_Type, dims: &[i64]) -> Result<Layout, Failure> {
    let args = call_with(extension().PJRT_Layouts_PJRT_Client_GetDefaultLayout, |args| {
        args.client = client.raw;
        (args.type_, args.dims, args.num_dims) = (dtype, dims.as_ptr(), dims.len());
    })?;
    Ok(args.layout)
}

#[test]
fn every_function_keeps_the_contract() {
    let client = Client::new();
    let topology = call!(PJRT_Client_TopologyDescription, client: client.raw).unwrap().topology;
    let buffer = Array::dense(F32, &[1], &[0; 4]).put(&client, client.hbm(0)).unwrap();
    let made = || default(&client, F32, &[1]).unwrap();
    let extension = extension();
    contract_of!(extension, PJRT_Layouts_MemoryLayout_Destroy(layout, layout), layout: made());
    contract_of!(extension,
    PJRT_Layouts_MemoryLayout_Serialize(layout, serialized_layout_deleter), layout: made()
    => |args| {
        // SAFETY: the deleter and its object are of one answer, used once.
        unsafe { args.serialized_layout_deleter.unwrap()(args.serialized_layout) };
        forget(args.layout).unwrap();
    });
    contract_of!(extension, PJRT_Layouts_PJRT_Client_GetDefaultLayout(client, layout),
        client: client.raw, type_: F32
        => |args| forget(args.layout).unwrap());
    contract_of!(extension,
        PJRT_Layouts_PJRT_Topology_GetDefaultLayout(topology_description, layout),
        topology_description: topology, type_: F32
        => |args| forget(args.layout).unwrap());
    contract_of!(extension, PJRT_Layouts_PJRT_Buffer_MemoryLayout(buffer, layout), buffer: buffer
        => |args| forget(args.layout).unwrap());
    destroy(buffer);
}

#[test]
fn the_default_layout_is_row_major_with_the_devices_tiles() {
    let client = Client::new();
    let text_of = |dtype, dims: &[i64]| text(default(&client, dtype, dims).unwrap());
    assert_eq!(text_of(F32, &[16, 256]), "{1,0:T(8,128)}");
    let bf16 = PJRT_Buffer_Type::PJRT_Buffer_Type_BF16;
    assert_eq!(text_of(bf16, &[16, 256]), "{1,0:T(8,128)(2,1)}");
    let topology = call!(PJRT_Client_TopologyDescription, client: client.raw).unwrap().topology;
    let of_topology = call_with(extension().PJRT_Layouts_PJRT_Topology_GetDefaultLayout, |args| {
        args.topology_description = topology;
        (args.type_, args.dims, args.num_dims) = (F32, SHAPE.as_ptr(), SHAPE.len());
    });
    assert_eq!(text(of_topology.unwrap().layout), "{1,0:T(8,128)}");
}

static SHAPE: [i64; 2] = [16, 256];

#[test]
fn a_buffer_tells_the_layout_that_it_was_given() {
    let client = Client::new();
    let mut layout = ordered(&[0, 1]);
    let array = Array { layout: &raw mut layout, ..Array::dense(F32, &SHAPE, &[0; 16384]) };
    let buffer = array.put(&client, client.hbm(0)).unwrap();
    let of_buffer = call_with(extension().PJRT_Layouts_PJRT_Buffer_MemoryLayout, |args| {
        args.buffer = buffer;
    });
    let shown = text(of_buffer.unwrap().layout);
    assert!(shown.starts_with("{0,1:T("), "{shown}");
    destroy(buffer);
}

#[test]
fn a_shape_that_cannot_be_has_no_layout() {
    let client = Client::new();
    assert_refused(default(&client, F32, &[-1]), INVALID, &["negative dimension in f32[-1]"]);
    assert_refused(default(&client, F32, &[1; 100]), INVALID, &["100 dimensions"]);
    let odd = PJRT_Buffer_Type(77);
    assert_refused(default(&client, odd, &[1]), INVALID, &["77 is no PJRT_Buffer_Type"]);
}

#[test]
fn a_layout_is_destroyed_once() {
    let client = Client::new();
    let layout = default(&client, F32, &[1]).unwrap();
    forget(layout).unwrap();
    assert_refused(forget(layout), INVALID, &["layout handle", "stale"]);
    assert_refused(forget(without_provenance_mut(8)), INVALID, &["stale"]);
}

#[test]
fn an_executable_keeps_the_layouts_of_its_parameters_and_results() {
    let client = Client::new();
    let loaded = compile(&client, DOUBLE);
    let it = executable_of(loaded);
    let table = extension();
    contract_of!(table, PJRT_Layouts_PJRT_Executable_GetOutputLayouts(executable, layouts),
        executable: it);
    contract_of!(table, PJRT_Layouts_PJRT_Executable_GetParameterLayouts(executable, layouts),
        executable: it);
    let of = call_with(table.PJRT_Layouts_PJRT_Executable_GetOutputLayouts, |args| {
        args.executable = it;
    })
    .unwrap();
    let outputs = list(of.layouts.cast_const(), of.num_outputs);
    assert_eq!(outputs.into_iter().map(shown).collect::<Vec<_>>(), ["{1,0:T(8,128)}"]);
    let of = call_with(table.PJRT_Layouts_PJRT_Executable_GetParameterLayouts, |args| {
        args.executable = it;
    })
    .unwrap();
    let parameters = list(of.layouts.cast_const(), of.num_parameters);
    assert_eq!(parameters.iter().map(|&of| shown(of)).collect::<Vec<_>>(), ["{1,0:T(8,128)}"]);
    end_executable(it);
    end(loaded);
    assert_refused(forget(parameters[0]), INVALID, &["stale"]);
}

#[test]
fn the_extensions_are_a_chain_of_distinct_types() {
    let mut types = c::extensions().into_iter().map(|(kind, _)| kind.0).collect::<Vec<_>>();
    assert!(types.len() >= 2);
    types.sort_unstable();
    let count = types.len();
    types.dedup();
    assert_eq!(types.len(), count);
    assert_eq!(list(types.as_ptr(), types.len()), types);
}
