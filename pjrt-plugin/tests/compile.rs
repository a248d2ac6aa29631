//! Compiling, loading and serializing, through the table.
#![expect(unsafe_code, reason = "calls the deleters that come with bytes")]
#![expect(clippy::unwrap_used, reason = "a test may stop anywhere")]

mod c;

use c::buffers::destroy;
use c::contract::contract;
use c::programs::{
    DOUBLE, Run, compile, compile_with, deserialize, end, end_executable, executable_of, floats,
    on_device, program, serialize, value,
};
use c::{Client, Failure, INVALID, assert_refused, call};
use pjrt_sys::{PJRT_Executable, PJRT_LoadedExecutable, PJRT_TopologyDescription};

fn topology(name: &str) -> *mut PJRT_TopologyDescription {
    let args = call!(PJRT_TopologyDescription_Create,
        topology_name: name.as_ptr().cast(), topology_name_size: name.len());
    args.unwrap().topology
}

fn compile_for(topology: *mut PJRT_TopologyDescription) -> *mut PJRT_Executable {
    let program = program(DOUBLE.as_bytes(), "mlir");
    let args = call!(PJRT_Compile, topology: topology.cast_const(), program: &raw const program);
    args.unwrap().executable
}

fn load(
    client: &Client,
    executable: *mut PJRT_Executable,
    options: &[u8],
) -> Result<*mut PJRT_LoadedExecutable, Failure> {
    let args = call!(PJRT_Client_Load, client: client.raw, executable: executable,
        compile_options: options.as_ptr().cast(), compile_options_size: options.len())?;
    Ok(args.loaded_executable)
}

/// Runs [`DOUBLE`] on a device.
fn assert_doubles(client: &Client, it: *mut PJRT_LoadedExecutable, device: usize) {
    let argument = floats(client, device, 1.0);
    let result = Run::new(it, &[argument], 1).start().unwrap()[0];
    assert_eq!(value(result), 2.0);
    [argument, result].into_iter().for_each(destroy);
}

#[test]
fn every_function_keeps_the_contract() {
    let client = Client::new();
    let code = program(DOUBLE.as_bytes(), "mlir");
    contract!(PJRT_Client_Compile(client, executable),
        client: client.raw, program: &raw const code
        => |args| end(args.executable));
    let slice = topology("v5e:2x4");
    contract!(PJRT_Compile(-, executable), topology: slice.cast_const(), program: &raw const code
        => |args| end_executable(args.executable));
    call!(PJRT_TopologyDescription_Destroy, topology: slice).unwrap();
    let it = compile(&client, DOUBLE);
    let executable = executable_of(it);
    contract!(PJRT_Client_Load(client, loaded_executable),
        client: client.raw, executable: executable
        => |args| end(args.loaded_executable));
    contract!(PJRT_Executable_Serialize(-, serialized_executable_deleter),
    executable: executable.cast_const()
    => |args| {
        // SAFETY: the deleter and its object are of one answer, used once.
        unsafe { args.serialized_executable_deleter.unwrap()(args.serialized_executable) };
    });
    let bytes = serialize(executable);
    contract!(PJRT_Executable_DeserializeAndLoad(client, loaded_executable),
        client: client.raw, serialized_executable: bytes.as_ptr().cast(),
        serialized_executable_size: bytes.len()
        => |args| end(args.loaded_executable));
    end_executable(executable);
    end(it);
}

#[test]
fn a_program_of_no_known_format_or_of_no_known_bytes_is_refused() {
    let client = Client::new();
    let refused = |code: &[u8], format| {
        let program = program(code, format);
        call!(PJRT_Client_Compile, client: client.raw, program: &raw const program)
    };
    assert_refused(refused(b"x", "onnx"), INVALID, &["\"onnx\"", "mlir, hlo, hlo_with_config"]);
    for damaged in [&b""[..], b"ML\xefR", b"\xff\xfe\x00", b"module {"] {
        assert!(refused(damaged, "mlir").is_err(), "{damaged:?}");
    }
    assert_refused(call!(PJRT_Client_Compile, client: client.raw), INVALID, &["null PJRT_Program"]);
}

#[test]
fn options_that_are_no_message_or_name_no_device_are_refused() {
    let client = Client::new();
    assert_refused(
        compile_with(&client, DOUBLE, b"\xff"),
        INVALID,
        &["1 bytes of compile options"],
    );
    assert_refused(compile_with(&client, DOUBLE, &on_device(4711)), INVALID, &["4711"]);
}

#[test]
fn an_unknown_option_is_refused_in_the_words_of_xla_alone() {
    use tpu_proto::Message;
    use tpu_proto::xla::{CompileOptionsProto, OptionOverrideProto};
    let client = Client::new();
    let option = ("invalid_key".to_owned(), OptionOverrideProto::default());
    let options = CompileOptionsProto {
        env_option_overrides: [option].into_iter().collect(),
        ..<_>::default()
    };
    let failure = compile_with(&client, DOUBLE, &options.encode_to_vec()).unwrap_err();
    assert_eq!(failure.message, "No such compile option: 'invalid_key'");
    assert_eq!(failure.code, INVALID);
}

