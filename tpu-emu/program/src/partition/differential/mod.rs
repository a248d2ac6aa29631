//! Random programs with random shardings: what the programs of all devices give together is what
//! the program over whole arrays gives.
mod programs;

use super::{Form, partition, split_results};
use crate::compile::Passes;
use crate::differential::{Random, run};
use crate::import::load;
use crate::interpret::region::make_body;
use crate::plan::StorageForm;
use crate::sharding::groups::Devices;
use crate::sharding::io_shardings::{IoSharding, IoShardings};
use programs::program;
use std::collections::BTreeMap;
use tpu_base::tensor::Shape;
use tpu_ops::Numerics;
use tpu_ops::custom_call::Registry;
use tpu_stablehlo::Module;

/// The results of a program over whole arrays, and how its parameters and results are split.
fn whole(
    module: &Module,
    count: usize,
    inputs: &dyn Fn(&[Shape]) -> Vec<Vec<u8>>,
) -> (Vec<Vec<u8>>, Vec<Vec<u8>>, IoShardings) {
    let (registry, none) = (Registry::default(), BTreeMap::new());
    let devices = Devices { count, replicas: false, only: None };
    let loaded =
        load(module, Numerics::Ieee, &registry, make_body, (devices, &none), Passes::ALL).unwrap();
    let mut graph = loaded.graph;
    let shapes: Vec<Shape> =
        graph.main.parameters.iter().map(|&value| graph.value(value).shape.clone()).collect();
    let given = (shapes.clone(), &loaded.results[..]);
    let io = IoShardings::new(module, loaded.entry, given, (devices, &none, &[]), split_results)
        .unwrap();
    let bytes: Vec<usize> = loaded.results.iter().map(Shape::bytes).collect();
    let plan = crate::compile::plan(&mut graph, StorageForm::Unpacked(&[]), Passes::ALL);
    let inputs = inputs(&shapes);
    let results = run(&plan, &inputs, &bytes, &vec![None; shapes.len()]);
    (inputs, results, io)
}

/// Visits the pieces of each device in the whole: device, byte in the device's part, byte in the
/// whole.
fn pieces(of: &IoSharding, visit: &mut dyn FnMut(usize, usize, usize)) {
    let width = of.whole.dtype.host_bytes();
    let strides = of.whole.strides();
    for device in 0..of.sharding.places.len() {
        let start = of.sharding.start(device, &of.shard_dims);
        let count: usize = of.shard_dims.iter().product();
        for index in 0..count {
            let at = crate::grid::digits(index, &of.shard_dims);
            let whole: usize = at
                .iter()
                .zip(&start)
                .zip(&strides)
                .map(|((at, start), stride)| (at + start) * stride)
                .sum();
            visit(device, index * width, whole * width);
        }
    }
}

