//! Small programs as protos: what they become, and that damage is an error.
//! `UPDATE=1 cargo test -p tpu-hlo` rewrites the texts.
#![expect(clippy::unwrap_used, reason = "a test fails by a panic")]
#![expect(clippy::disallowed_methods, reason = "the environment says whether to rewrite")]
use std::path::{Path, PathBuf};
use tpu_hlo::read;
use tpu_proto::Message as _;
use tpu_proto::xla::{HloModuleConfigProto, HloModuleProto, HloModuleProtoWithConfig};
use tpu_stablehlo::ir::{Attribute, Element, Module};

const NAMES: &[&str] = &[
    "calls",
    "collectives",
    "contractions",
    "control",
    "elementwise",
    "fused",
    "indexing",
    "linalg",
    "reductions",
    "shapes",
    "tupled",
];

fn path(name: &str, extension: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    folder.join(name).with_extension(extension)
}

fn golden(name: &str) -> Vec<u8> {
    std::fs::read(path(name, "pb")).unwrap()
}

fn proto(name: &str) -> HloModuleProto {
    HloModuleProto::decode(&*golden(name)).unwrap()
}

fn refused(proto: &HloModuleProto) -> String {
    read(&proto.encode_to_vec(), false).unwrap_err().to_string()
}

#[test]
fn programs_are_those_of_the_texts() {
    for name in NAMES {
        let module = read(&golden(name), false).unwrap_or_else(|error| panic!("{name}: {error}"));
        let text = module.to_mlir(false);
        if std::env::var_os("UPDATE").is_some() {
            std::fs::write(path(name, "mlir"), &text).unwrap();
        }
        assert_eq!(std::fs::read_to_string(path(name, "mlir")).unwrap(), text, "{name}");
    }
}

#[test]
fn the_same_program_comes_back_from_its_text() {
    let bare = |mut module: Module| {
        module.locations = tpu_stablehlo::ir::Locations::default();
        for function in &mut module.functions {
            function.location = tpu_stablehlo::ir::LocationId::UNKNOWN;
        }
        module.to_mlir(false)
    };
    for name in NAMES {
        let module = read(&golden(name), false).unwrap();
        let again = tpu_stablehlo::text::parse(&module.to_mlir(false));
        let again = again.unwrap_or_else(|error| panic!("{name}: {error}"));
        let attributes = |module: &Module| {
            let function = module.entry().unwrap();
            let operations = &function.block().unwrap().operations;
            operations
                .iter()
                .map(|one| (one.name.clone(), one.attributes.clone()))
                .collect::<Vec<_>>()
        };
        assert_eq!(attributes(&module), attributes(&again), "{name}");
        assert_eq!(bare(module), bare(again), "{name}");
    }
}

#[test]
fn arguments_have_their_donations_and_shardings() {
    let module = read(&golden("collectives"), false).unwrap();
    let main = module.entry().unwrap();
    assert_eq!(main.arguments[0].integer("tf.aliasing_output"), Some(0));
    assert_eq!(main.arguments[0].text("mhlo.sharding"), Some("{devices=[2,1]<=[2]}"));
    assert!(main.arguments[1].flag("jax.buffer_donor"));
    assert_eq!(main.results[0].1.text("mhlo.sharding"), Some("{replicated}"));
}

#[test]
fn locations_are_names_and_lines() {
    let module = read(&golden("fused"), false).unwrap();
    let operations =
        module.functions.iter().flat_map(|function| &function.block().unwrap().operations);
    let tanh = operations.into_iter().find(|one| one.name == "stablehlo.tanh").unwrap();
    let name = module.locations.operation_name(tanh.location).unwrap();
    assert!(name.ends_with("/tanh"), "{name}");
    let stack = module.locations.stack(tanh.location);
    assert_eq!((&*stack[0].file, stack[0].line), ("model.py", 3));
    assert_eq!(stack[0].function.as_deref(), Some("inner"));
}

#[test]
fn a_configuration_says_how_many_devices_there_are() {
    let config = HloModuleConfigProto { replica_count: 1, num_partitions: 4, ..Default::default() };
    let both =
        HloModuleProtoWithConfig { hlo_module: Some(proto("elementwise")), config: Some(config) };
    let module = read(&both.encode_to_vec(), true).unwrap();
    let four = Attribute::Integer(4, Element::S32);
    assert_eq!(module.attributes.get("mhlo.num_partitions"), Some(&four));
    assert_eq!(module.functions, read(&golden("elementwise"), false).unwrap().functions);
}

#[test]
fn a_program_that_contradicts_itself_is_refused() {
    let mut unknown = proto("elementwise");
    let add = |proto: &mut HloModuleProto| {
        let all = &mut proto.computations[0].instructions;
        let at = all.iter().position(|one| one.opcode == "add").unwrap();
        (all[at].name.clone(), at)
    };
    let (name, at) = add(&mut unknown);
    unknown.computations[0].instructions[at].opcode = "frobnicate".into();
    let computation = unknown.computations[0].name.clone();
    assert_eq!(
        refused(&unknown),
        format!("frobnicate '{name}' of '{computation}': the opcode 'frobnicate' is not supported")
    );

    let mut missing = proto("elementwise");
    missing.computations[0].instructions[at].operand_ids[0] = 999;
    assert!(refused(&missing).ends_with("there is no value 999 before it"));

    let mut operands = proto("elementwise");
    operands.computations[0].instructions[at].operand_ids.pop();
    assert!(refused(&operands).ends_with("1 operands, it takes 2"));

    let mut unreachable = proto("elementwise");
    unreachable.computations[0].root_id = 999;
    assert!(refused(&unreachable).contains("has no instruction 999 to return"));

    let mut entry = proto("elementwise");
    entry.entry_computation_id = 999;
    assert_eq!(refused(&entry), "there is no computation with the id 999");
    assert_eq!(refused(&HloModuleProto::default()), "a module without computations");

    let mut shape = proto("fused");
    let call = shape.computations.last_mut().unwrap();
    let fusion = call.instructions.iter_mut().find(|one| one.opcode == "fusion").unwrap();
    fusion.shape.as_mut().unwrap().dimensions = vec![77];
    assert!(refused(&shape).ends_with("which has 1"), "{}", refused(&shape));
}

#[test]
fn a_computation_that_calls_itself_is_refused() {
    let mut cyclic = proto("fused");
    let last = cyclic.computations.last_mut().unwrap();
    let own = last.id;
    let fusion = last.instructions.iter_mut().find(|one| one.opcode == "fusion").unwrap();
    fusion.called_computation_ids = vec![own];
    assert!(refused(&cyclic).contains("which does not come after it"), "{}", refused(&cyclic));
}

#[test]
fn no_truncation_and_no_flipped_bit_panics() {
    for name in NAMES {
        let mut bytes = golden(name);
        let size = bytes.len();
        for end in 0..size {
            // Most ends cut a field in two; the others leave a part of the module out.
            if let Ok(module) = read(&bytes[..end], false) {
                assert!(module.entry().is_some(), "{name} cut at {end}");
            }
        }
        for bit in (0..8 * size).step_by(13) {
            bytes[bit / 8] ^= 1 << (bit % 8);
            if let Ok(module) = read(&bytes, false) {
                assert!(!module.to_mlir(true).is_empty(), "{name}, bit {bit}");
            }
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
    }
}