/// [`DOUBLE`] in XLA's own form.
fn double_proto() -> tpu_proto::xla::HloModuleProto {
    use tpu_proto::xla::{HloComputationProto, HloInstructionProto, PrimitiveType, ShapeProto};
    let shape = ShapeProto {
        element_type: PrimitiveType::F32.into(),
        dimensions: vec![8, 128],
        ..<_>::default()
    };
    let one = |opcode: &str, id, operand_ids| HloInstructionProto {
        name: format!("{opcode}.{id}"),
        opcode: opcode.into(),
        shape: Some(shape.clone()),
        id,
        operand_ids,
        ..<_>::default()
    };
    let main = HloComputationProto {
        name: "main".into(),
        id: 1,
        root_id: 2,
        instructions: vec![one("parameter", 1, vec![]), one("add", 2, vec![1, 1])],
        ..<_>::default()
    };
    tpu_proto::xla::HloModuleProto {
        name: "double".into(),
        entry_computation_id: 1,
        computations: vec![main],
        ..<_>::default()
    }
}

#[test]
fn programs_as_hlo_protos_run() {
    use tpu_proto::Message;
    use tpu_proto::xla::HloModuleProtoWithConfig;
    let client = Client::new();
    let options = on_device(0);
    let both = HloModuleProtoWithConfig { hlo_module: Some(double_proto()), ..<_>::default() };
    for (code, format) in
        [(double_proto().encode_to_vec(), "hlo"), (both.encode_to_vec(), "hlo_with_config")]
    {
        let code = program(&code, format);
        let it = call!(PJRT_Client_Compile,
            client: client.raw,
            program: &raw const code,
            compile_options: options.as_ptr().cast(),
            compile_options_size: options.len());
        let it = it.unwrap().executable;
        assert_doubles(&client, it, 0);
        end(it);
    }
}

#[test]
fn a_program_compiled_ahead_of_time_runs_on_a_client_of_the_same_kind() {
    let client = Client::new();
    let own = call!(PJRT_Client_TopologyDescription, client: client.raw).unwrap().topology;
    let executable = compile_for(own);
    let it = load(&client, executable, &[]).unwrap();
    assert_doubles(&client, it, 0);
    end(it);
    let it = load(&client, executable, &on_device(2)).unwrap();
    assert_doubles(&client, it, 2);
    end(it);
    let bytes = serialize(executable);
    let it = deserialize(&client, &bytes, &on_device(1)).unwrap();
    assert_doubles(&client, it, 1);
    end(it);
    end_executable(executable);
}

#[test]
fn a_program_for_another_kind_of_device_is_refused_by_the_names_of_both() {
    let client = Client::new();
    let slice = topology("v4:2x2x1");
    let executable = compile_for(slice);
    call!(PJRT_TopologyDescription_Destroy, topology: slice).unwrap();
    let names = ["compiled for TPU v4; this client has TPU "];
    assert_refused(load(&client, executable, &[]), INVALID, &names);
    assert_refused(deserialize(&client, &serialize(executable), &[]), INVALID, &names);
    end_executable(executable);
}

#[test]
fn a_serialized_program_comes_back_with_its_options() {
    let client = Client::new();
    let it = compile_with(&client, DOUBLE, &on_device(3)).unwrap();
    let executable = executable_of(it);
    let bytes = serialize(executable);
    end_executable(executable);
    end(it);
    let it = deserialize(&client, &bytes, &[]).unwrap();
    assert_doubles(&client, it, 3);
    end(it);
    let other = Client::new();
    let it = deserialize(&other, &bytes, &on_device(4)).unwrap();
    assert_doubles(&other, it, 4);
    end(it);
}

#[test]
fn damaged_and_foreign_bytes_are_refused() {
    let client = Client::new();
    let it = compile(&client, DOUBLE);
    let executable = executable_of(it);
    let bytes = serialize(executable);
    for size in 0..bytes.len() {
        assert!(deserialize(&client, &bytes[..size], &[]).is_err(), "cut at {size}");
    }
    for at in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x10;
        assert!(deserialize(&client, &damaged, &[]).is_err(), "changed at {at}");
    }
    let foreign = deserialize(&client, b"HloModule of another library", &[]);
    assert_refused(foreign, INVALID, &["no program serialized by tpu-emu"]);
    end_executable(executable);
    end(it);
}

#[test]
fn a_copy_of_mhlo_is_its_operand() {
    let client = Client::new();
    let code = r#"module @jit_double {
  func.func public @main(%arg0: tensor<8x128xf32>) -> tensor<8x128xf32> {
    %0 = "mhlo.copy"(%arg0) : (tensor<8x128xf32>) -> tensor<8x128xf32>
    %1 = mhlo.add %0, %arg0 : tensor<8x128xf32>
    return %1 : tensor<8x128xf32>
  }
}
"#;
    let it = compile(&client, code);
    assert_doubles(&client, it, 0);
    end(it);
}
