//! Programs written as protos: what XLA wrote comes back as it was, and what StableHLO says
//! otherwise is said in HLO's way.
#![expect(clippy::unwrap_used, reason = "a test fails by a panic")]
use std::path::Path;
use tpu_hlo::{HOST_MEMORY, moves_to_host, read, write};
use tpu_proto::Message as _;
use tpu_proto::xla::{HloInstructionProto, HloModuleProto, ShapeProto};
use tpu_stablehlo::ir::Module;

fn parsed(text: &str) -> Module {
    tpu_stablehlo::text::parse(text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn written(text: &str) -> HloModuleProto {
    write(&parsed(text), &[]).unwrap()
}

/// Written and read again.
fn again(module: &Module) -> Module {
    read(&write(module, &[]).unwrap().encode_to_vec(), false).unwrap()
}

fn text(module: &Module) -> String {
    module.to_mlir(false)
}

fn instructions<'p>(program: &'p HloModuleProto, opcode: &str) -> Vec<&'p HloInstructionProto> {
    let all = program.computations.iter().flat_map(|one| &one.instructions);
    all.filter(|one| one.opcode == opcode).collect()
}

fn memory(shape: &ShapeProto) -> i64 {
    shape.layout.as_ref().unwrap().memory_space
}

fn shape(instruction: &HloInstructionProto) -> &ShapeProto {
    instruction.shape.as_ref().unwrap()
}

#[test]
fn programs_that_xla_wrote_come_back() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let (mut as_they_were, mut refused) = (Vec::new(), Vec::new());
    let mut paths: Vec<_> =
        std::fs::read_dir(folder).unwrap().map(|one| one.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "pb"));
    paths.sort();
    assert!(paths.len() > 10);
    for path in paths {
        let Ok(module) = read(&std::fs::read(&path).unwrap(), false) else { continue };
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        if let Err(error) = write(&module, &[]) {
            refused.push(format!("{name}: {error}"));
            continue;
        }
        let once = again(&module);
        assert_eq!(text(&again(&once)), text(&once), "{name}");
        if text(&once) == text(&module) {
            as_they_were.push(name);
        }
    }
    let names = [
        "contractions",
        "control",
        "fused",
        "indexing",
        "linalg",
        "reductions",
        "shapes",
        "tupled",
    ];
    // The others have constants of equal elements, which are one element that is spread.
    assert_eq!(as_they_were, names);
    let expected = [
        "calls: stablehlo.send: it has no counterpart",
        "elementwise: stablehlo.tanh: a result_accuracy",
    ];
    assert_eq!(refused, expected);
}

