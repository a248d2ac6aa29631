//! The bytecode reader on small programs: what it makes of them, and that damage is an error.
#![expect(clippy::unwrap_used, reason = "a test fails by a panic")]
use std::path::Path;
use tpu_stablehlo::bytecode::{is_bytecode, read};
use tpu_stablehlo::ir::{
    Attribute, Attributes, AxisRef, DYNAMIC, Element, Location, Mesh, MeshRef, Module, NamedMesh,
    Operation, Region, TensorType, Type,
};

fn golden(name: &str) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    std::fs::read(folder.join(name).with_extension("mlirbc")).unwrap()
}

fn module(name: &str) -> Module {
    read(&golden(name)).unwrap()
}

fn collect<'a>(region: &'a Region, into: &mut Vec<&'a Operation>) {
    for operation in region.blocks.iter().flat_map(|block| &block.operations) {
        into.push(operation);
        operation.regions.iter().for_each(|region| collect(region, into));
    }
}

fn operations(module: &Module) -> Vec<&Operation> {
    let mut operations = Vec::new();
    module.functions.iter().for_each(|function| collect(&function.body, &mut operations));
    operations
}

fn names(module: &Module) -> String {
    let names = operations(module);
    let short = |operation: &&Operation| operation.name.replace("stablehlo.", "");
    names.iter().map(short).collect::<Vec<_>>().join(" ")
}

fn find<'a>(module: &'a Module, name: &str) -> &'a Operation {
    operations(module).into_iter().find(|operation| operation.name == name).unwrap()
}

fn tensor(element: Element, dims: &[i64]) -> Type {
    Type::Tensor(TensorType::new(element, dims.to_vec()))
}

#[test]
fn operations_stand_in_their_order_with_their_regions_inside() {
    for (name, expected) in [
        (
            "while",
            "constant while constant compare return constant add multiply return func.return",
        ),
        ("gather_0_9", "gather func.return"),
        ("convolution", "convolution func.return"),
        ("dynamic", "get_dimension_size negate func.return"),
        (
            "sdy",
            "sdy.sharding_constraint sdy.manual_computation all_reduce add return sdy.return \
             func.return",
        ),
        ("rng", "reshape bitcast_convert rng_bit_generator bitcast_convert reshape func.return"),
        ("top_k", "chlo.top_k func.return"),
        ("composite", "composite func.return negate func.return"),
        ("custom_call", "func.return custom_call func.call custom_call func.return"),
    ] {
        assert_eq!(names(&module(name)), expected, "{name}");
    }
}

#[test]
fn regions_use_values_from_outside_and_their_own() {
    let module = module("while");
    let function = module.entry().unwrap();
    let looped = find(&module, "stablehlo.while");
    let [condition, body] = looped.regions.as_slice() else { panic!("two regions") };
    let arguments = &body.blocks[0].arguments;
    assert_eq!(arguments.len(), looped.operands.len());
    assert!(condition.blocks[0].arguments.iter().all(|value| !arguments.contains(value)));
    for (argument, operand) in arguments.iter().zip(&looped.operands) {
        assert_eq!(function.type_of(*argument), function.type_of(*operand));
    }
    let multiply = find(&module, "stablehlo.multiply");
    assert_eq!(multiply.operands, [arguments[2], arguments[0]]);
    let compare = find(&module, "stablehlo.compare");
    assert_eq!(compare.attributes.text("comparison_direction"), Some("LT"));
}

#[test]
fn a_gather_of_the_oldest_version_has_the_attributes_of_the_newest() {
    let module = module("gather_0_9");
    let gather = &find(&module, "stablehlo.gather").attributes;
    assert_eq!(gather.integers("offset_dims"), Some(vec![1]));
    assert_eq!(gather.integers("collapsed_slice_dims"), Some(vec![0]));
    assert_eq!(gather.get("operand_batching_dims"), Some(&Attribute::Integers(vec![])));
    assert_eq!(gather.integers("slice_sizes"), Some(vec![1, 4]));
    assert_eq!(gather.integer("index_vector_dim"), Some(1));
}

