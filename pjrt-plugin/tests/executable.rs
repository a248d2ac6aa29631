//! What can be asked about a compiled program, through the table.
#![expect(unsafe_code, reason = "calls the deleters that come with bytes")]

mod c;

use c::contract::contract;
use c::programs::{
    DOUBLE, DOUBLE_IN_PLACE, THREE_RESULTS, compile, end, end_executable, executable_of, on_device,
    texts,
};
use c::{Client, INVALID, assert_refused, blank, call, list, text};
use pjrt_sys::{
    PJRT_Buffer_Type, PJRT_Executable, PJRT_Executable_GetCompiledMemoryStats_Args,
    PJRT_NamedValue_Type, PJRT_Program,
};
use std::collections::BTreeMap;
use std::ptr::null_mut;

/// Compiles, asks, and gives everything back.
fn with(code: &str, ask: impl FnOnce(*mut PJRT_Executable)) {
    let client = Client::new();
    let loaded = compile(&client, code);
    let executable = executable_of(loaded);
    ask(executable);
    end_executable(executable);
    end(loaded);
}

#[test]
fn every_function_keeps_the_contract() {
    with(DOUBLE, |it| {
        contract!(PJRT_Executable_Name(executable, executable_name_size), executable: it);
        contract!(PJRT_Executable_NumReplicas(executable, num_replicas), executable: it);
        contract!(PJRT_Executable_NumPartitions(executable, num_partitions), executable: it);
        contract!(PJRT_Executable_NumOutputs(executable, num_outputs), executable: it);
        contract!(PJRT_Executable_SizeOfGeneratedCodeInBytes(executable, size_in_bytes),
            executable: it);
        contract!(PJRT_Executable_GetCostAnalysis(executable, properties), executable: it);
        contract!(PJRT_Executable_OutputMemoryKinds(executable, memory_kind_sizes),
            executable: it);
        contract!(PJRT_Executable_ParameterMemoryKinds(executable, memory_kind_sizes),
            executable: it);
        contract!(PJRT_Executable_OutputElementTypes(executable, num_output_types),
            executable: it);
        contract!(PJRT_Executable_OutputDimensions(executable, dim_sizes), executable: it);
        contract!(PJRT_Executable_Fingerprint(executable, executable_fingerprint_size),
            executable: it);
        contract!(PJRT_Executable_GetCompiledMemoryStats(executable, host_temp_size_in_bytes),
            executable: it);
        contract!(
        PJRT_Executable_GetCompileOptions(executable, serialized_compile_options_deleter),
        executable: it
        => |args| {
            // SAFETY: the deleter and its object are of one answer, used once.
            unsafe {
                args.serialized_compile_options_deleter.unwrap()(args.serialized_compile_options);
            }
        });
        let mut program = blank::<PJRT_Program>();
        contract!(PJRT_Executable_OptimizedProgram(executable, program),
            executable: it, program: &raw mut program);
    });
}

#[test]
fn a_destroyed_handle_is_stale_and_null_is_nothing_to_destroy() {
    let client = Client::new();
    let loaded = compile(&client, DOUBLE);
    let (first, second) = (executable_of(loaded), executable_of(loaded));
    assert_ne!(first, second);
    end_executable(first);
    assert_refused(call!(PJRT_Executable_Name, executable: first), INVALID, &["stale"]);
    assert_refused(call!(PJRT_Executable_Destroy, executable: first), INVALID, &["stale"]);
    end(loaded);
    assert!(call!(PJRT_Executable_Name, executable: second).is_ok());
    end_executable(second);
    call!(PJRT_Executable_Destroy, executable: null_mut()).unwrap();
    call!(PJRT_LoadedExecutable_Destroy, executable: null_mut()).unwrap();
}

#[test]
fn a_program_has_the_name_of_its_module_and_parts_as_the_options_say() {
    with(DOUBLE, |it| {
        let name = call!(PJRT_Executable_Name, executable: it).unwrap();
        assert_eq!(text(name.executable_name, name.executable_name_size), "jit_double");
        assert_eq!(call!(PJRT_Executable_NumReplicas, executable: it).unwrap().num_replicas, 1);
        let partitions = call!(PJRT_Executable_NumPartitions, executable: it).unwrap();
        assert_eq!(partitions.num_partitions, 1);
    });
}

#[test]
fn results_are_listed_one_behind_the_other() {
    with(THREE_RESULTS, |it| {
        assert_eq!(call!(PJRT_Executable_NumOutputs, executable: it).unwrap().num_outputs, 3);
        let types = call!(PJRT_Executable_OutputElementTypes, executable: it).unwrap();
        let types = list(types.output_types.cast_const(), types.num_output_types);
        assert_eq!(
            types,
            [
                PJRT_Buffer_Type::PJRT_Buffer_Type_F32,
                PJRT_Buffer_Type::PJRT_Buffer_Type_S32,
                PJRT_Buffer_Type::PJRT_Buffer_Type_PRED
            ]
        );
        let shapes = call!(PJRT_Executable_OutputDimensions, executable: it).unwrap();
        assert_eq!(list(shapes.dim_sizes, shapes.num_outputs), [0, 1, 2]);
        assert_eq!(list(shapes.dims, 3), [3, 2, 1]);
    });
}

