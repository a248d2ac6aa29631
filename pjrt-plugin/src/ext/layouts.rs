//! Extension 4: layouts as text.
use super::{extension_functions, leak};
use crate::boundary::{Caller, c_args, give_bytes, handle_of, id_of, take_bytes};
use crate::dtype;
use crate::programs::executable;
use crate::state::{LAYOUTS, buffer, client, topology};
use crate::sys;
use crate::sys::{
    PJRT_Extension_Base, PJRT_Extension_Type, PJRT_Layouts_Extension,
    PJRT_Layouts_MemoryLayout_Destroy_Args, PJRT_Layouts_MemoryLayout_Serialize_Args,
    PJRT_Layouts_PJRT_Buffer_MemoryLayout_Args, PJRT_Layouts_PJRT_Client_GetDefaultLayout_Args,
    PJRT_Layouts_PJRT_Executable_GetOutputLayouts_Args,
    PJRT_Layouts_PJRT_Executable_GetParameterLayouts_Args,
    PJRT_Layouts_PJRT_Topology_GetDefaultLayout_Args,
};
use std::sync::atomic::Ordering;
use tpu_emu::Result;
use tpu_emu::hbm::layout::{Layout, TileRules, default_layout};
use tpu_emu::hbm::spec::extents;

c_args!(
    PJRT_Layouts_MemoryLayout_Destroy_Args,
    PJRT_Layouts_MemoryLayout_Serialize_Args,
    PJRT_Layouts_PJRT_Buffer_MemoryLayout_Args,
    PJRT_Layouts_PJRT_Client_GetDefaultLayout_Args,
    PJRT_Layouts_PJRT_Topology_GetDefaultLayout_Args,
    PJRT_Layouts_PJRT_Executable_GetOutputLayouts_Args,
    PJRT_Layouts_PJRT_Executable_GetParameterLayouts_Args,
);

extension_functions! {
    PJRT_Layouts_MemoryLayout_Destroy =>
        call(super::destroy, PJRT_Layouts_MemoryLayout_Destroy_Args, layout),
    PJRT_Layouts_MemoryLayout_Serialize => call(
        super::serialize, PJRT_Layouts_MemoryLayout_Serialize_Args, serialized_layout_deleter
    ),
    PJRT_Layouts_PJRT_Client_GetDefaultLayout =>
        call(super::of_client, PJRT_Layouts_PJRT_Client_GetDefaultLayout_Args, layout),
    PJRT_Layouts_PJRT_Buffer_MemoryLayout =>
        call(super::of_buffer, PJRT_Layouts_PJRT_Buffer_MemoryLayout_Args, layout),
    PJRT_Layouts_PJRT_Topology_GetDefaultLayout =>
        call(super::of_topology, PJRT_Layouts_PJRT_Topology_GetDefaultLayout_Args, layout),
    PJRT_Layouts_PJRT_Executable_GetOutputLayouts =>
        call(super::of_outputs, PJRT_Layouts_PJRT_Executable_GetOutputLayouts_Args, layouts),
    PJRT_Layouts_PJRT_Executable_GetParameterLayouts =>
        call(super::of_parameters, PJRT_Layouts_PJRT_Executable_GetParameterLayouts_Args, layouts),
}

