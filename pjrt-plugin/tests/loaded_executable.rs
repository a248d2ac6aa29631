//! Programs on devices, and runs, through the table.
#![expect(unsafe_code, reason = "calls the deleters that come with bytes")]

mod c;

use c::buffers::{destroy, get};
use c::contract::contract;
use c::programs::{
    DOUBLE, DOUBLE_IN_PLACE, Run, THREE_RESULTS, compile, compile_with, end, floats, on_device,
    value,
};
use c::{Client, INVALID, UNIMPLEMENTED, WRONG_STATE, assert_refused, blank, call, list, text};
use pjrt_sys::{PJRT_Buffer, PJRT_ExecuteOptions};
use std::ptr::null_mut;
use tpu_proto::Message;
use tpu_proto::xla::{CompileOptionsProto, DeviceAssignmentProto};

#[test]
fn every_function_keeps_the_contract() {
    let client = Client::new();
    let it = compile(&client, DOUBLE);
    contract!(PJRT_LoadedExecutable_GetExecutable(loaded_executable, executable),
        loaded_executable: it
        => |args| c::programs::end_executable(args.executable));
    contract!(PJRT_LoadedExecutable_AddressableDevices(executable, num_addressable_devices),
        executable: it);
    contract!(
        PJRT_LoadedExecutable_AddressableDeviceLogicalIds(
            executable, num_addressable_device_logical_ids
        ),
        executable: it);
    contract!(PJRT_LoadedExecutable_IsDeleted(executable, is_deleted), executable: it);
    contract!(PJRT_LoadedExecutable_Fingerprint(executable, executable_fingerprint_size),
        executable: it);
    contract!(
    PJRT_LoadedExecutable_GetDeviceAssignment(executable, serialized_device_assignment_deleter),
    executable: it
    => |args| {
        // SAFETY: the deleter and its object are of one answer, used once.
        unsafe {
            args.serialized_device_assignment_deleter.unwrap()(args.serialized_device_assignment);
        }
    });
    let argument = floats(&client, 0, 1.0);
    let arguments = [(&raw const argument)];
    let mut options = blank::<PJRT_ExecuteOptions>();
    let mut result: *mut PJRT_Buffer = null_mut();
    let place = &raw mut result;
    contract!(PJRT_LoadedExecutable_Execute(executable, execute_device),
        executable: it, options: &raw mut options, argument_lists: arguments.as_ptr(),
        num_devices: 1, num_args: 1, output_lists: &raw const place
        => |args| destroy(list(list(args.output_lists, 1)[0].cast_const(), 1)[0]));
    destroy(argument);
    contract!(PJRT_LoadedExecutable_Delete(executable, executable), executable: it);
    end(it);
}

#[test]
fn a_run_gives_new_buffers_on_the_programs_device() {
    let client = Client::new();
    let it = compile_with(&client, DOUBLE, &on_device(3)).unwrap();
    let argument = floats(&client, 3, 1.5);
    let results = Run::new(it, &[argument], 1).start().unwrap();
    assert_eq!(value(results[0]), 3.0);
    assert_eq!(value(argument), 1.5);
    let device = call!(PJRT_Buffer_Device, buffer: results[0]).unwrap().device;
    assert_eq!(device, client.device(3));
    let memory = call!(PJRT_Buffer_Memory, buffer: results[0]).unwrap().memory;
    assert_eq!(memory, client.hbm(3));
    [argument, results[0]].into_iter().for_each(destroy);
    end(it);
}

#[test]
fn several_results_are_written_in_order() {
    let client = Client::new();
    let it = compile(&client, THREE_RESULTS);
    let results = Run::new(it, &[], 3).start().unwrap();
    assert_eq!(get(results[0]).unwrap(), 1.5_f32.to_ne_bytes());
    let numbers: Vec<u8> = [1_i32, 2, 3].into_iter().flat_map(i32::to_ne_bytes).collect();
    assert_eq!(get(results[1]).unwrap(), numbers);
    assert_eq!(get(results[2]).unwrap(), [1, 1]);
    results.into_iter().for_each(destroy);
    end(it);
}

#[test]
fn a_donated_argument_is_deleted_unless_the_caller_keeps_it() {
    let client = Client::new();
    let it = compile(&client, DOUBLE_IN_PLACE);
    let is_deleted = |buffer| call!(PJRT_Buffer_IsDeleted, buffer: buffer).unwrap().is_deleted != 0;
    let argument = floats(&client, 0, 2.0);
    let kept = [0_i64];
    let mut run = Run::new(it, std::slice::from_ref(&argument), 1);
    run.options.non_donatable_input_indices = kept.as_ptr();
    run.options.num_non_donatable_input_indices = 1;
    let first = run.start().unwrap()[0];
    assert!(!is_deleted(argument));
    assert_eq!(value(argument), 2.0);
    let second = Run::new(it, &[argument], 1).start().unwrap()[0];
    assert!(is_deleted(argument));
    assert_eq!((value(first), value(second)), (4.0, 4.0));
    [argument, first, second].into_iter().for_each(destroy);
    end(it);
}

#[test]
fn arguments_of_another_number_shape_or_device_are_refused() {
    let client = Client::new();
    let it = compile(&client, DOUBLE);
    let none = Run::new(it, &[], 1).start();
    assert_refused(none, INVALID, &["0 arguments for the 1 parameters of jit_double"]);
    let small = c::buffers::Array::dense(c::buffers::F32, &[1], &[0; 4]);
    let small = small.put(&client, client.hbm(0)).unwrap();
    assert_refused(Run::new(it, &[small], 1).start(), INVALID, &["[8,128]"]);
    let elsewhere = floats(&client, 1, 1.0);
    assert_refused(Run::new(it, &[elsewhere], 1).start(), INVALID, &[]);
    assert_refused(Run::new(it, &[null_mut()], 1).start(), INVALID, &["null buffer"]);
    destroy(small);
    assert_refused(Run::new(it, &[small], 1).start(), INVALID, &["stale"]);
    destroy(elsewhere);
    end(it);
}

