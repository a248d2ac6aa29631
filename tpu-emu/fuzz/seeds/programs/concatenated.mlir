module @concatenated {
  func.func public @main(%arg0: tensor<2x3xf32>, %arg1: tensor<4x3xf32>) -> (tensor<3x7xf32> {jax.result_info = "result"}) {
    %cst = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<4x3xf32>
    %1 = stablehlo.multiply %arg1, %0 : tensor<4x3xf32>
    %2 = stablehlo.slice %arg0 [0:1, 0:3] : (tensor<2x3xf32>) -> tensor<1x3xf32>
    %3 = stablehlo.concatenate %arg0, %1, %2, dim = 0 : (tensor<2x3xf32>, tensor<4x3xf32>, tensor<1x3xf32>) -> tensor<7x3xf32>
    %4 = stablehlo.transpose %3, dims = [1, 0] : (tensor<7x3xf32>) -> tensor<3x7xf32>
    return %4 : tensor<3x7xf32>
  }
}
