//! `TpuLoadedProgramHandle`: a program on a core, and its runs.
// UNSAFETY: exports functions, and reads the client's lists.
#![expect(unsafe_code, reason = "functions of the C interface")]
use super::buffer::{self, Buffer};
use super::loans::{Loans, number};
use super::opened::{self, Driver};
use super::sys::{
    DeviceAssignment, TpuBufferHandle, TpuCompiledProgramHandle, TpuDriver, TpuEvent,
    TpuLoadedProgramHandle,
};
use super::{event, message, program};
use crate::boundary::answer;
use std::ptr;
use std::sync::Arc;
use tpu_emu::hbm::spec::ArraySpec;
use tpu_emu::runtime::{DeviceRequest, LaunchOptions, LaunchRequest, LoadedExecutable};
use tpu_emu::{Emulator, Error, Id, Result};
use tpu_proto::Message;
use tpu_proto::xla::DeviceAssignmentProto;

static LOADED: Loans<TpuLoadedProgramHandle, Loaded> = Loans::new("TpuLoadedProgramHandle");

/// A program on a core.
#[derive(Debug)]
struct Loaded {
    executable: Arc<LoadedExecutable>,
    /// Index into the topology's devices.
    device: usize,
}

impl Loaded {
    fn run(
        &self,
        machine: &Arc<Emulator>,
        inputs: &[Arc<Buffer>],
        outputs: &[Arc<Buffer>],
    ) -> Result<()> {
        let program = &self.executable;
        let wanted = program.parameters.iter().map(|parameter| &parameter.spec);
        let arguments = self.views(machine, "input", inputs, wanted)?;
        let wanted = program.results.iter().map(|result| &result.spec);
        let results = self.views(machine, "output", outputs, wanted)?;
        let options = LaunchOptions::default();
        let (device, results) = (self.device, Some(&*results));
        let devices = &[DeviceRequest { device, arguments: &arguments, results }];
        let request = LaunchRequest { executable: program, devices, options: &options };
        machine.launch(&request)?.iter().try_for_each(|launched| launched.done.wait())
    }

    /// The bytes of buffers, tuples dissolved, as arrays of these types.
    fn views<'a>(
        &self,
        machine: &Arc<Emulator>,
        what: &str,
        buffers: &[Arc<Buffer>],
        wanted: impl ExactSizeIterator<Item = &'a Arc<ArraySpec>>,
    ) -> Result<Vec<Arc<tpu_emu::Buffer>>> {
        let name = &self.executable.name;
        let mut leaves = Vec::new();
        let most = wanted.len();
        let fit = buffers.iter().try_for_each(|buffer| buffer.leaves(&mut leaves, most));
        if fit.is_err() || leaves.len() != most {
            let had = if fit.is_err() { "more".to_owned() } else { leaves.len().to_string() };
            return Err(Error::bad(format!("{name} has {most} {what}s; {had} were given")));
        }
        let view = |(index, (leaf, spec)): (usize, (&Arc<Buffer>, &Arc<ArraySpec>))| {
            let of = |error: Error| match error {
                Error::BadArgument(text) => Error::bad(format!("{what} {index}: {text}")),
                Error::WrongState(text) => Error::WrongState(format!("{what} {index}: {text}")),
                other => other,
            };
            let (text, needed, had) = (spec.text(), spec.logical, leaf.size);
            if had < needed {
                let message = format!("{text} takes {needed}; the buffer has {had}");
                return Err(of(Error::bad(message)));
            }
            if leaf.device != self.device {
                let (had, wanted) = (leaf.device, self.device);
                let message = format!("on core {had}; the program is on core {wanted}");
                return Err(of(Error::bad(message)));
            }
            let address = leaf.address().map_err(of)?.unwrap_or(0);
            machine.raw_buffer(self.device, address, had, spec).map_err(of)
        };
        leaves.iter().zip(wanted).enumerate().map(view).collect()
    }

    /// Whether a client's assignment means the core that the program is on.
    fn check_assignment(&self, machine: &Emulator, bytes: &[u8]) -> Result<()> {
        let assignment = DeviceAssignmentProto::decode(bytes).map_err(|error| {
            Error::bad(format!("{} bytes are no DeviceAssignmentProto: {error}", bytes.len()))
        })?;
        let lists = &assignment.computation_devices;
        let devices: Vec<i64> =
            lists.iter().flat_map(|list| list.replica_device_ids.iter().copied()).collect();
        let own = machine.topology().devices().get(self.device).map(|device| device.id);
        let own = own.ok_or_else(|| Error::bad(format!("no core {}", self.device)))?;
        match *devices {
            [] => Ok(()),
            [device] if device == i64::from(own) => Ok(()),
            [device] => {
                let message = format!("a device assignment to {device}; the program is on {own}");
                Err(Error::bad(message))
            }
            _ => {
                let count = devices.len();
                Err(Error::Unimplemented(format!("a device assignment to {count} devices")))
            }
        }
    }
}