/// Runs a program whole and in parts. Whether the parts need nothing of one another.
fn check(text: &str, count: usize, seed: u64) -> bool {
    let module = tpu_stablehlo::text::parse(text).unwrap();
    let inputs = |shapes: &[Shape]| -> Vec<Vec<u8>> {
        let mut random = Random(seed);
        let one = |shape: &Shape| -> Vec<u8> {
            let mut number = || i16::try_from(random.below(7)).unwrap() - 3;
            (0..shape.elements()).flat_map(|_| f32::from(number()).to_le_bytes()).collect()
        };
        shapes.iter().map(one).collect()
    };
    let (inputs, wanted, io) = whole(&module, count, &inputs);
    let part = partition(&module, &io, (count, false), Form::Replicas).unwrap().module;
    let (registry, none) = (Registry::default(), BTreeMap::new());
    let devices = Devices { count, replicas: true, only: None };
    let loaded = load(&part, Numerics::Ieee, &registry, make_body, (devices, &none), Passes::ALL);
    let loaded = loaded.unwrap_or_else(|error| panic!("{error}\n{}", part.to_mlir(false)));
    let mut graph = loaded.graph;
    let bytes: Vec<usize> = loaded.results.iter().map(Shape::bytes).collect();
    let plan = crate::compile::plan(&mut graph, StorageForm::Unpacked(&[]), Passes::ALL);
    let mut rows = Vec::new();
    for (of, input) in io.parameters.iter().zip(&inputs) {
        let width = of.whole.dtype.host_bytes();
        let mut row = vec![0; of.shard.bytes() * count];
        pieces(of, &mut |device, part, whole| {
            let at = device * of.shard.bytes() + part;
            row[at..at + width].copy_from_slice(&input[whole..whole + width]);
        });
        rows.push(row);
    }
    let same = |given: &[Vec<u8>]| {
        for (index, (of, wanted)) in io.results.iter().zip(&wanted).enumerate() {
            let width = of.whole.dtype.host_bytes();
            pieces(of, &mut |device, part, whole| {
                let at = device * of.shard.bytes() + part;
                let (found, right) = (&given[index][at..at + width], &wanted[whole..whole + width]);
                let number = |bytes: &[u8]| bytes.try_into().map(f32::from_le_bytes).ok();
                // Zeros of both signs are one number.
                assert!(
                    found == right || number(found).is_some() && number(found) == number(right),
                    "result {index}, device {device}, byte {whole}: {found:?}, {right:?}\n{}",
                    part_text(&part_of(&module, &io, count))
                );
            });
        }
    };
    same(&run(&plan, &rows, &bytes, &vec![None; rows.len()]));
    // The other forms can be read, and planned.
    let text = partition(&module, &io, (count, false), Form::Text).unwrap().module.to_mlir(false);
    tpu_stablehlo::text::parse(&text).unwrap();
    let planned = partition(&module, &io, (count, false), Form::Plan).unwrap();
    let part = &planned.module;
    let alone = (Devices::ONE, &none);
    let loaded = load(part, Numerics::Ieee, &super::Unlinked, make_body, alone, Passes::ALL);
    let loaded = loaded.unwrap_or_else(|error| panic!("{error}\n{}", part.to_mlir(false)));
    let mut graph = loaded.graph;
    let bytes: Vec<usize> = loaded.results.iter().map(Shape::bytes).collect();
    let plan = crate::compile::plan(&mut graph, StorageForm::Unpacked(&[]), Passes::ALL);
    if !planned.everywhere || plan.calls > 0 {
        return false;
    }
    // Nobody is asked for anything: each device may run it by itself.
    let mut given = vec![Vec::new(); bytes.len()];
    for device in 0..count {
        let own = |row: &Vec<u8>| {
            let bytes = row.len() / count;
            row[device * bytes..][..bytes].to_vec()
        };
        let own: Vec<Vec<u8>> = rows.iter().map(own).collect();
        let made = run(&plan, &own, &bytes, &vec![None; rows.len()]);
        given.iter_mut().zip(made).for_each(|(all, one)| all.extend(one));
    }
    same(&given);
    true
}

fn part_of(module: &Module, io: &IoShardings, count: usize) -> Module {
    partition(module, io, (count, false), Form::Replicas).unwrap().module
}

fn part_text(module: &Module) -> String {
    module.to_mlir(false)
}

#[test]
fn devices_give_together_what_the_whole_program_gives() {
    let (mut all, mut alone) = (0, 0);
    for seed in crate::differential::seeds(150) {
        let (text, count) = program(seed);
        let outcome = std::panic::catch_unwind(|| check(&text, count, seed));
        assert!(outcome.is_ok(), "seed {seed} on {count} devices:\n{text}");
        all += 1;
        alone += usize::from(outcome.unwrap_or(false));
    }
    assert!(all < 100 || alone > 0, "no device of {all} programs is alone");
}

#[test]
fn a_minor_part_of_an_extent_is_split_where_it_is_in_all_arrays() {
    let text = "module {
  sdy.mesh @mesh = <[\"x\"=2, \"y\"=2]>
  func.func public @main(%a: tensor<12x6x12xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}, {\"y\", \"x\"}]>}) -> (tensor<144x1x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}, {\"x\"}]>}) {
    %0 = stablehlo.reshape %a : (tensor<12x6x12xf32>) -> tensor<144x1x6xf32>
    return %0 : tensor<144x1x6xf32>
  }
}";
    check(text, 4, 1);
}

/// Whether a device gathers what the others have.
fn gathers(text: &str, count: usize) -> bool {
    let module = tpu_stablehlo::text::parse(text).unwrap();
    let (_, _, io) = whole(&module, count, &|shapes| {
        shapes.iter().map(|shape| vec![0; shape.bytes()]).collect()
    });
    let part = partition(&module, &io, (count, false), Form::Text).unwrap().module;
    part.to_mlir(false).contains("all_gather")
}

