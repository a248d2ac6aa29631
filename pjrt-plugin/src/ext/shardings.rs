//! Extension 19: how an executable's inputs and outputs are split.
use super::{extension_functions, leak};
use crate::boundary::c_args;
use crate::sys::{PJRT_Extension_Base, PJRT_Extension_Type, PJRT_Shardings_Extension};

c_args!(
    PJRT_Shardings_PJRT_Executable_ParameterShardings_Args,
    PJRT_Shardings_PJRT_Executable_OutputShardings_Args,
);

extension_functions! {
    PJRT_Shardings_PJRT_Executable_ParameterShardings =>
        missing(PJRT_Shardings_PJRT_Executable_ParameterShardings_Args),
    PJRT_Shardings_PJRT_Executable_OutputShardings =>
        missing(PJRT_Shardings_PJRT_Executable_OutputShardings_Args),
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
