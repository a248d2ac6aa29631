//! How shardings spread over small programs.
use super::*;

fn texts(body: &str) -> Vec<String> {
    let source = format!("module {{\n  sdy.mesh @mesh = <[\"x\"=4, \"y\"=2]>\n  {body}\n}}");
    let module = tpu_stablehlo::text::parse(&source).unwrap();
    let entry = module.entry().unwrap();
    let parameters = entry
        .arguments
        .iter()
        .map(|attributes| match attributes.get("sdy.sharding") {
            Some(Attribute::Sharding(sharding)) => Propagation::new(&module, 8).stated(sharding),
            _ => None,
        })
        .collect();
    let found = Propagation::new(&module, 8).entry(entry, parameters);
    let text = |known: Derivation| known.map_or_else(|| "whole".to_owned(), |known| known.text());
    found.into_iter().map(text).collect()
}

#[test]
fn members_of_a_group_are_split_alike() {
    let found = texts(
        r#"func.func @main(%a: tensor<8x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<8x6xf32>, tensor<8x6xf32>) {
    %0 = stablehlo.iota dim = 0 : tensor<8x6xf32>
    sdy.sharding_group %0 group_id=3 : tensor<8x6xf32>
    %2 = stablehlo.negate %0 : tensor<8x6xf32>
    sdy.sharding_group %a group_id=3 : tensor<8x6xf32>
    return %0, %2 : tensor<8x6xf32>, tensor<8x6xf32>
  }"#,
    );
    let rows = "{devices=[4,1,2]<=[8] last_tile_dim_replicate}";
    assert_eq!(found, [rows, rows]);
}

#[test]
fn a_product_is_split_as_its_factors_are() {
    let found = texts(
        r#"func.func @main(%a: tensor<8x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %b: tensor<6x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y"}]>}) -> (tensor<8x4xf32>, tensor<4x8xf32>, tensor<8xf32>) {
    %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<8x6xf32>, tensor<6x4xf32>) -> tensor<8x4xf32>
    %1 = stablehlo.transpose %0, dims = [1, 0] : (tensor<8x4xf32>) -> tensor<4x8xf32>
    %c = stablehlo.constant dense<0.0> : tensor<f32>
    %2 = stablehlo.reduce(%0 init: %c) applies stablehlo.add across dimensions = [1] : (tensor<8x4xf32>, tensor<f32>) -> tensor<8xf32>
    return %0, %1, %2 : tensor<8x4xf32>, tensor<4x8xf32>, tensor<8xf32>
  }"#,
    );
    assert_eq!(
        found,
        [
            "{devices=[4,2]<=[8]}",
            "{devices=[2,4]<=[4,2]T(1,0)}",
            "{devices=[4,2]<=[8] last_tile_dim_replicate}"
        ]
    );
}

#[test]
fn slices_are_split_as_what_they_are_taken_from_and_as_their_indices() {
    let found = texts(
        r#"func.func @main(%a: tensor<8x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y"}]>}, %i: tensor<4x1xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<4x6xf32>) {
    %0 = "stablehlo.gather"(%a, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 6>}> : (tensor<8x6xf32>, tensor<4x1xi32>) -> tensor<4x6xf32>
    return %0 : tensor<4x6xf32>
  }"#,
    );
    assert_eq!(found, ["{devices=[4,2]<=[8]}"]);
}

#[test]
fn a_loop_gives_what_its_first_round_makes() {
    let found = texts(
        r#"func.func @main(%a: tensor<8x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<8x6xf32>) {
    %z = stablehlo.constant dense<0.0> : tensor<8x6xf32>
    %0 = stablehlo.while(%b = %z) : tensor<8x6xf32>
    cond {
      %c = stablehlo.constant dense<false> : tensor<i1>
      stablehlo.return %c : tensor<i1>
    } do {
      %1 = stablehlo.add %a, %b : tensor<8x6xf32>
      stablehlo.return %1 : tensor<8x6xf32>
    }
    return %0 : tensor<8x6xf32>
  }"#,
    );
    assert_eq!(found, ["{devices=[4,1,2]<=[8] last_tile_dim_replicate}"]);
}

#[test]
fn a_manual_computation_states_its_own_axes_and_passes_the_others_on() {
    let found = texts(
        r#"func.func @main(%a: tensor<8x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}) -> (tensor<2x6xf32>) {
    %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x", ?}, {?}]>] out_shardings=[<@mesh, [{?}, {?}]>] manual_axes={"x"} (%b: tensor<2x6xf32>) {
      %1 = stablehlo.negate %b : tensor<2x6xf32>
      sdy.return %1 : tensor<2x6xf32>
    } : (tensor<8x6xf32>) -> tensor<2x6xf32>
    return %0 : tensor<2x6xf32>
  }"#,
    );
    assert_eq!(found, ["{devices=[1,2,4]<=[4,2]T(1,0) last_tile_dim_replicate}"]);
}

