module @elementwise {
  func.func public @main(%0: tensor<4xf32>, %1: tensor<4xf32>, %2: tensor<4xui8>) -> (tensor<4xf32>, tensor<4xi1>) {
    %3 = stablehlo.add %0, %1 : tensor<4xf32>
    %4 = "stablehlo.tanh"(%3) {result_accuracy = #stablehlo.result_accuracy<atol = 0.0, rtol = 0.0, ulps = 0, mode = #stablehlo.result_accuracy_mode<HIGHEST>>} : (tensor<4xf32>) -> tensor<4xf32>
    %5 = "stablehlo.compare"(%4, %1) {compare_type = #stablehlo<comparison_type TOTALORDER>, comparison_direction = #stablehlo<comparison_direction LT>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
    %6 = "stablehlo.compare"(%2, %2) {compare_type = #stablehlo<comparison_type UNSIGNED>, comparison_direction = #stablehlo<comparison_direction GE>} : (tensor<4xui8>, tensor<4xui8>) -> tensor<4xi1>
    %7 = stablehlo.and %5, %6 : tensor<4xi1>
    %8 = "stablehlo.select"(%7, %0, %4) : (tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %9 = "stablehlo.reduce_precision"(%8) {exponent_bits = 5 : i32, mantissa_bits = 10 : i32} : (tensor<4xf32>) -> tensor<4xf32>
    %10 = "stablehlo.clamp"(%0, %9, %1) : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return %10, %7 : tensor<4xf32>, tensor<4xi1>
  }
}
