//! Extension 19: how an executable's inputs and outputs are split.
use super::{extension_functions, leak};
use crate::boundary::{Caller, c_args};
use crate::programs::executable;
use crate::sys::{
    PJRT_Extension_Base, PJRT_Extension_Type, PJRT_Shardings_Extension,
    PJRT_Shardings_PJRT_Executable_OutputShardings_Args,
    PJRT_Shardings_PJRT_Executable_ParameterShardings_Args,
};
use std::ptr::null;
use std::sync::atomic::Ordering;
use tpu_emu::Result;

c_args!(
    PJRT_Shardings_PJRT_Executable_ParameterShardings_Args,
    PJRT_Shardings_PJRT_Executable_OutputShardings_Args,
);

extension_functions! {
    PJRT_Shardings_PJRT_Executable_ParameterShardings =>
        call(super::of_parameters, PJRT_Shardings_PJRT_Executable_ParameterShardings_Args, sharding_sizes),
    PJRT_Shardings_PJRT_Executable_OutputShardings =>
        call(super::of_outputs, PJRT_Shardings_PJRT_Executable_OutputShardings_Args, sharding_sizes),
}

pub(super) fn extension(next: *mut PJRT_Extension_Base) -> *mut PJRT_Extension_Base {
    leak(PJRT_Shardings_Extension {
        base: PJRT_Extension_Base {
            struct_size: size_of::<PJRT_Shardings_Extension>(),
            type_: PJRT_Extension_Type::PJRT_Extension_Type_Shardings,
            next,
        },
        PJRT_Shardings_PJRT_Executable_ParameterShardings: Some(
            table::PJRT_Shardings_PJRT_Executable_ParameterShardings,
        ),
        PJRT_Shardings_PJRT_Executable_OutputShardings: Some(
            table::PJRT_Shardings_PJRT_Executable_OutputShardings,
        ),
    })
}

/// An `OpSharding` a parameter; null arrays where the program says what we cannot repeat.
fn of_parameters(
    _: &Caller,
    args: &mut PJRT_Shardings_PJRT_Executable_ParameterShardings_Args,
) -> Result<()> {
    let entry = executable(args.executable)?;
    entry.asked.store(true, Ordering::Relaxed);
    let (shardings, sizes) = (&mut args.shardings, &mut args.sharding_sizes);
    match &entry.parameter_shardings {
        Some(texts) => texts.give(shardings, sizes, &mut args.num_parameters),
        None => {
            (*shardings, *sizes) = (null(), null());
            args.num_parameters = entry.executable.parameters.len();
        }
    }
    Ok(())
}

/// As [`of_parameters`], of results.
fn of_outputs(
    _: &Caller,
    args: &mut PJRT_Shardings_PJRT_Executable_OutputShardings_Args,
) -> Result<()> {
    let entry = executable(args.executable)?;
    entry.asked.store(true, Ordering::Relaxed);
    let (shardings, sizes) = (&mut args.shardings, &mut args.sharding_sizes);
    match &entry.output_shardings {
        Some(texts) => texts.give(shardings, sizes, &mut args.num_outputs),
        None => {
            (*shardings, *sizes) = (null(), null());
            args.num_outputs = entry.executable.results.len();
        }
    }
    Ok(())
}