#[test]
fn elements_are_looked_up_in_the_device_s_piece_of_a_table() {
    let text = r#"module {
  sdy.mesh @mesh = <["x"=2, "y"=2]>
  func.func public @main(%t: tensor<8x6x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}, {}]>}) -> (tensor<5x4xf32>, tensor<8x6x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}, {}]>}) {
    %i = stablehlo.constant dense<[[5, 0], [-3, 7], [2, 9], [5, 3], [1, -1]]> : tensor<5x2xi32>
    %0 = "stablehlo.gather"(%t, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0, 1], start_index_map = [1, 0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 1, 4>}> : (tensor<8x6x4xf32>, tensor<5x2xi32>) -> tensor<5x4xf32>
    %1 = "stablehlo.scatter"(%t, %i, %0) ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %z = stablehlo.add %x, %y : tensor<f32>
      stablehlo.return %z : tensor<f32>
    }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [1, 0], index_vector_dim = 1>} : (tensor<8x6x4xf32>, tensor<5x2xi32>, tensor<5x4xf32>) -> tensor<8x6x4xf32>
    return %0, %1 : tensor<5x4xf32>, tensor<8x6x4xf32>
  }
}"#;
    check(text, 4, 3);
    assert!(!gathers(text, 4));
}

#[test]
fn what_is_looked_up_is_split_as_the_larger_of_table_and_indices() {
    let split = |rows: usize, count: usize| {
        let (table, indices) = (format!("tensor<{rows}x8xf32>"), format!("tensor<{count}x1xi32>"));
        let taken = format!("tensor<{count}x8xf32>");
        let text = format!(
            r#"module {{
  sdy.mesh @mesh = <["x"=4]>
  func.func public @main(%t: {table} {{sdy.sharding = #sdy.sharding<@mesh, [{{}}, {{"x"}}]>}}, %f: tensor<{count}x1xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{"x"}}, {{}}]>}}) -> tensor<f32> {{
    %i = stablehlo.convert %f : (tensor<{count}x1xf32>) -> {indices}
    %g = "stablehlo.gather"(%t, %i) <{{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 8>}}> : ({table}, {indices}) -> {taken}
    %z = stablehlo.constant dense<0.0> : tensor<f32>
    %r = stablehlo.reduce(%g init: %z) applies stablehlo.add across dimensions = [0, 1] : ({taken}, tensor<f32>) -> tensor<f32>
    return %r : tensor<f32>
  }}
}}"#
        );
        check(&text, 4, 5);
        let module = tpu_stablehlo::text::parse(&text).unwrap();
        let (_, _, io) = whole(&module, 4, &|shapes| {
            shapes.iter().map(|shape| vec![0; shape.bytes()]).collect()
        });
        part_text(&part_of(&module, &io, 4))
    };
    assert!(split(32, 8).contains("-> tensor<8x2xf32>"), "columns of a table");
    assert!(split(4, 64).contains("-> tensor<16x8xf32>"), "rows of indices");
}

#[test]
fn arrays_behind_one_barrier_are_split_each_by_itself() {
    let text = r#"module {
  sdy.mesh @mesh = <["x"=4]>
  func.func public @main(%a: tensor<8x12xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %b: tensor<12x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}, %c: tensor<5xf32>) -> (tensor<8x12xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, tensor<12x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}, tensor<5xf32>) {
    %r:3 = stablehlo.optimization_barrier %a, %b, %c : tensor<8x12xf32>, tensor<12x16xf32>, tensor<5xf32>
    return %r#0, %r#1, %r#2 : tensor<8x12xf32>, tensor<12x16xf32>, tensor<5xf32>
  }
}"#;
    check(text, 4, 6);
    assert!(!gathers(text, 4), "each device has its parts of both arrays");
}

/// A function of an array of 64 rows that is split over eight devices, as its result is.
fn of_rows(code: &str, result: &str) -> String {
    format!(
        r#"module {{
  sdy.mesh @mesh = <["x"=8]>
  func.func public @main(%x: tensor<64x4xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{"x"}}, {{}}]>}}) -> ({result} {{sdy.sharding = #sdy.sharding<@mesh, [{{"x"}}, {{}}]>}}) {{
{code}
  }}
}}"#
    )
}

