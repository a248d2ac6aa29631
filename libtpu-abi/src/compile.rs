//! `TpuCompile_*`: TensorFlow's compile op. Its requests are refused; what it asks about them,
//! its cache's keys above all, is answered.
// UNSAFETY: exports functions, reads the client's text and frees what was given to it.
#![expect(unsafe_code, reason = "functions of the C interface")]
use crate::boundary::answer;
use crate::memory;
use crate::params::{CompilationCacheKeyProperty, CompilationCacheKeyResult};
use crate::refused::refused;
use crate::sys::{TpuSerializedProto, XLA_TpuMeshState, XLA_TpuProgram};
use std::ffi::c_char;
use std::ptr;
use tpu_emu::Result;

refused! {
    "the emulator compiles no TensorFlow functions"; by status:
    TpuCompile_CompileAndBuild(
        compilation_request: TpuSerializedProto, mesh_state: *const XLA_TpuMeshState,
        tpu_programs: *mut *mut *mut XLA_TpuProgram, count: *mut usize
    );
    TpuCompile_XrtCompileAndBuild(
        xrt_computation: TpuSerializedProto, mesh_state: *const XLA_TpuMeshState,
        tpu_programs: *mut *mut *mut XLA_TpuProgram, count: *mut usize
    );
}

/// FNV-1a, 64 bits, on from a hash.
fn hash(hash: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(hash, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

/// The hash of nothing.
const SEED: u64 = 0xcbf2_9ce4_8422_2325;

/// Whether anybody switched compilation off: nobody did, and a compilation has its own answer.
#[unsafe(no_mangle)]
pub extern "C" fn TpuCompile_IsTpuCompilationEnabled() -> bool {
    answer(&"TpuCompile_IsTpuCompilationEnabled", true, || Ok(true))
}

/// Whether a cancelled compilation may go on: it holds no device, so the process need not end.
#[unsafe(no_mangle)]
pub extern "C" fn TpuCompile_ShouldTpuCompileOpIgnoreCancellation() -> bool {
    answer(&"TpuCompile_ShouldTpuCompileOpIgnoreCancellation", true, || Ok(true))
}

/// A fingerprint that goes on from another one with the bytes of a constant.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn TpuCompile_CreateGuaranteedConstFingerprint(
    fingerprint: u64,
    data: *const c_char,
    size: usize,
) -> u64 {
    answer(&"TpuCompile_CreateGuaranteedConstFingerprint", 0, || {
        // SAFETY: the contract of the interface.
        let data: &[u8] = unsafe { memory::slice(data.cast(), size, "data") }?;
        Ok(hash(hash(SEED, &fingerprint.to_le_bytes()), data))
    })
}

/// Texts that differ where the programs do; the second one for people.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn TpuCompile_CreateCompilationCacheKey(
    property: CompilationCacheKeyProperty,
) -> CompilationCacheKeyResult {
    let none = CompilationCacheKeyResult { key: ptr::null(), debug_string: ptr::null() };
    answer(&"TpuCompile_CreateCompilationCacheKey", none, || {
        // SAFETY: the contract of the interface.
        let (key, debug_string) = unsafe { key(&property) }?;
        Ok(CompilationCacheKeyResult {
            key: memory::given_text(&key).cast_const(),
            debug_string: memory::given_text(&debug_string).cast_const(),
        })
    })
}

/// Key and description of a program.
///
/// # Safety
/// The pointers are null or valid.
unsafe fn key(property: &CompilationCacheKeyProperty) -> Result<(String, String)> {
    // SAFETY: the promise of the caller.
    let text = |pointer| unsafe { memory::text(pointer) };
    let (prefix, shapes) = (text(property.config_prefix), text(property.shapes_prefix));
    let (ids, count) = (property.device_ids, property.device_ids_size);
    // SAFETY: as above.
    let ids = unsafe { memory::slice(ids, count, "device_ids") }?;
    let CompilationCacheKeyProperty {
        mlir_module_fingerprint: module,
        function_library_fingerprint: library,
        guaranteed_constants_size: constants,
        num_cores_per_replica: cores,
        num_replicas: replicas,
        ..
    } = *property;
    let shapes_hash = hash(SEED, shapes.as_bytes());
    let key = format!(
        "{prefix}:{module:x}:{library:x}:{shapes_hash:x}:{constants}:{replicas}x{cores}:{ids:?}"
    );
    let name = text(property.function_name);
    let debug_string = format!(
        "function {name}, module {module:x}, library {library:x}, shapes {shapes}, \
         {constants} constants, {replicas} replicas of {cores} cores on {ids:?}"
    );
    Ok((key, debug_string))
}

