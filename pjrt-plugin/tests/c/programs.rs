//! Programs to a device, and runs.
// UNSAFETY: calls the deleters that the library gives with its bytes.
use super::buffers::{Array, F32, destroy, get};
use super::handlers::{Function, register};
use super::{Client, Failure, blank, call, list, text, wait};
use pjrt_sys::{
    PJRT_Buffer, PJRT_Event, PJRT_Executable, PJRT_ExecuteOptions, PJRT_LoadedExecutable,
    PJRT_Program,
};
use std::ffi::c_char;
use std::ptr::null_mut;
use tpu_proto::Message;
use tpu_proto::xla::{
    CompileOptionsProto, DeviceAssignmentProto, ExecutableBuildOptionsProto,
    device_assignment_proto::ComputationDevice,
};

/// One array of 8 by 128 floats in, its double out.
pub(crate) const DOUBLE: &str = r#"module @jit_double {
  func.func public @main(%arg0: tensor<8x128xf32>) -> tensor<8x128xf32> {
    %0 = stablehlo.add %arg0, %arg0 : tensor<8x128xf32>
    return %0 : tensor<8x128xf32>
  }
}
"#;

/// As [`DOUBLE`], in the place of its argument.
pub(crate) const DOUBLE_IN_PLACE: &str = r#"module @jit_in_place {
  func.func public @main(%arg0: tensor<8x128xf32> {tf.aliasing_output = 0 : i32})
      -> tensor<8x128xf32> {
    %0 = stablehlo.add %arg0, %arg0 : tensor<8x128xf32>
    return %0 : tensor<8x128xf32>
  }
}
"#;

/// Nothing in; a float, three whole numbers and a flag out.
pub(crate) const THREE_RESULTS: &str = r#"module @jit_three {
  func.func public @main() -> (tensor<f32>, tensor<3xi32>, tensor<2x1xi1>) {
    %0 = stablehlo.constant dense<1.5> : tensor<f32>
    %1 = stablehlo.constant dense<[1, 2, 3]> : tensor<3xi32>
    %2 = stablehlo.constant dense<true> : tensor<2x1xi1>
    return %0, %1, %2 : tensor<f32>, tensor<3xi32>, tensor<2x1xi1>
  }
}
"#;

/// A program as the interface takes it.
pub(crate) fn program(code: &[u8], format: &'static str) -> PJRT_Program {
    let mut program = blank::<PJRT_Program>();
    (program.code, program.code_size) = (code.as_ptr().cast_mut().cast(), code.len());
    (program.format, program.format_size) = (format.as_ptr().cast(), format.len());
    program
}

/// Options for one replica of one partition on a device.
pub(crate) fn on_device(id: i64) -> Vec<u8> {
    let computation_devices = vec![ComputationDevice { replica_device_ids: vec![id] }];
    let assignment =
        DeviceAssignmentProto { replica_count: 1, computation_count: 1, computation_devices };
    let build = ExecutableBuildOptionsProto {
        num_replicas: 1,
        num_partitions: 1,
        device_assignment: Some(assignment),
        ..<_>::default()
    };
    let options = CompileOptionsProto { executable_build_options: Some(build), ..<_>::default() };
    options.encode_to_vec()
}

pub(crate) fn compile_with(
    client: &Client,
    code: &str,
    options: &[u8],
) -> Result<*mut PJRT_LoadedExecutable, Failure> {
    let program = program(code.as_bytes(), "mlir");
    let compiled = call!(PJRT_Client_Compile,
        client: client.raw,
        program: &raw const program,
        compile_options: options.as_ptr().cast(),
        compile_options_size: options.len(),
    )?;
    Ok(compiled.executable)
}

/// Compiles for the first device.
pub(crate) fn compile(client: &Client, code: &str) -> *mut PJRT_LoadedExecutable {
    compile_with(client, code, &on_device(0)).unwrap()
}

pub(crate) fn executable_of(loaded: *mut PJRT_LoadedExecutable) -> *mut PJRT_Executable {
    call!(PJRT_LoadedExecutable_GetExecutable, loaded_executable: loaded).unwrap().executable
}

pub(crate) fn end(loaded: *mut PJRT_LoadedExecutable) {
    call!(PJRT_LoadedExecutable_Destroy, executable: loaded).unwrap();
}

pub(crate) fn end_executable(executable: *mut PJRT_Executable) {
    call!(PJRT_Executable_Destroy, executable: executable).unwrap();
}

