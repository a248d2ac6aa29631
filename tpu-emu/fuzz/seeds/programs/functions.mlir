module @functions {
  func.func public @main(%arg0: tensor<5xf32>) -> (tensor<5xf32> {jax.result_info = "result[0]"}, tensor<5xf32> {jax.result_info = "result[1]"}, tensor<5xf32> {jax.result_info = "result[2]"}, tensor<5xf32> {jax.result_info = "result[3]"}, tensor<5xf32> {jax.result_info = "result[4]"}, tensor<5xf32> {jax.result_info = "result[5]"}, tensor<5xf32> {jax.result_info = "result[6]"}) {
    %0 = stablehlo.sine %arg0 : tensor<5xf32>
    %1 = stablehlo.tanh %arg0 : tensor<5xf32>
    %2 = stablehlo.log_plus_one %arg0 : tensor<5xf32>
    %3 = stablehlo.exponential_minus_one %arg0 : tensor<5xf32>
    %4 = stablehlo.rsqrt %arg0 : tensor<5xf32>
    %5 = stablehlo.power %arg0, %arg0 : tensor<5xf32>
    %6 = stablehlo.atan2 %arg0, %arg0 : tensor<5xf32>
    return %0, %1, %2, %3, %4, %5, %6 : tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>
  }
}
