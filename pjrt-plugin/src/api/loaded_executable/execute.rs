//! One run of a program on the devices of this process.
use crate::boundary::{Caller, c_args, end_of};
use crate::programs::{LoadedEntry, loaded};
use crate::state::{
    Device, MemoryEntry, buffer as buffer_of, context as context_of, device as device_of,
    give_event, give_viewed, memory as memory_of,
};
use crate::sys::{
    PJRT_Buffer, PJRT_Device, PJRT_Event, PJRT_ExecuteOptions, PJRT_LoadedExecutable_Execute_Args,
};
use crate::transfers;
use std::ptr::without_provenance;
use std::sync::Arc;
use tpu_emu::runtime::{DeviceRequest, LaunchOptions, LaunchRequest, Launched, RunKey};
use tpu_emu::{Buffer, Error, Memory, Result};

c_args!(PJRT_ExecuteOptions);

/// Starts a run on every device of the program that is this process's, or on `execute_device`:
/// then a program whose devices run as one starts when all of them have been called for.
///
/// Nothing is written unless every device has started. Errors of the runs themselves arrive
/// through the results' events and through `device_complete_events`.
#[doc(alias = "PJRT_LoadedExecutable_Execute")]
pub(in crate::api) fn execute(
    caller: &Caller,
    args: &mut PJRT_LoadedExecutable_Execute_Args,
) -> Result<()> {
    let entry = loaded(args.executable)?;
    if entry.is_deleted() {
        let name = &entry.of.executable.name;
        return Err(Error::WrongState(format!("executable {name} was deleted")));
    }
    let needed = end_of!(PJRT_ExecuteOptions, num_non_donatable_input_indices);
    let options = caller.read_sized(args.options.cast_const(), needed)?;
    if entry.devices.is_empty() && args.execute_device.is_null() && args.num_devices == 0 {
        // The program is on devices of other processes alone.
        return Ok(());
    }
    let launch = launch_options(caller, &entry, &options)?;
    let devices = devices(&entry, args)?;
    let transfers = transfers::callbacks(caller, &options, devices.len())?;
    let arguments = arguments(caller, &entry, args)?;
    let wanted = entry.of.executable.results.len();
    let outputs = caller.slice(args.output_lists, devices.len(), "output_lists")?;
    if let Some(place) = outputs.iter().position(|list| list.is_null()).filter(|_| wanted > 0) {
        return Err(Error::bad(format!("output list {place} is null; {wanted} results")));
    }
    let executable = &entry.of.executable;
    let launched = if executable.devices.len() > 1 && args.execute_device.is_null() {
        let launch = LaunchOptions { transfers, ..launch };
        let lists = devices.iter().zip(&arguments);
        let own: Vec<_> =
            lists.map(|(device, list)| DeviceRequest::new(device.index, list)).collect();
        let request = LaunchRequest { executable, devices: &own, options: &launch };
        if own.len() < executable.devices.len() {
            entry.machine.launch_part(&request)?
        } else {
            entry.machine.launch(&request)?
        }
    } else {
        let key = RunKey { run: i64::from(options.launch_id), devices: Vec::new() };
        let mut launched = Vec::with_capacity(devices.len());
        for (place, (device, arguments)) in devices.iter().zip(&arguments).enumerate() {
            let transfers = transfers.get(place).cloned().into_iter().collect();
            let launch = LaunchOptions { transfers, ..launch.clone() };
            let one = DeviceRequest::new(device.index, arguments);
            let request = LaunchRequest { executable, devices: &[one], options: &launch };
            match entry.machine.join(&request, &key) {
                Ok(run) => launched.push(run),
                Err(error) => {
                    end_callbacks(&launch, &launched);
                    return Err(error);
                }
            }
        }
        launched
    };
    for (place, (device, run)) in devices.iter().zip(launched).enumerate() {
        let Launched { results, done } = run;
        let mut known: Option<Arc<MemoryEntry>> = None;
        let views = &entry.of.output_views;
        for ((number, result), view) in results.into_iter().enumerate().zip(views) {
            // Most programs have all results in one memory.
            let memory = match known.take().filter(|known| known.memory == result.memory()) {
                Some(memory) => memory,
                None => memory_for(device, result.memory())?,
            };
            let handle = give_viewed(Arc::new(result), Arc::clone(view), &memory);
            known = Some(memory);
            caller.write(outputs[place].wrapping_add(number), handle, "output list")?;
        }
        if !args.device_complete_events.is_null() {
            let event: *mut PJRT_Event = give_event(done);
            let slot = args.device_complete_events.wrapping_add(place);
            caller.write(slot, event, "device_complete_events")?;
        }
    }
    Ok(())
}

