//! A machine, and arrays that go to it and come back.
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use tpu_emu::buffer::{HostArray, HostTarget};
use tpu_emu::executable::{CompileOptions, Format};
use tpu_emu::hbm::spec::{ArraySpec, LayoutRequest};
use tpu_emu::runtime::{DeviceRequest, LaunchOptions, LaunchRequest, Launched, LoadedExecutable};
use tpu_emu::tensor::DType;
use tpu_emu::{Buffer, Config, Emulator, Memory, MemoryKind, Result};

pub(crate) const HBM: Memory = Memory { device: 0, kind: MemoryKind::Device };

/// An array of the client.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Array {
    pub(crate) dtype: DType,
    pub(crate) dims: Vec<i64>,
    pub(crate) bytes: Vec<u8>,
}

pub(crate) fn f32s(dims: &[i64], values: &[f32]) -> Array {
    let bytes = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    Array { dtype: DType::F32, dims: dims.to_vec(), bytes }
}

pub(crate) fn i32s(dims: &[i64], values: &[i32]) -> Array {
    let bytes = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    Array { dtype: DType::S32, dims: dims.to_vec(), bytes }
}

pub(crate) fn bytes(dtype: DType, dims: &[i64], values: &[u8]) -> Array {
    Array { dtype, dims: dims.to_vec(), bytes: values.to_vec() }
}

pub(crate) fn machine() -> Arc<Emulator> {
    Emulator::new(Config::plain()).unwrap()
}

pub(crate) fn put(machine: &Arc<Emulator>, array: &Array) -> Arc<Buffer> {
    let spec = machine.describe(array.dtype, &array.dims, LayoutRequest::Default).unwrap();
    let array = HostArray { bytes: &array.bytes, low: 0, strides: None };
    Arc::new(machine.put(HBM, spec, array).unwrap())
}

#[derive(Debug)]
struct Target {
    bytes: Vec<u8>,
    back: Sender<Vec<u8>>,
}

impl HostTarget for Target {
    fn bytes(&mut self) -> &mut [u8] {
        &mut self.bytes
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        self.back.send(std::mem::take(&mut self.bytes)).unwrap();
    }
}

pub(crate) fn get(buffer: Buffer) -> Result<Array> {
    let buffer = Arc::new(buffer);
    let spec: Arc<ArraySpec> = Arc::clone(buffer.spec());
    let size = usize::try_from(spec.host_size().0).unwrap();
    let (back, bytes) = channel();
    buffer.get(None, Box::new(Target { bytes: vec![0; size], back }))?.wait()?;
    let dims = spec.dims.iter().map(|&dim| dim.cast_signed()).collect();
    Ok(Array { dtype: spec.dtype, dims, bytes: bytes.recv().unwrap() })
}

pub(crate) fn compile(machine: &Arc<Emulator>, text: &str) -> Result<Arc<LoadedExecutable>> {
    machine.compile(Format::Mlir, text.as_bytes(), CompileOptions::default())
}

pub(crate) fn launch(
    machine: &Arc<Emulator>,
    program: &Arc<LoadedExecutable>,
    arguments: &[Arc<Buffer>],
) -> Result<Launched> {
    launch_with(machine, program, arguments, &LaunchOptions::default())
}

pub(crate) fn launch_with(
    machine: &Arc<Emulator>,
    program: &Arc<LoadedExecutable>,
    arguments: &[Arc<Buffer>],
    options: &LaunchOptions,
) -> Result<Launched> {
    let devices = &[DeviceRequest::new(0, arguments)];
    let request = LaunchRequest { executable: program, devices, options };
    Ok(machine.launch(&request)?.remove(0))
}

/// Starts a program on all of its devices.
pub(crate) fn launch_all(
    machine: &Arc<Emulator>,
    program: &Arc<LoadedExecutable>,
    arguments: &[Vec<Arc<Buffer>>],
) -> Result<Vec<Launched>> {
    let lists = program.devices.iter().zip(arguments);
    let devices: Vec<_> = lists.map(|(&device, list)| DeviceRequest::new(device, list)).collect();
    let options = &LaunchOptions::default();
    machine.launch(&LaunchRequest { executable: program, devices: &devices, options })
}

/// What a program gives on a machine of its own.
pub(crate) fn run(text: &str, arguments: &[Array]) -> Vec<Array> {
    let machine = machine();
    let program = compile(&machine, text).unwrap();
    let arguments: Vec<Arc<Buffer>> = arguments.iter().map(|array| put(&machine, array)).collect();
    let results = launch(&machine, &program, &arguments).unwrap().results;
    results.into_iter().map(|buffer| get(buffer).unwrap()).collect()
}

/// The reasons why a program is refused.
pub(crate) fn refusal(text: &str) -> String {
    compile(&machine(), text).unwrap_err().to_string()
}