#[test]
fn what_is_made_is_split_as_a_manual_computation_takes_it_and_what_is_stated_stays() {
    let program = |made: &str| {
        texts(&format!(
            r#"func.func @main(%a: tensor<8x6xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{"x"}}, {{}}]>}}) -> (tensor<8x6xf32>, tensor<8x6xf32>) {{
    %0 = {made} : tensor<8x6xf32>
    %1 = sdy.manual_computation(%0) in_shardings=[<@mesh, [{{}}, {{"y"}}]>] out_shardings=[<@mesh, [{{}}, {{"y"}}]>] manual_axes={{"x", "y"}} (%b: tensor<8x3xf32>) {{
      %2 = stablehlo.negate %b : tensor<8x3xf32>
      sdy.return %2 : tensor<8x3xf32>
    }} : (tensor<8x6xf32>) -> tensor<8x6xf32>
    return %0, %1 : tensor<8x6xf32>, tensor<8x6xf32>
  }}"#
        ))
    };
    let columns = "{devices=[1,2,4]<=[4,2]T(1,0) last_tile_dim_replicate}";
    assert_eq!(program("stablehlo.negate %a"), ["{devices=[4,2]<=[8]}", columns]);
    let rows = "{devices=[4,1,2]<=[8] last_tile_dim_replicate}";
    let stated = r#"sdy.sharding_constraint %a <@mesh, [{"x"}, {}]>"#;
    assert_eq!(program(stated), [rows, columns]);
}

#[test]
fn a_reshape_keeps_what_begins_where_it_began() {
    let found = texts(
        r#"func.func @main(%a: tensor<8x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}) -> (tensor<4x2x6xf32>, tensor<48xf32>) {
    %0 = stablehlo.reshape %a : (tensor<8x6xf32>) -> tensor<4x2x6xf32>
    %1 = stablehlo.reshape %a : (tensor<8x6xf32>) -> tensor<48xf32>
    return %0, %1 : tensor<4x2x6xf32>, tensor<48xf32>
  }"#,
    );
    assert_eq!(found, ["{devices=[4,1,2]<=[8]}", "{devices=[4,2]<=[8] last_tile_dim_replicate}"]);
}

#[test]
fn what_windows_and_ends_of_arrays_make_is_split_as_they_are() {
    let found = texts(
        r#"func.func @main(%a: tensor<16x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %k: tensor<3x6x6xf32>) -> (tensor<16x6xf32>, tensor<15x6xf32>, tensor<8x6xf32>, tensor<16x6xf32>, tensor<1x16x6xf32>) {
    %0 = stablehlo.slice %a [1:16, 0:6] : (tensor<16x6xf32>) -> tensor<15x6xf32>
    %1 = stablehlo.slice %a [0:1, 0:6] : (tensor<16x6xf32>) -> tensor<1x6xf32>
    %2 = stablehlo.concatenate %0, %1, dim = 0 : (tensor<15x6xf32>, tensor<1x6xf32>) -> tensor<16x6xf32>
    %c = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %3 = "stablehlo.reduce_window"(%a, %c) ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %z = stablehlo.maximum %x, %y : tensor<f32>
      stablehlo.return %z : tensor<f32>
    }) {window_dimensions = array<i64: 2, 1>, window_strides = array<i64: 2, 1>} : (tensor<16x6xf32>, tensor<f32>) -> tensor<8x6xf32>
    %4 = stablehlo.reverse %a, dims = [0] : tensor<16x6xf32>
    %5 = stablehlo.reshape %a : (tensor<16x6xf32>) -> tensor<1x16x6xf32>
    %6 = stablehlo.convolution(%5, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {pad = [[1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x16x6xf32>, tensor<3x6x6xf32>) -> tensor<1x16x6xf32>
    return %2, %0, %3, %4, %6 : tensor<16x6xf32>, tensor<15x6xf32>, tensor<8x6xf32>, tensor<16x6xf32>, tensor<1x16x6xf32>
  }"#,
    );
    let rows = "{devices=[4,1,2]<=[8] last_tile_dim_replicate}";
    // Fifteen rows are split inside, and are whole where the program ends.
    let batch = "{devices=[1,4,1,2]<=[8] last_tile_dim_replicate}";
    assert_eq!(found, [rows, "whole", rows, rows, batch]);
}
