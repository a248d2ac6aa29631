//! What may be a result, and how functions are called.
use super::machine::{Array, bytes, compile, f32s, i32s, machine, run};
use tpu_emu::tensor::DType;

#[test]
fn parameters_constants_and_one_value_twice_are_results() {
    let text = r#"
        func.func public @main(%x: tensor<2xf32>, %unused: tensor<3xi32>) -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xi32>, tensor<1x2xf32>) {
          %s = stablehlo.add %x, %x : tensor<2xf32>
          %k = stablehlo.constant dense<[4, 5]> : tensor<2xi32>
          %v = stablehlo.reshape %s : (tensor<2xf32>) -> tensor<1x2xf32>
          return %s, %x, %s, %k, %v : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xi32>, tensor<1x2xf32>
        }"#;
    let x = f32s(&[2], &[1.0, 2.0]);
    let results = run(text, &[x.clone(), i32s(&[3], &[0; 3])]);
    let double = f32s(&[2], &[2.0, 4.0]);
    let view = f32s(&[1, 2], &[2.0, 4.0]);
    assert_eq!(results, [double.clone(), x, double, i32s(&[2], &[4, 5]), view]);
}

#[test]
fn a_program_may_have_no_results_and_no_work() {
    assert_eq!(run("func.func public @main() { return }", &[]), []);
}

#[test]
fn narrow_integers_are_packed_outside_and_loose_inside() {
    let text = r#"
        func.func public @main(%a: tensor<3xi4>, %b: tensor<5xui2>) -> (tensor<3xi4>, tensor<5xui2>, tensor<3xi4>, tensor<3xi8>) {
          %s = stablehlo.add %a, %a : tensor<3xi4>
          %t = stablehlo.add %b, %b : tensor<5xui2>
          %w = stablehlo.convert %a : (tensor<3xi4>) -> tensor<3xi8>
          return %s, %t, %a, %w : tensor<3xi4>, tensor<5xui2>, tensor<3xi4>, tensor<3xi8>
        }"#;
    // The client's bytes hold four bits each: -1, 7, -8.
    let a = bytes(DType::S4, &[3], &[15, 7, 8]);
    let results = run(text, &[a.clone(), bytes(DType::U2, &[5], &[0, 1, 2, 3, 1])]);
    assert_eq!(results[0], bytes(DType::S4, &[3], &[14, 14, 0]));
    assert_eq!(results[1], bytes(DType::U2, &[5], &[0, 2, 0, 2, 2]));
    assert_eq!(results[2], a);
    assert_eq!(results[3], bytes(DType::S8, &[3], &[0xff, 7, 0xf8]));
}

#[test]
fn tokens_pass_through_with_the_values_around_them() {
    let text = r#"
        func.func public @main(%t: !stablehlo.token, %x: tensor<2xi32>) -> (!stablehlo.token, tensor<2xi32>) {
          %u = stablehlo.after_all %t : !stablehlo.token
          %s = stablehlo.add %x, %x : tensor<2xi32>
          return %u, %s : !stablehlo.token, tensor<2xi32>
        }"#;
    let token = bytes(DType::Pred, &[0], &[]);
    let results = run(text, &[token, i32s(&[2], &[1, 2])]);
    assert_eq!(results[1], i32s(&[2], &[2, 4]));
}

#[test]
fn tuples_open_to_their_items() {
    let text = r#"
        func.func public @main(%x: tensor<2xi32>, %y: tensor<f32>) -> (tensor<f32>, tensor<2xi32>) {
          %t = stablehlo.tuple %x, %y : tuple<tensor<2xi32>, tensor<f32>>
          %u = stablehlo.tuple %t, %x : tuple<tuple<tensor<2xi32>, tensor<f32>>, tensor<2xi32>>
          %i = stablehlo.get_tuple_element %u[0] : (tuple<tuple<tensor<2xi32>, tensor<f32>>, tensor<2xi32>>) -> tuple<tensor<2xi32>, tensor<f32>>
          %a = stablehlo.get_tuple_element %i[1] : (tuple<tensor<2xi32>, tensor<f32>>) -> tensor<f32>
          %b = stablehlo.get_tuple_element %u[1] : (tuple<tuple<tensor<2xi32>, tensor<f32>>, tensor<2xi32>>) -> tensor<2xi32>
          return %a, %b : tensor<f32>, tensor<2xi32>
        }"#;
    let (x, y) = (i32s(&[2], &[1, 2]), f32s(&[], &[3.0]));
    assert_eq!(run(text, &[x.clone(), y.clone()]), [y, x]);
}

const SORT: &str = r#"
    func.func public @main(%k: tensor<4xi32>, %v: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xi32>, tensor<4xi32>) {
      %r:2 = "stablehlo.sort"(%k, %v) ({
      ^bb0(%a: tensor<i32>, %b: tensor<i32>, %c: tensor<f32>, %d: tensor<f32>):
        %p = stablehlo.compare LT, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %p : tensor<i1>
      }) {dimension = 0 : i64, is_stable = true} : (tensor<4xi32>, tensor<4xf32>) -> (tensor<4xi32>, tensor<4xf32>)
      return %r#1, %r#0, %k : tensor<4xf32>, tensor<4xi32>, tensor<4xi32>
    }"#;

#[test]
fn a_sort_of_keys_and_values_has_two_results() {
    let keys = i32s(&[4], &[3, 1, 2, 1]);
    let results = run(SORT, &[keys.clone(), f32s(&[4], &[0.0, 1.0, 2.0, 3.0])]);
    assert_eq!(results, [f32s(&[4], &[1.0, 3.0, 2.0, 0.0]), i32s(&[4], &[1, 1, 2, 3]), keys]);
}

