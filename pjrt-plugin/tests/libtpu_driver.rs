//! A program in C that uses the library as a TpuDriver: `libtpu-abi/tests/c/driver_client.c`.

mod built;

use std::fs::write;
use std::path::Path;
use std::process::Command;
use tpu_proto::Message;
use tpu_proto::xla::{
    HloComputationProto, HloInstructionProto, HloModuleProto, HloProto, PrimitiveType,
    ProgramShapeProto, ShapeProto,
};

/// `(a + b, a * b)` on `f32[2,3]`.
fn program() -> HloProto {
    let array = ShapeProto {
        element_type: PrimitiveType::F32.into(),
        dimensions: vec![2, 3],
        ..ShapeProto::default()
    };
    let tuple = ShapeProto {
        element_type: PrimitiveType::Tuple.into(),
        tuple_shapes: vec![array.clone(), array.clone()],
        ..ShapeProto::default()
    };
    let of = |id: i64, opcode: &str, operands: &[i64]| HloInstructionProto {
        id,
        name: format!("{opcode}.{id}"),
        opcode: opcode.to_owned(),
        shape: Some(if opcode == "tuple" { tuple.clone() } else { array.clone() }),
        operand_ids: operands.to_vec(),
        parameter_number: if opcode == "parameter" { id - 1 } else { 0 },
        ..HloInstructionProto::default()
    };
    let instructions = vec![
        of(1, "parameter", &[]),
        of(2, "parameter", &[]),
        of(3, "add", &[1, 2]),
        of(4, "multiply", &[1, 2]),
        of(5, "tuple", &[3, 4]),
    ];
    let shape = ProgramShapeProto {
        parameters: vec![array.clone(), array.clone()],
        result: Some(tuple.clone()),
        ..ProgramShapeProto::default()
    };
    let entry = HloComputationProto {
        id: 1,
        name: "main".to_owned(),
        instructions,
        program_shape: Some(shape),
        root_id: 5,
    };
    let module = HloModuleProto {
        name: "both".to_owned(),
        entry_computation_name: "main".to_owned(),
        entry_computation_id: 1,
        computations: vec![entry],
        ..HloModuleProto::default()
    };
    HloProto { hlo_module: module.encode_to_vec() }
}

#[test]
fn a_c_program_runs_programs_through_the_table() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let (client, proto) = (folder.join("driver_client"), folder.join("driver_program.pb"));
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../libtpu-abi/tests/c");
    let compiled = Command::new("cc")
        .args(["-std=c11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", "-o"])
        .arg(&client)
        .arg(source.join("driver_client.c"))
        .arg("-ldl")
        .status()
        .unwrap();
    assert!(compiled.success());
    write(&proto, program().encode_to_vec()).unwrap();

    let run = Command::new(&client).arg(built::path()).arg(&proto).output().unwrap();
    let text = String::from_utf8_lossy(&run.stdout);
    let errors = String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success(), "{text}\n{errors}");
    assert!(text.ends_with("done\n"), "{text}");
    // What the client does wrong is told: another worker, and a driver that is closed.
    assert!(errors.contains("tpu-emu: TpuDriver_Open: no TPU worker \"grpc://elsewhere\""));
    assert!(errors.contains("tpu-emu: TpuDriver_QuerySystemInfo: TpuDriver handle"), "{errors}");
}
