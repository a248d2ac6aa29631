module @views {
  func.func public @main(%arg0: tensor<6x4xf32>) -> (tensor<2x5xf32> {jax.result_info = "result"}) {
    %0 = stablehlo.reshape %arg0 : (tensor<6x4xf32>) -> tensor<4x2x3xf32>
    %1 = stablehlo.transpose %0, dims = [1, 0, 2] : (tensor<4x2x3xf32>) -> tensor<2x4x3xf32>
    %2 = stablehlo.slice %1 [0:2, 0:4:2, 0:3] : (tensor<2x4x3xf32>) -> tensor<2x2x3xf32>
    %3 = stablehlo.reshape %2 : (tensor<2x2x3xf32>) -> tensor<2x6xf32>
    %4 = stablehlo.slice %3 [0:2, 1:6] : (tensor<2x6xf32>) -> tensor<2x5xf32>
    return %4 : tensor<2x5xf32>
  }
}
