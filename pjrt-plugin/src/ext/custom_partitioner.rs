//! Extension 2: code of clients that splits their custom calls over devices.
use super::{extension_functions, leak};
use crate::boundary::{Caller, c_args};
use crate::partitioner;
use crate::sys::{
    PJRT_Custom_Partitioner_Extension, PJRT_Extension_Base, PJRT_Extension_Type,
    PJRT_Register_Batch_Partitionable_Args, PJRT_Register_Custom_Partitioner_Args,
};
use tpu_emu::Result;

c_args!(PJRT_Register_Custom_Partitioner_Args, PJRT_Register_Batch_Partitionable_Args);

extension_functions! {
    PJRT_Register_Custom_Partitioner =>
        call(super::register, PJRT_Register_Custom_Partitioner_Args, callbacks),
    PJRT_Register_Batch_Partitionable =>
        call(super::register_batch, PJRT_Register_Batch_Partitionable_Args, name_size),
}

pub(super) fn extension(next: *mut PJRT_Extension_Base) -> *mut PJRT_Extension_Base {
    leak(PJRT_Custom_Partitioner_Extension {
        base: PJRT_Extension_Base {
            struct_size: size_of::<PJRT_Custom_Partitioner_Extension>(),
            type_: PJRT_Extension_Type::PJRT_Extension_Type_Custom_Partitioner,
            next,
        },
        register_custom_partitioner: Some(table::PJRT_Register_Custom_Partitioner),
        register_batch_partitionable: Some(table::PJRT_Register_Batch_Partitionable),
    })
}

fn register(caller: &Caller, args: &mut PJRT_Register_Custom_Partitioner_Args) -> Result<()> {
    let name = caller.text(args.name, args.name_size, "name")?;
    partitioner::register(caller, &name, args.callbacks)
}

/// A target whose calls may be split along axes of batches. They are run whole, which gives the
/// same.
fn register_batch(
    caller: &Caller,
    args: &mut PJRT_Register_Batch_Partitionable_Args,
) -> Result<()> {
    caller.text(args.name, args.name_size, "name").map(drop)
}