#[test]
fn memory_kinds_are_the_default_unless_the_program_says_more() {
    with(DOUBLE, |it| {
        let of = call!(PJRT_Executable_OutputMemoryKinds, executable: it).unwrap();
        assert_eq!(texts(of.memory_kinds, of.memory_kind_sizes, of.num_outputs), ["device"]);
        let of = call!(PJRT_Executable_ParameterMemoryKinds, executable: it).unwrap();
        assert_eq!(texts(of.memory_kinds, of.memory_kind_sizes, of.num_parameters), ["device"]);
    });
    with(THREE_RESULTS, |it| {
        let of = call!(PJRT_Executable_ParameterMemoryKinds, executable: it).unwrap();
        assert_eq!(of.num_parameters, 0);
    });
}

#[test]
fn the_work_of_a_run_has_the_names_of_xla() {
    with(DOUBLE, |it| {
        let of = call!(PJRT_Executable_GetCostAnalysis, executable: it).unwrap();
        let values: BTreeMap<String, f32> = list(of.properties, of.num_properties)
            .into_iter()
            .map(|value| {
                assert_eq!(value.type_, PJRT_NamedValue_Type::PJRT_NamedValue_kFloat);
                // SAFETY: a float, as the type says.
                (text(value.name, value.name_size), unsafe { value.anon_1.float_value })
            })
            .collect();
        let names: Vec<&str> = values.keys().map(String::as_str).collect();
        assert_eq!(names, ["bytes accessed", "flops", "optimal_seconds", "transcendentals"]);
        assert!((values["flops"] - 1024.0).abs() < 0.5, "{values:?}");
    });
}

#[test]
fn memory_is_counted_in_tiles() {
    with(DOUBLE, |it| {
        let stats = call!(PJRT_Executable_GetCompiledMemoryStats, executable: it).unwrap();
        assert_eq!(stats.argument_size_in_bytes, 4096);
        assert_eq!(stats.output_size_in_bytes, 4096);
        assert_eq!(stats.alias_size_in_bytes, 0);
        let sum = 8192 + stats.temp_size_in_bytes + stats.generated_code_size_in_bytes;
        assert_eq!(stats.total_size_in_bytes, sum);
        assert!(stats.peak_memory_in_bytes >= 8192, "{}", stats.peak_memory_in_bytes);
        let code = call!(PJRT_Executable_SizeOfGeneratedCodeInBytes, executable: it).unwrap();
        assert_eq!(code.size_in_bytes, stats.generated_code_size_in_bytes);
    });
    with(DOUBLE_IN_PLACE, |it| {
        let stats = call!(PJRT_Executable_GetCompiledMemoryStats, executable: it).unwrap();
        assert_eq!(stats.alias_size_in_bytes, 4096);
    });
}

#[test]
fn an_older_header_gets_the_statistics_it_knows() {
    with(DOUBLE, |it| {
        let mut args = blank::<PJRT_Executable_GetCompiledMemoryStats_Args>();
        let peak =
            std::mem::offset_of!(PJRT_Executable_GetCompiledMemoryStats_Args, peak_memory_in_bytes);
        (args.struct_size, args.executable, args.peak_memory_in_bytes) = (peak, it, -7);
        let function = c::api().PJRT_Executable_GetCompiledMemoryStats.unwrap();
        // SAFETY: a struct of the function's own type, or its beginning.
        c::outcome(unsafe { function(&raw mut args) }).unwrap();
        assert_eq!((args.argument_size_in_bytes, args.peak_memory_in_bytes), (4096, -7));
    });
}

#[test]
fn the_options_come_back_as_they_went() {
    with(DOUBLE, |it| {
        let of = call!(PJRT_Executable_GetCompileOptions, executable: it).unwrap();
        let bytes = list(of.serialized_bytes.cast::<u8>(), of.serialized_bytes_size);
        // SAFETY: the deleter and its object are of one answer, used once.
        unsafe { of.serialized_compile_options_deleter.unwrap()(of.serialized_compile_options) };
        assert_eq!(bytes, on_device(0));
    });
}

#[test]
fn the_program_comes_back_in_two_calls() {
    with(DOUBLE, |it| {
        let mut program = blank::<PJRT_Program>();
        let ask = |program: *mut PJRT_Program| call!(PJRT_Executable_OptimizedProgram, executable: it, program: program);
        ask(&raw mut program).unwrap();
        assert_eq!(text(program.format, program.format_size), "mlir");
        let mut room = vec![0_u8; program.code_size];
        program.code = room.as_mut_ptr().cast();
        ask(&raw mut program).unwrap();
        let told = String::from_utf8(room.clone()).unwrap();
        for part in [
            "stablehlo.add",
            "mhlo.xla_entry_computation_parameter_layouts = [dense<[1, 0]> : tensor<2xindex>]",
            "mhlo.xla_entry_computation_result_layout = [dense<[1, 0]> : tensor<2xindex>]",
            "mhlo.xla_entry_computation_result_tiles = [[dense<[8, 128]> : tensor<2xindex>]]",
        ] {
            assert!(told.contains(part), "{part} is not in {told}");
        }
        program.code_size -= 1;
        assert_refused(ask(&raw mut program), INVALID, &["room for"]);
        assert_refused(ask(null_mut()), INVALID, &["null PJRT_Program"]);
    });
}

#[test]
fn equal_programs_have_one_fingerprint_and_others_another() {
    let fingerprint = |code: &str| {
        let mut found = String::new();
        with(code, |it| {
            let of = call!(PJRT_Executable_Fingerprint, executable: it).unwrap();
            found = text(of.executable_fingerprint, of.executable_fingerprint_size);
        });
        found
    };
    assert_eq!(fingerprint(DOUBLE), fingerprint(DOUBLE));
    assert_ne!(fingerprint(DOUBLE), fingerprint(THREE_RESULTS));
    assert!(!fingerprint(DOUBLE).is_empty());
}
