module @slices {
  func.func public @main(%arg0: tensor<4x3x5xf32>) -> (tensor<4x3x2xf32> {jax.result_info = "result[0]"}, tensor<5x1x4xf32> {jax.result_info = "result[1]"}) {
    %0 = stablehlo.slice %arg0 [1:4, 0:2, 1:5] : (tensor<4x3x5xf32>) -> tensor<3x2x4xf32>
    %1 = stablehlo.transpose %0, dims = [2, 0, 1] : (tensor<3x2x4xf32>) -> tensor<4x3x2xf32>
    %2 = stablehlo.slice %arg0 [0:4, 1:3:2, 0:5] : (tensor<4x3x5xf32>) -> tensor<4x1x5xf32>
    %3 = stablehlo.reverse %2, dims = [0] : tensor<4x1x5xf32>
    %4 = stablehlo.transpose %3, dims = [2, 1, 0] : (tensor<4x1x5xf32>) -> tensor<5x1x4xf32>
    return %1, %4 : tensor<4x3x2xf32>, tensor<5x1x4xf32>
  }
}