#[test]
fn devices_pass_on_the_ends_of_their_pieces() {
    let same = "tensor<64x4xf32>";
    let rows = [
        // A roll.
        (
            "    %a = stablehlo.slice %x [3:64, 0:4] : (tensor<64x4xf32>) -> tensor<61x4xf32>
    %b = stablehlo.slice %x [0:3, 0:4] : (tensor<64x4xf32>) -> tensor<3x4xf32>
    %r = stablehlo.concatenate %a, %b, dim = 0 : (tensor<61x4xf32>, tensor<3x4xf32>) -> tensor<64x4xf32>
    return %r : tensor<64x4xf32>",
            same,
        ),
        // Differences of neighbours.
        (
            "    %a = stablehlo.slice %x [1:64, 0:4] : (tensor<64x4xf32>) -> tensor<63x4xf32>
    %b = stablehlo.slice %x [0:63, 0:4] : (tensor<64x4xf32>) -> tensor<63x4xf32>
    %c = stablehlo.subtract %a, %b : tensor<63x4xf32>
    %z = stablehlo.constant dense<7.0> : tensor<f32>
    %r = stablehlo.pad %c, %z, low = [1, 0], high = [0, 0], interior = [0, 0] : (tensor<63x4xf32>, tensor<f32>) -> tensor<64x4xf32>
    return %r : tensor<64x4xf32>",
            same,
        ),
        // The sum of all but one row.
        (
            "    %a = stablehlo.slice %x [1:64, 0:4] : (tensor<64x4xf32>) -> tensor<63x4xf32>
    %b = stablehlo.constant dense<5.0> : tensor<63x4xf32>
    %c = stablehlo.add %a, %b : tensor<63x4xf32>
    %z = stablehlo.constant dense<0.0> : tensor<f32>
    %s = stablehlo.reduce(%c init: %z) applies stablehlo.add across dimensions = [0] : (tensor<63x4xf32>, tensor<f32>) -> tensor<4xf32>
    %t = stablehlo.broadcast_in_dim %s, dims = [1] : (tensor<4xf32>) -> tensor<64x4xf32>
    %r = stablehlo.add %x, %t : tensor<64x4xf32>
    return %r : tensor<64x4xf32>",
            same,
        ),
        ("    %r = stablehlo.reverse %x, dims = [0] : tensor<64x4xf32>\n    return %r : tensor<64x4xf32>", same),
        (
            "    %r = stablehlo.slice %x [0:64:2, 0:4] : (tensor<64x4xf32>) -> tensor<32x4xf32>
    return %r : tensor<32x4xf32>",
            "tensor<32x4xf32>",
        ),
        (
            r#"    %z = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %r = "stablehlo.reduce_window"(%x, %z) ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %c = stablehlo.maximum %a, %b : tensor<f32>
      stablehlo.return %c : tensor<f32>
    }) {window_dimensions = array<i64: 3, 1>, window_strides = array<i64: 2, 1>, padding = dense<[[1, 0], [0, 0]]> : tensor<2x2xi64>} : (tensor<64x4xf32>, tensor<f32>) -> tensor<32x4xf32>
    return %r : tensor<32x4xf32>"#,
            "tensor<32x4xf32>",
        ),
        // The gradient of a filter.
        (
            "    %p = stablehlo.reshape %x : (tensor<64x4xf32>) -> tensor<1x64x4xf32>
    %w = stablehlo.convolution(%p, %p) dim_numbers = [f, 0, b]x[i, 0, o]->[0, b, f], window = {pad = [[1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x64x4xf32>, tensor<1x64x4xf32>) -> tensor<3x4x4xf32>
    %r = stablehlo.convolution(%p, %w) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {pad = [[1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x64x4xf32>, tensor<3x4x4xf32>) -> tensor<1x64x4xf32>
    %y = stablehlo.reshape %r : (tensor<1x64x4xf32>) -> tensor<64x4xf32>
    return %y : tensor<64x4xf32>",
            same,
        ),
    ];
    for (code, result) in rows {
        let text = of_rows(code, result);
        check(&text, 8, 5);
        assert!(!gathers(&text, 8), "{text}");
    }
}
