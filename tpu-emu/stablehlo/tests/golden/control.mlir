module @control {
  func.func public @main(%n: tensor<i32>, %x: tensor<4xf32>) -> (tensor<4xf32> {jax.result_info = "result"}) attributes {note = "all control flow"} {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0:2 = stablehlo.while(%iterArg = %c, %iterArg_0 = %x) : tensor<i32>, tensor<4xf32> attributes {bound = 10 : i64}
     cond {
      %3 = stablehlo.compare LT, %iterArg, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %3 : tensor<i1>
    } do {
      %c_1 = stablehlo.constant dense<1> : tensor<i32>
      %3 = stablehlo.add %iterArg, %c_1 : tensor<i32>
      %4 = func.call @twice(%iterArg_0) : (tensor<4xf32>) -> tensor<4xf32>
      stablehlo.return %3, %4 : tensor<i32>, tensor<4xf32>
    }
    %1 = "stablehlo.case"(%0#0) ({
      stablehlo.return %0#1 : tensor<4xf32>
    }, {
      %3 = stablehlo.negate %0#1 : tensor<4xf32>
      stablehlo.return %3 : tensor<4xf32>
    }) : (tensor<i32>) -> tensor<4xf32>
    %p = stablehlo.constant dense<true> : tensor<i1>
    %2 = "stablehlo.if"(%p) ({
      %3 = call @twice(%1) : (tensor<4xf32>) -> tensor<4xf32>
      stablehlo.return %3 : tensor<4xf32>
    }, {
      stablehlo.return %1 : tensor<4xf32>
    }) : (tensor<i1>) -> tensor<4xf32>
    return %2 : tensor<4xf32>
  }
  func.func private @twice(%arg0: tensor<4xf32> {mhlo.layout_mode = "default", tf.aliasing_output = 0 : i32}) -> tensor<4xf32> {
    %0 = stablehlo.composite "my.double" %arg0 {composite_attributes = {factor = 2 : i32}, decomposition = @double, version = 1 : i32} : (tensor<4xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  "func.func"() <{function_type = (tensor<4xf32>) -> tensor<4xf32>, sym_name = "double", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<4xf32>):
    %0 = "stablehlo.add"(%arg0, %arg0) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    "func.return"(%0) : (tensor<4xf32>) -> ()
  }) : () -> ()
  func.func private @elsewhere(tensor<4xf32>, tensor<i32> {jax.arg_info = "n"}) -> (tensor<4xf32>, tensor<i32>)
}