const OFFLOAD: &str = "func.func @main(%x: tensor<8xf32>, %many: tensor<4x8xf32>, %i: tensor<i32>) -> (tensor<8xf32>, tensor<4x8xf32>) {
  %one = stablehlo.constant dense<1> : tensor<i32>
  %four = stablehlo.constant dense<4> : tensor<i32>
  %0:2 = stablehlo.while(%at = %i, %all = %many) : tensor<i32>, tensor<4x8xf32>
  cond {
    %c = stablehlo.compare LT, %at, %four, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %h = stablehlo.custom_call @annotate_device_placement(%x) {has_side_effect = true, mhlo.frontend_attributes = {_xla_buffer_placement = \"pinned_host\"}} : (tensor<8xf32>) -> tensor<8xf32>
    %r = stablehlo.reshape %h : (tensor<8xf32>) -> tensor<1x8xf32>
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %n = stablehlo.dynamic_update_slice %all, %r, %at, %zero : (tensor<4x8xf32>, tensor<1x8xf32>, tensor<i32>, tensor<i32>) -> tensor<4x8xf32>
    %a = stablehlo.add %at, %one : tensor<i32>
    stablehlo.return %a, %n : tensor<i32>, tensor<4x8xf32>
  }
  %d = stablehlo.custom_call @annotate_device_placement(%0#1) {has_side_effect = true, mhlo.frontend_attributes = {_xla_buffer_placement = \"device\"}} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %x, %d : tensor<8xf32>, tensor<4x8xf32>
}";

#[test]
fn an_array_that_a_loop_fills_in_the_hosts_memory_lies_there() {
    assert!(moves_to_host(&parsed(OFFLOAD)));
    let program = written(OFFLOAD);
    let [repeat] = instructions(&program, "while")[..] else { panic!("one loop") };
    // The two that it carries, and what it reads: the bound, one, and the array.
    let carried = &shape(repeat).tuple_shapes;
    assert_eq!(carried.iter().map(memory).collect::<Vec<_>>(), [0, HOST_MEMORY, 0, 0, 0]);
    let from_to: Vec<(i64, i64)> = instructions(&program, "copy-start")
        .iter()
        .map(|one| (memory(&shape(one).tuple_shapes[1]), memory(&shape(one).tuple_shapes[0])))
        .collect();
    // In each round, before the loop, and behind it.
    assert_eq!(from_to, [(0, HOST_MEMORY), (0, HOST_MEMORY), (HOST_MEMORY, 0)]);
    assert_eq!(instructions(&program, "copy-done").len(), 3);
    let back = read(&program.encode_to_vec(), false).unwrap();
    assert_eq!(text(&again(&back)), text(&back));
}

#[test]
fn parameters_of_the_host_lie_there() {
    let program = "func.func @main(%a: tensor<8xf32>, %b: tensor<8xf32>) -> tensor<8xf32> {
  return %b : tensor<8xf32>
}";
    let program = write(&parsed(program), &[1]).unwrap();
    let [a, b] = instructions(&program, "parameter")[..] else { panic!("two parameters") };
    assert_eq!((memory(shape(a)), memory(shape(b))), (0, HOST_MEMORY));
    let whole = program.host_program_shape.unwrap();
    assert_eq!(memory(whole.result.as_ref().unwrap()), HOST_MEMORY);
}

#[test]
fn code_that_reads_from_outside_takes_what_it_reads() {
    let program = written(
        "func.func @main(%p: tensor<i1>, %x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<f32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %two = stablehlo.constant dense<2.0> : tensor<f32>
  %b = \"stablehlo.if\"(%p) ({
    %s = stablehlo.add %x, %y : tensor<4xf32>
    stablehlo.return %s : tensor<4xf32>
  }, {
    stablehlo.return %x : tensor<4xf32>
  }) : (tensor<i1>) -> tensor<4xf32>
  %r = \"stablehlo.reduce\"(%b, %zero) ({
  ^bb0(%l: tensor<f32>, %m: tensor<f32>):
    %t = stablehlo.multiply %m, %two : tensor<f32>
    %s = stablehlo.add %l, %t : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) {dimensions = array<i64: 0>} : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
  return %r : tensor<f32>
}",
    );
    let [branch] = instructions(&program, "conditional")[..] else { panic!("one branch") };
    let takes = |at: usize| {
        let id = branch.operand_ids[at];
        let all = program.computations.iter().flat_map(|one| &one.instructions);
        shape(all.into_iter().find(|one| one.id == id).unwrap()).tuple_shapes.len()
    };
    // Two arrays as a tuple; one is itself.
    assert_eq!((takes(1), takes(2)), (2, 0));
    assert!(read(&program.encode_to_vec(), false).is_ok());
}

#[test]
fn what_hlo_cannot_say_is_refused_by_name() {
    let refused = |text: &str| write(&parsed(text), &[]).unwrap_err().to_string();
    let error = refused(
        "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = chlo.lgamma %x : tensor<4xf32> -> tensor<4xf32>
  return %0 : tensor<4xf32>
}",
    );
    assert_eq!(error, "chlo.lgamma: it has no counterpart");
    let error = refused(
        "func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {
  return %x : tensor<?xf32>
}",
    );
    assert!(error.contains("of unknown extents"), "{error}");
}

#[test]
fn axes_of_one_element_are_repeated_and_parts_go_to_another_axis() {
    let program = written(
        "func.func @main(%x: tensor<1x4xf32>) -> tensor<2x3x4xf32> {
  %0 = stablehlo.broadcast_in_dim %x, dims = [1, 2] : (tensor<1x4xf32>) -> tensor<2x3x4xf32>
  return %0 : tensor<2x3x4xf32>
}",
    );
    let [one] = instructions(&program, "broadcast")[..] else { panic!("one broadcast") };
    assert_eq!((&*one.dimensions, &*shape(one).dimensions), (&[2][..], &[2, 3, 4][..]));
    let program = written(
        "func.func @main(%x: tensor<8x3xf32>) -> tensor<2x12xf32> {
  %0 = \"stablehlo.all_to_all\"(%x) {split_dimension = 0 : i64, concat_dimension = 1 : i64, split_count = 4 : i64, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>} : (tensor<8x3xf32>) -> tensor<2x12xf32>
  return %0 : tensor<2x12xf32>
}",
    );
    let [turn] = instructions(&program, "transpose")[..] else { panic!("one transposition") };
    // Four parts of two rows: the parts of a row follow one another.
    assert_eq!((&*turn.dimensions, &*shape(turn).dimensions), (&[1, 0, 2][..], &[2, 4, 3][..]));
}