/// Waits for runs that may call back: the callbacks of an execution that fails are gone when it
/// returns.
fn end_callbacks(launch: &LaunchOptions, launched: &[Launched]) {
    if !launch.transfers.is_empty() {
        // Their errors are of no interest: the execution has its own.
        launched.iter().for_each(|run| drop(run.done.wait()));
    }
}

/// What the machine needs of the options, callbacks apart.
fn launch_options(
    caller: &Caller,
    entry: &LoadedEntry,
    options: &PJRT_ExecuteOptions,
) -> Result<LaunchOptions> {
    let calls_back = options.num_send_ops > 0 || options.num_recv_ops > 0;
    let says = end_of!(PJRT_ExecuteOptions, use_major_to_minor_data_layout_for_callbacks);
    let row_major = options.use_major_to_minor_data_layout_for_callbacks != 0;
    if calls_back && options.struct_size >= says && !row_major {
        let what = "callbacks with use_major_to_minor_data_layout_for_callbacks = false";
        return Err(Error::Unimplemented(what.to_owned()));
    }
    let count = options.num_non_donatable_input_indices;
    let parameters = entry.of.executable.parameters.len();
    if count > parameters {
        let what = format!("{count} non_donatable_input_indices for {parameters} parameters");
        return Err(Error::bad(what));
    }
    let kept = caller.slice(options.non_donatable_input_indices, count, "indices")?;
    let not_donated = kept
        .iter()
        .map(|&index| {
            usize::try_from(index).ok().filter(|&index| index < parameters).ok_or_else(|| {
                Error::bad(format!("non-donatable input {index} of {parameters} parameters"))
            })
        })
        .collect::<Result<Vec<usize>>>()?;
    let context = match options.context.is_null() {
        true => None,
        false => Some(Arc::clone(&context_of(options.context)?.user_data) as Arc<_>),
    };
    Ok(LaunchOptions { not_donated, context, ..LaunchOptions::default() })
}

/// The devices to run on, in the order of the argument lists.
fn devices(
    entry: &LoadedEntry,
    args: &PJRT_LoadedExecutable_Execute_Args,
) -> Result<Vec<Arc<Device>>> {
    let own = |bits: usize| device_of(without_provenance::<PJRT_Device>(bits));
    let given = args.num_devices;
    let (name, wanted) = (&entry.of.executable.name, entry.of.executable.devices.len());
    if wanted > 1 && entry.devices.len() != wanted && !args.execute_device.is_null() {
        let what = format!(
            "one call for each device of {name}: it is on {wanted} devices, of which this process \
             has {}",
            entry.devices.len()
        );
        return Err(Error::Unimplemented(what));
    }
    if args.execute_device.is_null() {
        let count = entry.devices.len();
        if given != count {
            let what = format!("{given} argument lists for a program on {count} devices");
            return Err(Error::bad(what));
        }
        return entry.devices.iter().map(|&bits| own(bits)).collect();
    }
    if given != 1 {
        return Err(Error::bad(format!("{given} argument lists for one execute_device")));
    }
    let bits = args.execute_device.addr();
    let device = own(bits)?;
    if !device.addressable || !(entry.portable || entry.devices.contains(&bits)) {
        let info = &device.machine.topology().devices()[device.index];
        return Err(Error::bad(format!("{name} was not compiled for {info}")));
    }
    Ok(vec![device])
}

/// The buffers of each device.
fn arguments(
    caller: &Caller,
    entry: &LoadedEntry,
    args: &PJRT_LoadedExecutable_Execute_Args,
) -> Result<Vec<Vec<Arc<Buffer>>>> {
    let (given, wanted) = (args.num_args, entry.of.executable.parameters.len());
    if given != wanted {
        let name = &entry.of.executable.name;
        return Err(Error::bad(format!("{given} arguments for the {wanted} parameters of {name}")));
    }
    if wanted == 0 {
        return Ok(vec![Vec::new(); args.num_devices]);
    }
    let lists = caller.slice(args.argument_lists, args.num_devices, "argument_lists")?;
    let of_list = |list: &*const *mut PJRT_Buffer| -> Result<Vec<Arc<Buffer>>> {
        let handles = caller.slice(*list, given, "argument list")?;
        handles.iter().map(|&handle| Ok(Arc::clone(&buffer_of(handle)?.buffer))).collect()
    };
    lists.iter().map(of_list).collect()
}

/// The handle's side of a result's memory.
fn memory_for(device: &Device, memory: Memory) -> Result<Arc<MemoryEntry>> {
    let entries = device.memories().iter().map(|&bits| memory_of(without_provenance(bits)));
    for entry in entries {
        let entry = entry?;
        if entry.memory == memory {
            return Ok(entry);
        }
    }
    let kind = memory.kind.name();
    Err(Error::bad(format!("a result in {kind} memory, which device {} lacks", device.index)))
}
