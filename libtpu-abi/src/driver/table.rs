//! `TpuDriver_Initialize`: the table of all functions.
// UNSAFETY: exports functions, and writes the client's table.
#![expect(unsafe_code, reason = "functions of the C interface")]
use super::sys::TpuDriverFn;
use super::{
    TpuDriver_Allocate, TpuDriver_AllocateShape, TpuDriver_AllocateTuple, TpuDriver_Close,
    TpuDriver_CompileProgram, TpuDriver_CompileProgramFromText,
    TpuDriver_ComputeLinearizedBytesFromShape, TpuDriver_Deallocate, TpuDriver_DelinearizeShape,
    TpuDriver_EventAddCallback, TpuDriver_EventAwait, TpuDriver_ExecuteProgram,
    TpuDriver_FreeCompiledProgramHandle, TpuDriver_FreeCompiledProgramShape, TpuDriver_FreeEvent,
    TpuDriver_FreeStatus, TpuDriver_FreeSystemInfo, TpuDriver_GetCompiledProgramShape,
    TpuDriver_LinearizeShape, TpuDriver_LoadProgram, TpuDriver_Open, TpuDriver_QuerySystemInfo,
    TpuDriver_Reset, TpuDriver_TransferFromDevice, TpuDriver_TransferFromDeviceToDevice,
    TpuDriver_TransferToDevice, TpuDriver_UnloadProgram,
};
use crate::boundary::answer;
use crate::memory;
use std::ffi::{CStr, c_char};

/// What this library is.
const VERSION: &CStr = match CStr::from_bytes_with_nul(
    concat!("tpu-emu ", env!("CARGO_PKG_VERSION"), "\0").as_bytes(),
) {
    Ok(version) => version,
    Err(_) => c"tpu-emu",
};

const TABLE: TpuDriverFn = TpuDriverFn {
    TpuDriver_Open: Some(TpuDriver_Open),
    TpuDriver_Close: Some(TpuDriver_Close),
    TpuDriver_Reset: Some(TpuDriver_Reset),
    TpuDriver_ComputeLinearizedBytesFromShape: Some(TpuDriver_ComputeLinearizedBytesFromShape),
    TpuDriver_QuerySystemInfo: Some(TpuDriver_QuerySystemInfo),
    TpuDriver_FreeSystemInfo: Some(TpuDriver_FreeSystemInfo),
    TpuDriver_LinearizeShape: Some(TpuDriver_LinearizeShape),
    TpuDriver_DelinearizeShape: Some(TpuDriver_DelinearizeShape),
    TpuDriver_CompileProgram: Some(TpuDriver_CompileProgram),
    TpuDriver_CompileProgramFromText: Some(TpuDriver_CompileProgramFromText),
    TpuDriver_FreeCompiledProgramHandle: Some(TpuDriver_FreeCompiledProgramHandle),
    TpuDriver_LoadProgram: Some(TpuDriver_LoadProgram),
    TpuDriver_UnloadProgram: Some(TpuDriver_UnloadProgram),
    TpuDriver_ExecuteProgram: Some(TpuDriver_ExecuteProgram),
    TpuDriver_AllocateTuple: Some(TpuDriver_AllocateTuple),
    TpuDriver_Allocate: Some(TpuDriver_Allocate),
    TpuDriver_AllocateShape: Some(TpuDriver_AllocateShape),
    TpuDriver_Deallocate: Some(TpuDriver_Deallocate),
    TpuDriver_TransferToDevice: Some(TpuDriver_TransferToDevice),
    TpuDriver_TransferFromDevice: Some(TpuDriver_TransferFromDevice),
    TpuDriver_TransferFromDeviceToDevice: Some(TpuDriver_TransferFromDeviceToDevice),
    TpuDriver_GetCompiledProgramShape: Some(TpuDriver_GetCompiledProgramShape),
    TpuDriver_FreeCompiledProgramShape: Some(TpuDriver_FreeCompiledProgramShape),
    TpuDriver_EventAddCallback: Some(TpuDriver_EventAddCallback),
    TpuDriver_EventAwait: Some(TpuDriver_EventAwait),
    TpuDriver_FreeEvent: Some(TpuDriver_FreeEvent),
    TpuDriver_FreeStatus: Some(TpuDriver_FreeStatus),
    TpuDriver_Version: Some(TpuDriver_Version),
};

/// Fills the table; with `initialize`, makes the machine, too.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn TpuDriver_Initialize(driver_fn: *mut TpuDriverFn, initialize: bool) {
    answer(&"TpuDriver_Initialize", (), || {
        // SAFETY: the contract of the interface.
        unsafe { memory::put(driver_fn, TABLE, "driver_fn") }?;
        if initialize { crate::machine().map(drop) } else { Ok(()) }
    });
}

/// What this library is.
#[unsafe(no_mangle)]
pub extern "C" fn TpuDriver_Version() -> *const c_char {
    answer(&"TpuDriver_Version", VERSION.as_ptr(), || Ok(VERSION.as_ptr()))
}