#[test]
fn constants_of_every_storage_are_spread_to_bytes() {
    let module = module("constants");
    let value = |of: Type| {
        let constants = operations(&module).into_iter();
        let mut values = constants.filter_map(|operation| operation.attributes.get("value"));
        values.find_map(|value| match value {
            Attribute::Elements(elements) if Type::Tensor(elements.of.clone()) == of => {
                Some((elements.data.to_vec(), elements.splat))
            }
            _ => None,
        })
    };
    let floats = |values: &[f32]| values.iter().flat_map(|value| value.to_le_bytes()).collect();
    let complex: Vec<u8> = floats(&[1.0, 2.0, 3.0, -4.0]);
    assert_eq!(value(tensor(Element::C64, &[2])), Some((complex, false)));
    assert_eq!(value(tensor(Element::Pred, &[3])), Some((vec![1, 0, 1], false)));
    assert_eq!(value(tensor(Element::Pred, &[])), Some((vec![1], false)));
    assert_eq!(value(tensor(Element::S8, &[3])), Some((vec![0xFF, 7, 0xF8], false)));
    assert_eq!(value(tensor(Element::F32, &[0, 3])), Some((vec![], false)));
    assert_eq!(value(tensor(Element::Bf16, &[2])), Some((vec![0xC0, 0x3F, 0, 0xC0], false)));
    assert_eq!(value(tensor(Element::S32, &[3, 4])), Some((vec![2, 0, 0, 0], true)));
    assert_eq!(value(tensor(Element::F8E4M3FN, &[1])), Some((vec![0x42], false)));
}

#[test]
fn attributes_of_calls_arguments_and_results_are_kept() {
    let module = module("custom_call");
    assert_eq!(module.name.as_deref(), Some("m"));
    assert_eq!(module.attributes.integer("mhlo.num_partitions"), Some(1));
    assert!(!module.function("helper").unwrap().public);
    let main = module.entry().unwrap();
    assert!(main.arguments[0].flag("jax.buffer_donor"));
    assert_eq!(main.arguments[0].integer("tf.aliasing_output"), Some(0));
    assert_eq!(main.results[0].1.text("jax.result_info"), Some("result[0]"));
    let tuple = vec![tensor(Element::F32, &[2]), tensor(Element::S32, &[])];
    assert_eq!(main.results[1].0, Type::Tuple(tuple));
    let call = &find(&module, "stablehlo.custom_call").attributes;
    assert_eq!(call.text("call_target_name"), Some("target"));
    assert_eq!(call.text("api_version"), Some("API_VERSION_TYPED_FFI"));
    assert_eq!(call.get("called_computations"), None);
    let layouts = Attribute::Array(vec![Attribute::Integers(vec![0, 1])]);
    assert_eq!(call.get("operand_layouts"), Some(&layouts));
    let Some(Attribute::Dictionary(config)) = call.get("backend_config") else {
        panic!("no dictionary: {call:?}")
    };
    assert_eq!(config.text("name"), Some("x"));
    assert_eq!(config.integers("flags"), Some(vec![1, 2]));
    let list = [Attribute::Integer(1, Element::S64), Attribute::Float(2.5, Element::F32)];
    assert_eq!(config.get("list"), Some(&Attribute::Array(list.to_vec())));
    let callee = Attribute::Symbol("helper".into());
    assert_eq!(find(&module, "func.call").attributes.get("callee"), Some(&callee));
}

#[test]
fn meshes_and_shardings_are_read_and_the_casts_around_them_dropped() {
    let module = module("sdy");
    let mesh = Mesh { axes: vec![("x".into(), 4), ("y".into(), 4)], device_ids: vec![] };
    let one = Mesh { axes: vec![], device_ids: vec![3] };
    let named =
        |name: &str, mesh| NamedMesh { name: name.into(), mesh, attributes: Attributes::default() };
    assert_eq!(module.meshes, [named("mesh", mesh), named("one", one)]);
    let main = module.entry().unwrap();
    let Some(Attribute::Sharding(sharding)) = main.arguments[0].get("sdy.sharding") else {
        panic!("no sharding")
    };
    assert_eq!(sharding.mesh, MeshRef::Symbol("mesh".into()));
    assert!(sharding.dimensions[0].closed && !sharding.dimensions[1].closed);
    assert_eq!(sharding.dimensions[1].priority, Some(1));
    assert_eq!(sharding.replicated, [AxisRef { name: "y".into(), part: Some((1, 2)) }]);
    let manual = find(&module, "sdy.manual_computation");
    let axes = Attribute::ManualAxes(vec!["x".into()]);
    assert_eq!(manual.attributes.get("manual_axes"), Some(&axes));
    let constraint = find(&module, "sdy.sharding_constraint");
    assert_eq!(manual.operands, constraint.results);
    assert_eq!(main.results[1].0, Type::Token);
}

