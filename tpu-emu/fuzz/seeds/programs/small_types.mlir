module @small_types {
  func.func public @main(%arg0: tensor<3x5xf32>) -> (tensor<3x5xi32> {jax.result_info = "result[0]"}, tensor<3x5xf32> {jax.result_info = "result[1]"}, tensor<3x5xi1> {jax.result_info = "result[2]"}) {
    %0 = stablehlo.convert %arg0 : (tensor<3x5xf32>) -> tensor<3x5xi4>
    %1 = stablehlo.convert %0 : (tensor<3x5xi4>) -> tensor<3x5xi32>
    %2 = stablehlo.convert %arg0 : (tensor<3x5xf32>) -> tensor<3x5xf8E4M3FN>
    %3 = stablehlo.convert %2 : (tensor<3x5xf8E4M3FN>) -> tensor<3x5xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %4 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<3x5xf32>
    %5 = stablehlo.compare NE, %arg0, %4, FLOAT : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xi1>
    %6 = stablehlo.convert %5 : tensor<3x5xi1>
    return %1, %3, %6 : tensor<3x5xi32>, tensor<3x5xf32>, tensor<3x5xi1>
  }
}
