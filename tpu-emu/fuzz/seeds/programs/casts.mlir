module @casts {
  func.func public @main(%arg0: tensor<2x3xf32>) -> (tensor<2x3xi32> {jax.result_info = "result[0]"}, tensor<2x3x4xi8> {jax.result_info = "result[1]"}, tensor<2x3xf32> {jax.result_info = "result[2]"}) {
    %0 = stablehlo.bitcast_convert %arg0 : (tensor<2x3xf32>) -> tensor<2x3xi32>
    %1 = stablehlo.bitcast_convert %arg0 : (tensor<2x3xf32>) -> tensor<2x3x4xi8>
    %2 = stablehlo.reduce_precision %arg0, format = e5m7 : tensor<2x3xf32>
    return %0, %1, %2 : tensor<2x3xi32>, tensor<2x3x4xi8>, tensor<2x3xf32>
  }
}
