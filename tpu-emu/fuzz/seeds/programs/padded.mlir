module @padded {
  func.func public @main(%arg0: tensor<4x3xf32>) -> (tensor<7x5xf32> {jax.result_info = "result"}) {
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %0 = stablehlo.pad %arg0, %cst, low = [1, 0], high = [-1, 2], interior = [1, 0] : (tensor<4x3xf32>, tensor<f32>) -> tensor<7x5xf32>
    return %0 : tensor<7x5xf32>
  }
}