#[test]
fn a_device_must_be_one_that_the_program_was_compiled_for() {
    let client = Client::new();
    let it = compile(&client, DOUBLE);
    let argument = floats(&client, 0, 1.0);
    let arguments = [argument];
    let on = |index| Run { device: client.device(index), ..Run::new(it, &arguments, 1) };
    let result = on(0).start().unwrap()[0];
    assert_refused(on(2).start(), INVALID, &["jit_double was not compiled for TpuDevice(id=2"]);
    [argument, result].into_iter().for_each(destroy);
    end(it);
}

#[test]
fn a_portable_program_runs_on_the_device_of_the_call() {
    let client = Client::new();
    let options = CompileOptionsProto { compile_portable_executable: true, ..<_>::default() };
    let it = compile_with(&client, DOUBLE, &options.encode_to_vec()).unwrap();
    let argument = floats(&client, 5, 2.0);
    let arguments = [argument];
    let run = Run { device: client.device(5), ..Run::new(it, &arguments, 1) };
    let result = run.start().unwrap()[0];
    assert_eq!(value(result), 4.0);
    let device = call!(PJRT_Buffer_Device, buffer: result).unwrap().device;
    assert_eq!(device, client.device(5));
    [argument, result].into_iter().for_each(destroy);
    end(it);
}

#[test]
fn callbacks_and_indices_that_nothing_has_are_refused() {
    let client = Client::new();
    let it = compile(&client, DOUBLE);
    let argument = floats(&client, 0, 1.0);
    let arguments = [argument];
    let mut run = Run::new(it, &arguments, 1);
    run.options.num_send_ops = 1;
    assert_refused(run.start(), UNIMPLEMENTED, &["major_to_minor"]);
    run.options.use_major_to_minor_data_layout_for_callbacks = 1;
    assert_refused(run.start(), INVALID, &["null send_callbacks"]);
    for wrong in [-1_i64, 1, i64::MAX] {
        let mut run = Run::new(it, &arguments, 1);
        run.options.non_donatable_input_indices = &raw const wrong;
        run.options.num_non_donatable_input_indices = 1;
        assert_refused(run.start(), INVALID, &[&wrong.to_string(), "of 1 parameters"]);
    }
    let mut run = Run::new(it, &arguments, 1);
    run.options.num_non_donatable_input_indices = usize::MAX;
    assert_refused(run.start(), INVALID, &["for 1 parameters"]);
    let mut run = Run::new(it, &arguments, 1);
    run.options.struct_size = 64;
    assert_refused(run.start(), INVALID, &["PJRT_ExecuteOptions", "64"]);
    destroy(argument);
    end(it);
}

#[test]
fn a_deleted_program_says_so_and_runs_no_more() {
    let client = Client::new();
    let it = compile(&client, DOUBLE);
    let is_deleted =
        || call!(PJRT_LoadedExecutable_IsDeleted, executable: it).unwrap().is_deleted != 0;
    assert!(!is_deleted());
    call!(PJRT_LoadedExecutable_Delete, executable: it).unwrap();
    assert!(is_deleted());
    let run = Run::new(it, &[], 1).start();
    assert_refused(run, WRONG_STATE, &["executable jit_double was deleted"]);
    end(it);
    assert_refused(
        call!(PJRT_LoadedExecutable_IsDeleted, executable: it),
        INVALID,
        &["loaded executable", "stale"],
    );
}

#[test]
fn the_devices_are_those_of_the_options() {
    let client = Client::new();
    let it = compile_with(&client, DOUBLE, &on_device(3)).unwrap();
    let of = call!(PJRT_LoadedExecutable_AddressableDevices, executable: it).unwrap();
    let devices = list(of.addressable_devices, of.num_addressable_devices);
    assert_eq!(devices, [client.device(3)]);
    let of = call!(PJRT_LoadedExecutable_AddressableDeviceLogicalIds, executable: it).unwrap();
    let ids = of.addressable_device_logical_ids.cast_const();
    let ids = list(ids, of.num_addressable_device_logical_ids);
    assert_eq!(ids.iter().map(|id| (id.replica, id.partition)).collect::<Vec<_>>(), [(0, 0)]);
    let of = call!(PJRT_LoadedExecutable_GetDeviceAssignment, executable: it).unwrap();
    let bytes = list(of.serialized_bytes.cast::<u8>(), of.serialized_bytes_size);
    // SAFETY: the deleter and its object are of one answer, used once.
    unsafe { of.serialized_device_assignment_deleter.unwrap()(of.serialized_device_assignment) };
    let assignment = DeviceAssignmentProto::decode(&*bytes).unwrap();
    assert_eq!((assignment.replica_count, assignment.computation_count), (1, 1));
    assert_eq!(assignment.computation_devices[0].replica_device_ids, [3]);
    end(it);
}

#[test]
fn a_loaded_program_has_the_fingerprint_of_its_executable() {
    let client = Client::new();
    let it = compile(&client, DOUBLE);
    let executable = c::programs::executable_of(it);
    let one = call!(PJRT_LoadedExecutable_Fingerprint, executable: it).unwrap();
    let other = call!(PJRT_Executable_Fingerprint, executable: executable).unwrap();
    assert_eq!(
        text(one.executable_fingerprint, one.executable_fingerprint_size),
        text(other.executable_fingerprint, other.executable_fingerprint_size)
    );
    c::programs::end_executable(executable);
    end(it);
}