#[test]
fn words_and_structs_of_chlo_are_those_of_the_text() {
    let module = module("chlo");
    let parsed = tpu_stablehlo::text::parse(include_str!("golden/chlo.mlir")).unwrap();
    assert_eq!(module.to_mlir(false), parsed.to_mlir(false));
    let ragged = &find(&module, "chlo.ragged_dot").attributes;
    assert_eq!(*ragged, find(&parsed, "chlo.ragged_dot").attributes);
    assert_eq!(ragged.integers("lhs_ragged_dimensions"), Some(vec![0]));
    let words = ["DEFAULT", "HIGHEST"].map(|word| Attribute::Word(word.into()));
    assert_eq!(ragged.get("precision_config"), Some(&Attribute::Array(words.to_vec())));
    let compare = &find(&module, "chlo.broadcast_compare").attributes;
    assert_eq!(*compare, find(&parsed, "chlo.broadcast_compare").attributes);
    assert_eq!(compare.text("comparison_direction"), Some("NE"));
}

#[test]
fn bounds_belong_to_the_type() {
    let module = module("dynamic");
    let main = module.entry().unwrap();
    let Type::Tensor(bounded) = main.type_of(main.block().unwrap().arguments[0]) else {
        panic!("no array")
    };
    assert_eq!(bounded.dims, [DYNAMIC, 4]);
    assert_eq!(bounded.bounds, [8, DYNAMIC]);
}

#[test]
fn locations_are_names_and_stacks() {
    let module = module("locations");
    let negate = find(&module, "stablehlo.negate").location;
    assert_eq!(module.locations.operation_name(negate), Some("jit(f)/neg"));
    let stack = module.locations.stack(negate);
    let lines: Vec<_> = stack.iter().map(|line| (&*line.file, line.line, line.column)).collect();
    assert_eq!(lines, [("f.py", 3, 5), ("g.py", 7, 1), ("h.py", 9, 2)]);
    assert_eq!(stack[1].function.as_deref(), Some("g"));
    let add = find(&module, "stablehlo.add").location;
    assert!(matches!(module.locations.get(add), Location::Fused(parts) if parts.len() == 2));
}

#[test]
fn other_bytes_are_no_bytecode() {
    assert!(is_bytecode(&golden("while")));
    assert!(!is_bytecode(b"module {}"));
    let error = read(b"module {}").unwrap_err().to_string();
    assert!(error.starts_with("at byte 0: no MLIR bytecode"), "{error}");
    let mut newer = golden("while");
    newer[4] = (7 << 1) | 1;
    let error = read(&newer).unwrap_err().to_string();
    assert_eq!(error, "at byte 4: bytecode of version 7, the newest known one is 6");
}

#[test]
fn every_truncation_is_an_error_and_no_flipped_bit_panics() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let mut files = 0;
    for file in std::fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "mlirbc") {
            continue;
        }
        files += 1;
        let mut bytes = std::fs::read(&path).unwrap();
        let size = bytes.len();
        let whole = read(&bytes).unwrap();
        for end in 0..size {
            let error = read(&bytes[..end]).unwrap_err();
            assert!(!error.what.is_empty(), "{} cut at {end}", path.display());
        }
        // Every third bit is every bit of some byte in each eight.
        for bit in (0..8 * size).step_by(3) {
            bytes[bit / 8] ^= 1 << (bit % 8);
            if let Ok(module) = read(&bytes) {
                let count = |module: &Module| operations(module).len();
                assert!(count(&module) <= count(&whole) + size, "{}", path.display());
            }
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
    }
    assert!(files >= 10, "{files} files");
}
