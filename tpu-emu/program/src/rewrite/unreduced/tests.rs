use super::*;

const ROWS: &str = "#sdy.sharding<@mesh, [{\"x\"}, {}]>";
const SUMMANDS: &str = "#sdy.sharding<@mesh, [{}, {}], unreduced={\"y\"}>";

fn rewritten(main: &str) -> Option<String> {
    let source = format!("module {{\n  sdy.mesh @mesh = <[\"x\"=2, \"y\"=4]>\n  {main}\n}}");
    let module = tpu_stablehlo::text::parse(&source).unwrap();
    let made = without_unreduced(&module).unwrap()?;
    let text = made.to_mlir(false);
    assert!(tpu_stablehlo::text::parse(&text).is_ok(), "{text}");
    Some(text)
}

#[test]
fn a_program_without_summands_stays_as_it_is() {
    let main = format!(
        "func.func @main(%a: tensor<8x8xf32> {{sdy.sharding = {ROWS}}}) -> tensor<8x8xf32> {{
    return %a : tensor<8x8xf32>
  }}"
    );
    assert_eq!(rewritten(&main), None);
}

#[test]
fn a_product_is_summed_up_in_parts() {
    let text = rewritten(
        "func.func @main(%a: tensor<8x16xf32>, %b: tensor<16x8xf32>) -> (tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{\"x\"}, {}], unreduced={\"y\"}>}) {
    %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<8x16xf32>, tensor<16x8xf32>) -> tensor<8x8xf32>
    %1 = sdy.sharding_constraint %0 <@mesh, [{\"x\"}, {}], unreduced={\"y\"}> : tensor<8x8xf32>
    return %1 : tensor<8x8xf32>
  }",
    )
    .unwrap();
    assert!(text.contains("(tensor<4x4xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>"), "{text}");
    assert!(
        !text.contains("(tensor<8x16xf32>, tensor<16x8xf32>) -> tensor<8x8xf32>\n    %1"),
        "{text}"
    );
    assert!(!text.contains("all_reduce"), "{text}");
}

#[test]
fn summands_are_summed_up_where_the_program_says() {
    let text = rewritten(&format!(
        "func.func @main(%a: tensor<8x8xf32> {{sdy.sharding = {SUMMANDS}}}) -> (tensor<8x8xf32> {{sdy.sharding = {ROWS}}}) {{
    %0 = call @twice(%a) : (tensor<8x8xf32>) -> tensor<8x8xf32>
    return %0 : tensor<8x8xf32>
  }}
  func.func private @twice(%a: tensor<8x8xf32>) -> tensor<8x8xf32> {{
    %0 = stablehlo.add %a, %a : tensor<8x8xf32>
    return %0 : tensor<8x8xf32>
  }}"
    ))
    .unwrap();
    let at = |word: &str| text.find(word).unwrap_or_else(|| panic!("{word} in {text}"));
    assert!(at("callee = @twice") < at("all_reduce"), "{text}");
    assert!(text.contains("tensor<4x8xf32>"), "{text}");
}

#[test]
fn what_gains_summands_is_the_first_device_s() {
    let text = rewritten(&format!(
        "func.func @main(%a: tensor<8x8xf32>) -> (tensor<8x8xf32> {{sdy.sharding = {SUMMANDS}}}) {{
    return %a : tensor<8x8xf32>
  }}"
    ))
    .unwrap();
    assert!(text.contains("stablehlo.select"), "{text}");
    assert!(!text.contains("all_reduce"), "{text}");
}

#[test]
fn a_loop_carries_summands() {
    let text = rewritten(&format!(
        "func.func @main(%a: tensor<8x8xf32> {{sdy.sharding = {SUMMANDS}}}, %n: tensor<i1>) -> tensor<8x8xf32> {{
    %z = stablehlo.constant dense<0.0> : tensor<8x8xf32>
    %0 = stablehlo.while(%c = %z) : tensor<8x8xf32>
      cond {{
        stablehlo.return %n : tensor<i1>
      }} do {{
        %1 = stablehlo.add %c, %a : tensor<8x8xf32>
        stablehlo.return %1 : tensor<8x8xf32>
      }}
    return %0 : tensor<8x8xf32>
  }}"
    ))
    .unwrap();
    let at = |word: &str| text.find(word).unwrap_or_else(|| panic!("{word} in {text}"));
    assert!(at("stablehlo.select") < at("stablehlo.while"), "{text}");
    assert!(at("stablehlo.while") < at("all_reduce"), "{text}");
}
