//! Extension 19 through the C table.
mod ext;

use ext::{UNIMPLEMENTED, args, call, extension, refuses_what_is_missing};
use pjrt_tpu_emu::sys::{
    PJRT_Extension_Type, PJRT_Shardings_Extension,
    PJRT_Shardings_PJRT_Executable_OutputShardings_Args,
    PJRT_Shardings_PJRT_Executable_ParameterShardings_Args,
};

#[test]
fn both_functions_say_that_they_are_not_done_by_name() {
    let table: &PJRT_Shardings_Extension =
        extension(PJRT_Extension_Type::PJRT_Extension_Type_Shardings);
    refuses_what_is_missing(table.PJRT_Shardings_PJRT_Executable_ParameterShardings);
    refuses_what_is_missing(table.PJRT_Shardings_PJRT_Executable_OutputShardings);
    let mut of: PJRT_Shardings_PJRT_Executable_ParameterShardings_Args = args();
    let function = table.PJRT_Shardings_PJRT_Executable_ParameterShardings;
    let (code, message) = call(function, &raw mut of).unwrap_err();
    assert_eq!(code, UNIMPLEMENTED);
    assert!(message.starts_with("PJRT_Shardings_PJRT_Executable_ParameterShardings"), "{message}");
    let mut of: PJRT_Shardings_PJRT_Executable_OutputShardings_Args = args();
    let function = table.PJRT_Shardings_PJRT_Executable_OutputShardings;
    let (code, message) = call(function, &raw mut of).unwrap_err();
    assert_eq!(code, UNIMPLEMENTED);
    assert!(message.starts_with("PJRT_Shardings_PJRT_Executable_OutputShardings"), "{message}");
}