#[test]
fn calls_and_composites_run_in_place() {
    let text = r#"
        module @jit_f {
          func.func public @main(%x: tensor<2xi32>) -> (tensor<2xi32>, tensor<2xi32>) {
            %a = call @twice(%x) : (tensor<2xi32>) -> tensor<2xi32>
            %b = stablehlo.composite "my.square" %a {decomposition = @square} : (tensor<2xi32>) -> tensor<2xi32>
            %c:2 = call @swap(%a, %b) : (tensor<2xi32>, tensor<2xi32>) -> (tensor<2xi32>, tensor<2xi32>)
            return %c#0, %c#1 : tensor<2xi32>, tensor<2xi32>
          }
          func.func private @twice(%x: tensor<2xi32>) -> tensor<2xi32> {
            %0 = stablehlo.add %x, %x : tensor<2xi32>
            return %0 : tensor<2xi32>
          }
          func.func private @square(%x: tensor<2xi32>) -> tensor<2xi32> {
            %0 = stablehlo.multiply %x, %x : tensor<2xi32>
            return %0 : tensor<2xi32>
          }
          func.func private @swap(%x: tensor<2xi32>, %y: tensor<2xi32>) -> (tensor<2xi32>, tensor<2xi32>) {
            return %y, %x : tensor<2xi32>, tensor<2xi32>
          }
        }"#;
    let results: Vec<Array> = run(text, &[i32s(&[2], &[1, 3])]);
    assert_eq!(results, [i32s(&[2], &[4, 36]), i32s(&[2], &[2, 6])]);
}

#[test]
fn a_composite_of_the_largest_elements_does_not_sort_whole_rows() {
    // The decomposition gives something else, to tell which of the two ran.
    let text = r#"
        func.func public @main(%x: tensor<5xf32>) -> (tensor<2xf32>, tensor<2xi32>) {
          %a:2 = stablehlo.composite "chlo.top_k" %x {composite_attributes = {k = 2 : i64}, decomposition = @first, version = 1 : i32} : (tensor<5xf32>) -> (tensor<2xf32>, tensor<2xi32>)
          return %a#0, %a#1 : tensor<2xf32>, tensor<2xi32>
        }
        func.func private @first(%x: tensor<5xf32>) -> (tensor<2xf32>, tensor<2xi32>) {
          %0 = stablehlo.slice %x [0:2] : (tensor<5xf32>) -> tensor<2xf32>
          %1 = stablehlo.iota dim = 0 : tensor<2xi32>
          return %0, %1 : tensor<2xf32>, tensor<2xi32>
        }"#;
    let results = run(text, &[f32s(&[5], &[3.0, f32::NAN, 5.0, -0.0, 4.0])]);
    assert_eq!(results[1], i32s(&[2], &[1, 2]));
    assert_eq!(results[0].bytes[4..], 5.0_f32.to_le_bytes());
}

#[test]
fn several_results_take_room_for_the_table_that_points_to_them() {
    let text =
        "func.func public @main(%x: tensor<128x128xf32>) -> (tensor<i32>, tensor<128x128xf32>) {
        %n = stablehlo.constant dense<3> : tensor<i32>
        %s = stablehlo.add %x, %x : tensor<128x128xf32>
        return %n, %s : tensor<i32>, tensor<128x128xf32>
    }";
    let memory = compile(&machine(), text).unwrap().memory;
    assert_eq!((memory.arguments.0, memory.outputs.0, memory.alias.0), (65536, 66560, 0));
    assert_eq!(memory.peak.0, 65536 + 66560 + memory.temporaries.0);
    assert!(memory.code.0 > 0);
}

/// Two products of which the first ends before the last, of 64 KiB each.
fn chain(kind: &str) -> String {
    let of = "(tensor<128x128xf32>, tensor<128x128xf32>) -> tensor<128x128xf32>";
    format!(
        "func.func public @main(%x: tensor<128x128xf32>) -> (tensor<128x128xf32>{kind}) {{
        %a = stablehlo.dot_general %x, %x, contracting_dims = [1] x [0] : {of}
        %b = stablehlo.dot_general %a, %x, contracting_dims = [1] x [0] : {of}
        %c = stablehlo.dot_general %b, %x, contracting_dims = [1] x [0] : {of}
        return %c : tensor<128x128xf32>
    }}"
    )
}

#[test]
fn what_ends_before_a_result_is_made_lies_where_that_will() {
    let temporaries = |kind| compile(&machine(), &chain(kind)).unwrap().memory.temporaries.0;
    assert_eq!(temporaries(""), 65536);
    // The memory of a result on the host is no place for what the device makes.
    assert_eq!(temporaries(" {mhlo.memory_kind = \"pinned_host\"}"), 2 * 65536);
    let x = f32s(&[128, 128], &[0.125; 128 * 128]);
    let results = run(&chain(""), &[x]);
    assert_eq!(results, [f32s(&[128, 128], &[512.0; 128 * 128])]);
}

#[test]
fn a_step_may_have_no_result() {
    let text = r#"
        func.func public @main(%a: tensor<2xf32>, %b: tensor<2xf32>) -> tensor<2xf32> {
          %s = stablehlo.add %a, %b : tensor<2xf32>
          stablehlo.custom_call @check.expect_eq(%s, %b) {has_side_effect = true} : (tensor<2xf32>, tensor<2xf32>) -> ()
          return %s : tensor<2xf32>
        }"#;
    let b = f32s(&[2], &[1.0, 2.0]);
    assert_eq!(run(text, &[f32s(&[2], &[0.0; 2]), b.clone()]), [b]);
}