/// The bytes of a serialized program.
pub(crate) fn serialize(executable: *mut PJRT_Executable) -> Vec<u8> {
    let args = call!(PJRT_Executable_Serialize, executable: executable).unwrap();
    let bytes = list(args.serialized_bytes.cast::<u8>(), args.serialized_bytes_size);
    // SAFETY: the deleter and its object are of one answer, used once.
    unsafe { args.serialized_executable_deleter.unwrap()(args.serialized_executable) };
    bytes
}

pub(crate) fn deserialize(
    client: &Client,
    bytes: &[u8],
    options: &[u8],
) -> Result<*mut PJRT_LoadedExecutable, Failure> {
    let args = call!(PJRT_Executable_DeserializeAndLoad,
        client: client.raw,
        serialized_executable: bytes.as_ptr().cast(),
        serialized_executable_size: bytes.len(),
        overridden_serialized_compile_options: options.as_ptr().cast(),
        overridden_serialized_compile_options_size: options.len(),
    )?;
    Ok(args.loaded_executable)
}

/// What a run is asked to do: see [`Run::start`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct Run<'a> {
    pub(crate) loaded: *mut PJRT_LoadedExecutable,
    pub(crate) options: PJRT_ExecuteOptions,
    pub(crate) arguments: &'a [*mut PJRT_Buffer],
    pub(crate) results: usize,
    pub(crate) device: *mut pjrt_sys::PJRT_Device,
}

impl<'a> Run<'a> {
    pub(crate) fn new(
        loaded: *mut PJRT_LoadedExecutable,
        arguments: &'a [*mut PJRT_Buffer],
        results: usize,
    ) -> Self {
        Self { loaded, options: blank(), arguments, results, device: null_mut() }
    }

    /// Runs on one device, and waits for its end.
    pub(crate) fn start(mut self) -> Result<Vec<*mut PJRT_Buffer>, Failure> {
        let mut results = vec![null_mut::<PJRT_Buffer>(); self.results];
        let mut event: *mut PJRT_Event = null_mut();
        let arguments = [self.arguments.as_ptr()];
        let outputs = [results.as_mut_ptr()];
        call!(PJRT_LoadedExecutable_Execute,
            executable: self.loaded,
            options: &raw mut self.options,
            argument_lists: arguments.as_ptr(),
            num_devices: 1,
            num_args: self.arguments.len(),
            output_lists: outputs.as_ptr(),
            device_complete_events: &raw mut event,
            execute_device: self.device,
        )?;
        wait(event)?;
        Ok(results)
    }
}

/// 8 by 128 floats of one value on a device.
pub(crate) fn floats(client: &Client, device: usize, value: f32) -> *mut PJRT_Buffer {
    let bytes: Vec<u8> = value.to_ne_bytes().repeat(8 * 128);
    Array::dense(F32, &[8, 128], &bytes).put(client, client.hbm(device)).unwrap()
}

/// The one value of an array of [`floats`].
pub(crate) fn value(buffer: *mut PJRT_Buffer) -> f32 {
    let bytes = get(buffer).unwrap();
    assert_eq!(bytes.len(), 4096);
    let values = bytes.chunks_exact(4).map(|four| f32::from_ne_bytes(four.try_into().unwrap()));
    let mut distinct: Vec<f32> = values.collect();
    distinct.dedup();
    assert_eq!(distinct.len(), 1, "{distinct:?}");
    distinct[0]
}

/// Texts beside their sizes.
pub(crate) fn texts(
    pointers: *const *const c_char,
    sizes: *const usize,
    count: usize,
) -> Vec<String> {
    let sizes = list(sizes, count);
    list(pointers, count).into_iter().zip(sizes).map(|(at, size)| text(at, size)).collect()
}

/// Runs one call without operands, with a result that the handler leaves alone.
pub(crate) fn run_target(client: &Client, target: &str) -> Result<(), Failure> {
    run_target_on(client, 0, target)
}

/// Runs a target on another device.
pub(crate) fn run_target_on(client: &Client, device: i64, target: &str) -> Result<(), Failure> {
    let code = format!(
        "module @jit_call {{\n  func.func public @main() -> tensor<f32> {{\n    \
         %0 = stablehlo.custom_call @{target}() {{has_side_effect = true, \
         mhlo.backend_config = {{}}}} : () -> tensor<f32>\n    return %0 : tensor<f32>\n  }}\n}}\n"
    );
    let it = compile_with(client, &code, &on_device(device))?;
    let outcome = Run::new(it, &[], 1).start();
    end(it);
    outcome?.into_iter().for_each(destroy);
    Ok(())
}

/// Registers a handler and runs it once.
pub(crate) fn run_target_once(target: &str, execute: Function) -> Result<(), Failure> {
    register(target, execute);
    run_target(&Client::new(), target)
}