pub(super) fn extension(next: *mut PJRT_Extension_Base) -> *mut PJRT_Extension_Base {
    leak(PJRT_Layouts_Extension {
        base: PJRT_Extension_Base {
            struct_size: size_of::<PJRT_Layouts_Extension>(),
            type_: PJRT_Extension_Type::PJRT_Extension_Type_Layouts,
            next,
        },
        PJRT_Layouts_MemoryLayout_Destroy: Some(table::PJRT_Layouts_MemoryLayout_Destroy),
        PJRT_Layouts_MemoryLayout_Serialize: Some(table::PJRT_Layouts_MemoryLayout_Serialize),
        PJRT_Layouts_PJRT_Client_GetDefaultLayout: Some(
            table::PJRT_Layouts_PJRT_Client_GetDefaultLayout,
        ),
        PJRT_Layouts_PJRT_Buffer_MemoryLayout: Some(table::PJRT_Layouts_PJRT_Buffer_MemoryLayout),
        PJRT_Layouts_PJRT_Topology_GetDefaultLayout: Some(
            table::PJRT_Layouts_PJRT_Topology_GetDefaultLayout,
        ),
        PJRT_Layouts_PJRT_Executable_GetOutputLayouts: Some(
            table::PJRT_Layouts_PJRT_Executable_GetOutputLayouts,
        ),
        PJRT_Layouts_PJRT_Executable_GetParameterLayouts: Some(
            table::PJRT_Layouts_PJRT_Executable_GetParameterLayouts,
        ),
    })
}

fn destroy(_: &Caller, args: &mut PJRT_Layouts_MemoryLayout_Destroy_Args) -> Result<()> {
    LAYOUTS.remove(id_of(args.layout, "layout")?).map(drop)
}

/// The layout's text, as `{1,0:T(8,128)}`.
fn serialize(_: &Caller, args: &mut PJRT_Layouts_MemoryLayout_Serialize_Args) -> Result<()> {
    let text = LAYOUTS.get(id_of(args.layout, "layout")?)?.to_string();
    (args.serialized_bytes, args.serialized_bytes_size, args.serialized_layout) =
        give_bytes(text.into_bytes());
    args.serialized_layout_deleter = Some(take_bytes);
    Ok(())
}

fn of_buffer(_: &Caller, args: &mut PJRT_Layouts_PJRT_Buffer_MemoryLayout_Args) -> Result<()> {
    let layout = buffer(args.buffer)?.buffer.spec().layout.clone();
    args.layout = handle_of(LAYOUTS.insert(layout));
    Ok(())
}

fn of_client(
    caller: &Caller,
    args: &mut PJRT_Layouts_PJRT_Client_GetDefaultLayout_Args,
) -> Result<()> {
    let rules = client(args.client)?.machine.specs().rules();
    let dims = (args.dims, args.num_dims);
    args.layout = handle_of(LAYOUTS.insert(layout_of(caller, rules, args.type_, dims)?));
    Ok(())
}

fn of_topology(
    caller: &Caller,
    args: &mut PJRT_Layouts_PJRT_Topology_GetDefaultLayout_Args,
) -> Result<()> {
    let rules = topology(args.topology_description)?.topology.generation().tiles;
    let dims = (args.dims, args.num_dims);
    args.layout = handle_of(LAYOUTS.insert(layout_of(caller, rules, args.type_, dims)?));
    Ok(())
}

/// The handles live as long as the executable.
fn of_outputs(
    _: &Caller,
    args: &mut PJRT_Layouts_PJRT_Executable_GetOutputLayouts_Args,
) -> Result<()> {
    let entry = executable(args.executable)?;
    entry.output_layouts.give(&mut args.layouts, &mut args.num_outputs);
    Ok(())
}

/// As [`of_outputs`].
fn of_parameters(
    _: &Caller,
    args: &mut PJRT_Layouts_PJRT_Executable_GetParameterLayouts_Args,
) -> Result<()> {
    let entry = executable(args.executable)?;
    entry.asked.store(true, Ordering::Relaxed);
    entry.parameter_layouts.give(&mut args.layouts, &mut args.num_parameters);
    Ok(())
}

fn layout_of(
    caller: &Caller,
    rules: TileRules,
    dtype: sys::PJRT_Buffer_Type,
    dims: (*const i64, usize),
) -> Result<Layout> {
    let dtype = dtype::from_c(dtype)?;
    let dims = caller.axes(dims.0, dims.1, "dims")?;
    default_layout(rules, dtype.element(), &extents(dtype, dims)?)
}
