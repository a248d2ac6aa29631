module @jit_model {
  func.func public @main(%0: tensor<3x4xf32>) -> (tensor<3xf32>) {
    %1 = "func.call"(%0) {callee = @fused_computation} : (tensor<3x4xf32>) -> tensor<3xf32>
    return %1 : tensor<3xf32>
  }
  func.func private @fused_computation(%0: tensor<3x4xf32>) -> (tensor<3xf32>) {
    %1 = stablehlo.constant dense<1.0> : tensor<f32>
    %2 = "stablehlo.broadcast_in_dim"(%1) {broadcast_dimensions = array<i64>} : (tensor<f32>) -> tensor<3x4xf32>
    %3 = stablehlo.add %0, %2 : tensor<3x4xf32>
    %4 = stablehlo.tanh %3 : tensor<3x4xf32>
    %5 = stablehlo.constant dense<0.0> : tensor<f32>
    %9 = "stablehlo.reduce"(%4, %5) ({
    ^bb0(%6: tensor<f32>, %7: tensor<f32>):
      %8 = stablehlo.add %6, %7 : tensor<f32>
      "stablehlo.return"(%8) : (tensor<f32>) -> ()
    }) {dimensions = array<i64: 1>} : (tensor<3x4xf32>, tensor<f32>) -> tensor<3xf32>
    return %9 : tensor<3xf32>
  }
}