/// Frees the texts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn TpuCompile_DestroyCompilationCacheKey(result: CompilationCacheKeyResult) {
    answer(&"TpuCompile_DestroyCompilationCacheKey", (), || {
        // SAFETY: null or from `TpuCompile_CreateCompilationCacheKey`.
        unsafe { memory::take_back(result.key.cast_mut()) };
        // SAFETY: as above.
        unsafe { memory::take_back(result.debug_string.cast_mut()) };
        Ok(())
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::said;

    /// Key and description for two device ids.
    fn keys(name: &std::ffi::CStr, ids: &[i32]) -> (String, String) {
        let property = CompilationCacheKeyProperty {
            config_prefix: c"config".as_ptr(),
            shapes_prefix: c"f32[2]".as_ptr(),
            function_name: name.as_ptr(),
            mlir_module_fingerprint: 16,
            device_ids: ids.as_ptr(),
            device_ids_size: ids.len(),
            guaranteed_constants_size: 0,
            function_library_fingerprint: 17,
            num_cores_per_replica: 1,
            num_replicas: 2,
            mesh_state: ptr::null(),
        };
        // SAFETY: all pointers are valid, here and below.
        let result = unsafe { TpuCompile_CreateCompilationCacheKey(property) };
        // SAFETY: as above.
        let texts = unsafe { (memory::text(result.key), memory::text(result.debug_string)) };
        // SAFETY: as above.
        unsafe { TpuCompile_DestroyCompilationCacheKey(result) };
        texts
    }

    #[test]
    fn keys_tell_programs_apart_and_not_names() {
        let (key, text) = keys(c"f", &[0, 1]);
        assert!(key.starts_with("config:10:11:") && key.ends_with(":0:2x1:[0, 1]"), "{key}");
        assert!(text.contains("function f, module 10, library 11, shapes f32[2]"), "{text}");
        assert_eq!(keys(c"g", &[0, 1]).0, key);
        assert_ne!(keys(c"f", &[0, 2]).0, key);
    }

    #[test]
    fn a_fingerprint_depends_on_all_that_went_into_it() {
        let of = |start, data: &[u8]| {
            // SAFETY: bytes of this size.
            unsafe {
                TpuCompile_CreateGuaranteedConstFingerprint(start, data.as_ptr().cast(), data.len())
            }
        };
        assert_eq!(of(1, b"ab"), of(1, b"ab"));
        assert_ne!(of(1, b"ab"), of(2, b"ab"));
        assert_ne!(of(1, b"ab"), of(1, b"ba"));
        // FNV-1a of eight zeros.
        assert_eq!(of(0, b""), hash(SEED, &[0; 8]));
        assert_eq!(hash(SEED, b"a"), 0xaf63_dc4c_8601_ec8c);
        // SAFETY: nothing at null is read.
        let bad = unsafe { TpuCompile_CreateGuaranteedConstFingerprint(1, ptr::null(), 3) };
        assert_eq!(bad, 0);
    }

    #[test]
    fn functions_of_tensorflow_are_not_compiled() {
        let none = TpuSerializedProto { bytes: ptr::null(), size: 0 };
        let error = said(|status| {
            TpuCompile_CompileAndBuild(none, ptr::null(), ptr::null_mut(), ptr::null_mut(), status);
        });
        let message = "TpuCompile_CompileAndBuild: the emulator compiles no TensorFlow functions";
        assert_eq!(error, Err(message.to_owned()));
        assert!(TpuCompile_IsTpuCompilationEnabled());
        assert!(TpuCompile_ShouldTpuCompileOpIgnoreCancellation());
    }
}
