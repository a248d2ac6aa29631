//! Extension 5: XLA FFI handlers, their types, and what a client gives to them.
use super::{extension_functions, leak};
use crate::boundary::{Caller, UserPointer, c_args};
use crate::ffi::{Bundle, register_type, register_typed};
use crate::state::context;
use crate::sys::{
    PJRT_Extension_Base, PJRT_Extension_Type, PJRT_FFI_Extension, PJRT_FFI_Register_Handler_Args,
    PJRT_FFI_Type_Register_Args, PJRT_FFI_UserData_Add_Args,
};
use tpu_emu::{Error, Result};

c_args!(PJRT_FFI_Type_Register_Args, PJRT_FFI_UserData_Add_Args, PJRT_FFI_Register_Handler_Args,);

extension_functions! {
    PJRT_FFI_Type_Register => call(super::type_register, PJRT_FFI_Type_Register_Args, type_info),
    PJRT_FFI_UserData_Add => call(super::user_data_add, PJRT_FFI_UserData_Add_Args, user_data),
    PJRT_FFI_Register_Handler =>
        call(super::register_handler, PJRT_FFI_Register_Handler_Args, traits),
}

pub(super) fn extension(next: *mut PJRT_Extension_Base) -> *mut PJRT_Extension_Base {
    leak(PJRT_FFI_Extension {
        base: PJRT_Extension_Base {
            struct_size: size_of::<PJRT_FFI_Extension>(),
            type_: PJRT_Extension_Type::PJRT_Extension_Type_FFI,
            next,
        },
        type_register: Some(table::PJRT_FFI_Type_Register),
        user_data_add: Some(table::PJRT_FFI_UserData_Add),
        register_handler: Some(table::PJRT_FFI_Register_Handler),
    })
}

/// Gives a type its number, or takes the one it has.
fn type_register(caller: &Caller, args: &mut PJRT_FFI_Type_Register_Args) -> Result<()> {
    let name = caller.text(args.type_name, args.type_name_size, "type_name")?;
    let deleter = match args.type_info.is_null() {
        true => None,
        false => caller.slice(args.type_info.cast_const(), 1, "type_info")?[0].deleter,
    };
    args.type_id = register_type(&name, args.type_id, deleter)?;
    Ok(())
}

/// Adds user data to an execute context. The client keeps the data alive.
fn user_data_add(_: &Caller, args: &mut PJRT_FFI_UserData_Add_Args) -> Result<()> {
    let context = context(args.context)?;
    context.user_data.add(args.user_data.type_id, UserPointer(args.user_data.data))
}

/// Registers the execute handler of a target.
fn register_handler(caller: &Caller, args: &mut PJRT_FFI_Register_Handler_Args) -> Result<()> {
    let name = caller.text(args.target_name, args.target_name_size, "target_name")?;
    let platform = caller.text(args.platform_name, args.platform_name_size, "platform_name")?;
    if args.handler.is_null() {
        return Err(Error::Null("handler"));
    }
    let bundle = Bundle { execute: args.handler.expose_provenance(), ..Bundle::default() };
    let origin = "the PJRT FFI extension".to_owned();
    register_typed(&name, &platform, bundle, args.traits.0, origin)
}
