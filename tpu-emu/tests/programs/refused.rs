//! Programs that are wrong, or would never end while they are compiled.
use super::machine::refusal;
use std::fmt::Write;

#[test]
fn functions_that_call_themselves_are_refused() {
    let text = r#"
        func.func public @main(%x: tensor<2xi32>) -> tensor<2xi32> {
          %a = call @f(%x) : (tensor<2xi32>) -> tensor<2xi32>
          return %a : tensor<2xi32>
        }
        func.func private @f(%x: tensor<2xi32>) -> tensor<2xi32> {
          %a = call @g(%x) : (tensor<2xi32>) -> tensor<2xi32>
          return %a : tensor<2xi32>
        }
        func.func private @g(%x: tensor<2xi32>) -> tensor<2xi32> {
          %a = call @f(%x) : (tensor<2xi32>) -> tensor<2xi32>
          return %a : tensor<2xi32>
        }"#;
    assert!(refusal(text).contains("calls itself"), "{}", refusal(text));
}

#[test]
fn a_chain_of_doubling_calls_is_refused_before_it_takes_for_ever() {
    let mut text = String::from(
        "func.func public @main(%x: tensor<i32>) -> tensor<i32> {
           %a = call @f0(%x) : (tensor<i32>) -> tensor<i32>
           return %a : tensor<i32>
         }\n",
    );
    for number in 0..100 {
        let next = number + 1;
        writeln!(
            text,
            "func.func private @f{number}(%x: tensor<i32>) -> tensor<i32> {{
               %a = call @f{next}(%x) : (tensor<i32>) -> tensor<i32>
               %b = call @f{next}(%a) : (tensor<i32>) -> tensor<i32>
               return %b : tensor<i32>
             }}"
        )
        .unwrap();
    }
    text += "func.func private @f100(%x: tensor<i32>) -> tensor<i32> { return %x : tensor<i32> }";
    assert!(refusal(&text).contains("more than 65536 calls"), "{}", refusal(&text));
}

#[test]
fn results_of_another_type_than_declared_are_refused() {
    let text = "func.func public @main(%x: tensor<2xf32>) -> tensor<2xi32> {
                  return %x : tensor<2xf32>
                }";
    assert!(refusal(text).contains("f32[2] where s32[2]"), "{}", refusal(text));
    let text = r#"
        func.func public @main(%p: tensor<i1>, %x: tensor<2xf32>, %y: tensor<2xi32>) -> tensor<2xf32> {
          %r = "stablehlo.if"(%p) ({
            stablehlo.return %x : tensor<2xf32>
          }, {
            stablehlo.return %y : tensor<2xi32>
          }) : (tensor<i1>) -> tensor<2xf32>
          return %r : tensor<2xf32>
        }"#;
    assert!(refusal(text).contains("s32[2] where f32[2]"), "{}", refusal(text));
    let text = r#"
        func.func public @main(%x: tensor<2xf32>, %y: tensor<2xi32>) -> tensor<2xf32> {
          %r = stablehlo.while(%c = %x) : tensor<2xf32>
          cond {
            %p = stablehlo.constant dense<false> : tensor<i1>
            stablehlo.return %p : tensor<i1>
          } do {
            stablehlo.return %y : tensor<2xi32>
          }
          return %r : tensor<2xf32>
        }"#;
    assert!(refusal(text).contains("s32[2] where f32[2]"), "{}", refusal(text));
}

#[test]
fn donations_that_cannot_be_are_refused() {
    let program = |first: &str, second: &str| {
        format!(
            "func.func public @main(%x: tensor<2xf32> {first}, %y: tensor<2000xf32> {second}) -> (tensor<2xf32>, tensor<2xf32>) {{
               return %x, %x : tensor<2xf32>, tensor<2xf32>
             }}"
        )
    };
    let refused = |first, second| refusal(&program(first, second));
    assert!(refused("{tf.aliasing_output = 2 : i32}", "").contains("among 2"));
    assert!(refused("", "{tf.aliasing_output = 0 : i32}").contains("cannot alias result 0"));
    let twice = "func.func public @main(%x: tensor<2xf32> {tf.aliasing_output = 0 : i32}, %y: tensor<2xf32> {tf.aliasing_output = 0 : i32}) -> tensor<2xf32> {
                   return %x : tensor<2xf32>
                 }";
    assert!(refusal(twice).contains("both alias result 0"), "{}", refusal(twice));
}
