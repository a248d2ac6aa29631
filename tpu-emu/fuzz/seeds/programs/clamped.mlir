module @clamped {
  func.func public @main(%arg0: tensor<7xf16>) -> (tensor<7xf16> {jax.result_info = "result[0]"}, tensor<7xf16> {jax.result_info = "result[1]"}, tensor<7xf16> {jax.result_info = "result[2]"}, tensor<7xf16> {jax.result_info = "result[3]"}) {
    %c = stablehlo.constant dense<-1> : tensor<i32>
    %c_0 = stablehlo.constant dense<1> : tensor<i32>
    %0 = call @clip(%arg0, %c, %c_0) : (tensor<7xf16>, tensor<i32>, tensor<i32>) -> tensor<7xf16>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f16>
    %1 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f16>) -> tensor<7xf16>
    %2 = stablehlo.compare GT, %arg0, %1, FLOAT : (tensor<7xf16>, tensor<7xf16>) -> tensor<7xi1>
    %3 = stablehlo.negate %arg0 : tensor<7xf16>
    %4 = stablehlo.select %2, %3, %arg0 : tensor<7xi1>, tensor<7xf16>
    %5 = stablehlo.sign %arg0 : tensor<7xf16>
    %6 = stablehlo.round_nearest_afz %arg0 : tensor<7xf16>
    return %0, %4, %5, %6 : tensor<7xf16>, tensor<7xf16>, tensor<7xf16>, tensor<7xf16>
  }
  func.func private @clip(%arg0: tensor<7xf16>, %arg1: tensor<i32>, %arg2: tensor<i32>) -> tensor<7xf16> {
    %0 = stablehlo.convert %arg1 : (tensor<i32>) -> tensor<f16>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f16>) -> tensor<7xf16>
    %2 = stablehlo.maximum %1, %arg0 : tensor<7xf16>
    %3 = stablehlo.convert %arg2 : (tensor<i32>) -> tensor<f16>
    %4 = stablehlo.broadcast_in_dim %3, dims = [] : (tensor<f16>) -> tensor<7xf16>
    %5 = stablehlo.minimum %4, %2 : tensor<7xf16>
    return %5 : tensor<7xf16>
  }
}
