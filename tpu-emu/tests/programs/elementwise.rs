//! Loops over elements.
use super::machine::{bytes, f32s, i32s, run};
use tpu_emu::tensor::DType;

#[test]
fn a_chain_with_a_broadcast_a_transpose_and_a_count_is_one_value_an_element() {
    let text = r#"
        func.func public @main(%x: tensor<2x3xf32>, %y: tensor<3xf32>) -> tensor<3x2xf32> {
          %two = stablehlo.constant dense<2.0> : tensor<3x2xf32>
          %t = stablehlo.transpose %x, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
          %b = stablehlo.broadcast_in_dim %y, dims = [0] : (tensor<3xf32>) -> tensor<3x2xf32>
          %i = stablehlo.iota dim = 0 : tensor<3x2xf32>
          %0 = stablehlo.multiply %t, %two : tensor<3x2xf32>
          %1 = stablehlo.add %0, %b : tensor<3x2xf32>
          %2 = stablehlo.subtract %1, %i : tensor<3x2xf32>
          return %2 : tensor<3x2xf32>
        }"#;
    let x = f32s(&[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    let results = run(text, &[x, f32s(&[3], &[10.0, 20.0, 30.0])]);
    assert_eq!(results, [f32s(&[3, 2], &[12.0, 18.0, 23.0, 29.0, 34.0, 40.0])]);
}

#[test]
fn the_columns_of_short_rows_are_those_of_each_row_on_every_span() {
    let text = r#"
        func.func public @main(%x: tensor<5000x3xi32>) -> tensor<5000xi32> {
          %0 = stablehlo.slice %x [0:5000, 0:1] : (tensor<5000x3xi32>) -> tensor<5000x1xi32>
          %1 = stablehlo.slice %x [0:5000, 1:2] : (tensor<5000x3xi32>) -> tensor<5000x1xi32>
          %2 = stablehlo.slice %x [0:5000, 2:3] : (tensor<5000x3xi32>) -> tensor<5000x1xi32>
          %3 = stablehlo.multiply %0, %2 : tensor<5000x1xi32>
          %4 = stablehlo.subtract %3, %1 : tensor<5000x1xi32>
          %r = stablehlo.reshape %4 : (tensor<5000x1xi32>) -> tensor<5000xi32>
          return %r : tensor<5000xi32>
        }"#;
    let x: Vec<i32> = (0..15_000).map(|at| at % 1009).collect();
    let wanted: Vec<i32> = x.chunks(3).map(|row| row[0] * row[2] - row[1]).collect();
    assert_eq!(run(text, &[i32s(&[5000, 3], &x)]), [i32s(&[5000], &wanted)]);
}

#[test]
fn bytes_of_a_broadcast_are_its_elements_under_another_name() {
    let text = r#"
        func.func public @main(%x: tensor<f32>, %m: tensor<2x4xui8>) -> tensor<2x4xui8> {
          %b = stablehlo.broadcast_in_dim %x, dims = [] : (tensor<f32>) -> tensor<2xf32>
          %v = stablehlo.bitcast_convert %b : (tensor<2xf32>) -> tensor<2x4xui8>
          %r = stablehlo.xor %v, %m : tensor<2x4xui8>
          return %r : tensor<2x4xui8>
        }"#;
    let mask = bytes(DType::U8, &[2, 4], &[0, 0, 0, 0, 1, 1, 1, 1]);
    let results = run(text, &[f32s(&[], &[1.0]), mask]);
    assert_eq!(results, [bytes(DType::U8, &[2, 4], &[0, 0, 0x80, 0x3f, 1, 1, 0x81, 0x3e])]);
}

#[test]
fn a_scalar_made_of_the_bytes_of_an_array_is_there_before_the_loop_that_reads_it() {
    // 64 elements, so that the constants are not folded away.
    let text = r#"
        func.func public @main(%x: tensor<4xui8>, %y: tensor<4xui32>) -> tensor<4xui32> {
          %a = stablehlo.add %x, %x : tensor<4xui8>
          %w = stablehlo.convert %a : (tensor<4xui8>) -> tensor<4xui32>
          %s = stablehlo.bitcast_convert %a : (tensor<4xui8>) -> tensor<ui32>
          %r = stablehlo.clamp %s, %w, %s : (tensor<ui32>, tensor<4xui32>, tensor<ui32>) -> tensor<4xui32>
          return %r : tensor<4xui32>
        }"#;
    let y = bytes(DType::U32, &[4], &[0; 16]);
    let results = run(text, &[bytes(DType::U8, &[4], &[1, 2, 3, 4]), y]);
    assert_eq!(results, [bytes(DType::U32, &[4], &[2, 4, 6, 8].repeat(4))]);
}

#[test]
fn a_loop_of_more_operations_and_arrays_than_one_step_holds_is_split() {
    let mut text = String::from("func.func public @main(");
    let names: Vec<String> = (0..40).map(|index| format!("%x{index}: tensor<3xi32>")).collect();
    text += &names.join(", ");
    text += ") -> tensor<3xi32> {\n";
    let mut last = "%x0".to_owned();
    for round in 0..120 {
        text += &format!("%r{round} = stablehlo.add {last}, %x{} : tensor<3xi32>\n", round % 40);
        last = format!("%r{round}");
    }
    text += &format!("return {last} : tensor<3xi32>\n}}");
    let arguments: Vec<_> = (0..40).map(|index| i32s(&[3], &[index, 1, -index])).collect();
    // Each argument three times; the first once more.
    assert_eq!(run(&text, &arguments), [i32s(&[3], &[2340, 121, -2340])]);
}

#[test]
fn empty_arrays_count_up_transpose_and_concatenate() {
    let text = r#"
        func.func public @main(%x: tensor<0x3xf32>) -> (tensor<3x0xf32>, tensor<0xi32>, tensor<f32>, tensor<2x3xf32>) {
          %t = stablehlo.transpose %x, dims = [1, 0] : (tensor<0x3xf32>) -> tensor<3x0xf32>
          %s = stablehlo.add %t, %t : tensor<3x0xf32>
          %i = stablehlo.iota dim = 0 : tensor<0xi32>
          %z = stablehlo.constant dense<7.0> : tensor<f32>
          %r = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [0, 1] : (tensor<0x3xf32>, tensor<f32>) -> tensor<f32>
          %b = stablehlo.broadcast_in_dim %r, dims = [] : (tensor<f32>) -> tensor<2x3xf32>
          %c = stablehlo.concatenate %x, %b, dim = 0 : (tensor<0x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
          return %s, %i, %r, %c : tensor<3x0xf32>, tensor<0xi32>, tensor<f32>, tensor<2x3xf32>
        }"#;
    let results = run(text, &[f32s(&[0, 3], &[])]);
    let wanted = [f32s(&[3, 0], &[]), i32s(&[0], &[]), f32s(&[], &[7.0]), f32s(&[2, 3], &[7.0; 6])];
    assert_eq!(results, wanted);
}

#[test]
fn regions_that_are_no_elementwise_code_run_lane_by_lane() {
    let text = r#"
        func.func public @main(%x: tensor<3x2xf32>) -> (tensor<3xf32>, tensor<2x3xi4>) {
          %zero = stablehlo.constant dense<0.0> : tensor<f32>
          %r = "stablehlo.reduce"(%x, %zero) ({
          ^bb0(%a: tensor<f32>, %b: tensor<f32>):
            %p = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
            %s = "stablehlo.if"(%p) ({
              %n = stablehlo.negate %b : tensor<f32>
              stablehlo.return %n : tensor<f32>
            }, {
              stablehlo.return %a : tensor<f32>
            }) : (tensor<i1>) -> tensor<f32>
            stablehlo.return %s : tensor<f32>
          }) {dimensions = array<i64: 1>} : (tensor<3x2xf32>, tensor<f32>) -> tensor<3xf32>
          %c = stablehlo.constant dense<[[1, -2, 3], [-8, 7, 0]]> : tensor<2x3xi4>
          %m = "stablehlo.map"(%c) ({
          ^bb0(%a: tensor<i4>):
            %t = stablehlo.constant dense<true> : tensor<i1>
            %s = "stablehlo.if"(%t) ({
              %n = stablehlo.add %a, %a : tensor<i4>
              stablehlo.return %n : tensor<i4>
            }, {
              stablehlo.return %a : tensor<i4>
            }) : (tensor<i1>) -> tensor<i4>
            stablehlo.return %s : tensor<i4>
          }) {dimensions = array<i64: 0, 1>} : (tensor<2x3xi4>) -> tensor<2x3xi4>
          return %r, %m : tensor<3xf32>, tensor<2x3xi4>
        }"#;
    let results = run(text, &[f32s(&[3, 2], &[1.0, 2.0, -1.0, 5.0, 3.0, 2.0])]);
    // What is larger than the sum so far replaces it, negated.
    assert_eq!(results[0], f32s(&[3], &[-2.0, -5.0, -2.0]));
    // The client's bytes hold four bits each.
    assert_eq!(results[1], bytes(DType::S4, &[2, 3], &[2, 12, 6, 0, 14, 0]));
}
