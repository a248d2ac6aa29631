module @batched_products {
  func.func public @main(%arg0: tensor<2x3x4xbf16>, %arg1: tensor<2x5x4xbf16>) -> (tensor<2x3x5xbf16> {jax.result_info = "result"}) {
    %0 = stablehlo.dot_general %arg0, %arg1, batching_dims = [0] x [0], contracting_dims = [2] x [2], precision = [DEFAULT, DEFAULT] : (tensor<2x3x4xbf16>, tensor<2x5x4xbf16>) -> tensor<2x3x5xbf16>
    return %0 : tensor<2x3x5xbf16>
  }
}