/// Takes back all loaded programs of a driver.
pub(super) fn forget_all(of: Id<Driver>) {
    drop(LOADED.take_all(of));
}

/// Puts a program on a core. Where that fails, the handle's event has the error; null without a
/// driver.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn TpuDriver_LoadProgram(
    driver: *mut TpuDriver,
    core_id: i32,
    compiled_program_handle: *const TpuCompiledProgramHandle,
    eventc: i32,
    eventv: *mut *mut TpuEvent,
) -> *mut TpuLoadedProgramHandle {
    answer(&"TpuDriver_LoadProgram", ptr::null_mut(), || {
        let opened = opened::get(driver)?;
        // SAFETY: the contract of the interface.
        let ready = unsafe { event::wait_all(eventc, eventv) };
        let loaded = ready.and_then(|()| {
            let device = opened.core(core_id)?;
            let program = program::get(compiled_program_handle, opened.id)?;
            Ok(Loaded { executable: Arc::clone(&program.executable), device })
        });
        let event = event::give(loaded.as_ref().map(|_| ()).map_err(Clone::clone));
        let own = TpuLoadedProgramHandle { internal_handle: number(opened.id), event };
        Ok(LOADED.give(own, Some(opened.id), loaded.map(Arc::new)))
    })
}

/// Takes a program from its core and frees its handle, after the events and whatever their
/// outcome is.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn TpuDriver_UnloadProgram(
    driver: *mut TpuDriver,
    loaded_program_handle: *mut TpuLoadedProgramHandle,
    eventc: i32,
    eventv: *mut *mut TpuEvent,
) -> *mut TpuEvent {
    event::report(&"TpuDriver_UnloadProgram", || {
        let opened = opened::get(driver)?;
        // SAFETY: the contract of the interface.
        let ready = unsafe { event::wait_all(eventc, eventv) };
        drop(LOADED.take(loaded_program_handle, Some(opened.id))?);
        ready
    })
}

/// Runs a program on its core. Parameters are read from the input buffers and results written to
/// the output buffers, tuples dissolved on both sides; the types are the program's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn TpuDriver_ExecuteProgram(
    driver: *mut TpuDriver,
    handle: *mut TpuLoadedProgramHandle,
    inputc: i32,
    input_buffer_handle: *mut *mut TpuBufferHandle,
    outputc: i32,
    output_buffer_handle: *mut *mut TpuBufferHandle,
    device_assignment: DeviceAssignment,
    eventc: i32,
    eventv: *mut *mut TpuEvent,
) -> *mut TpuEvent {
    event::report(&"TpuDriver_ExecuteProgram", || {
        let opened = opened::get(driver)?;
        // SAFETY: the contract of the interface.
        unsafe { event::wait_all(eventc, eventv) }?;
        let loaded = LOADED.get(handle, opened.id)?;
        let DeviceAssignment { bytes, size } = device_assignment;
        // SAFETY: as above.
        let assignment = unsafe { message(bytes.cast_const(), size, "device_assignment") }?;
        loaded.check_assignment(&opened.machine, assignment)?;
        // SAFETY: as above.
        let inputs = unsafe { buffer::list(input_buffer_handle, inputc, opened.id) }?;
        // SAFETY: as above.
        let outputs = unsafe { buffer::list(output_buffer_handle, outputc, opened.id) }?;
        loaded.run(&opened.machine, &inputs, &outputs)
    })
}
