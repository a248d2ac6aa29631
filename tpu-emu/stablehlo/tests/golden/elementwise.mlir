// Operations with one type for all operands and the result, and the few with two.
module @elementwise {
  func.func public @main(%a: tensor<2x3xf32>, %b: tensor<2x3xf32>, %i: tensor<2x3xi32>, %p: tensor<2x3xi1>) -> tensor<2x3xf32> {
    %0 = stablehlo.add %a, %b : tensor<2x3xf32>
    %1 = stablehlo.exponential %0 : tensor<2x3xf32>
    %2 = stablehlo.clamp %a, %1, %b : tensor<2x3xf32>
    %3 = stablehlo.compare LT, %2, %b, TOTALORDER : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>
    %4 = stablehlo.compare EQ, %i, %i : (tensor<2x3xi32>, tensor<2x3xi32>) -> tensor<2x3xi1>
    %5 = stablehlo.and %3, %4 : tensor<2x3xi1>
    %6 = stablehlo.select %5, %a, %b : tensor<2x3xi1>, tensor<2x3xf32>
    %7 = stablehlo.complex %6, %a : tensor<2x3xcomplex<f32>>
    %8 = stablehlo.real %7 : (tensor<2x3xcomplex<f32>>) -> tensor<2x3xf32>
    %9 = stablehlo.is_finite %8 : (tensor<2x3xf32>) -> tensor<2x3xi1>
    %10 = stablehlo.convert %9 : (tensor<2x3xi1>) -> tensor<2x3xi8>
    %11 = stablehlo.bitcast_convert %i : (tensor<2x3xi32>) -> tensor<2x3xf32>
    %12 = stablehlo.reduce_precision %11, format = e5m10 : tensor<2x3xf32>
    %13 = stablehlo.tanh %12 {result_accuracy = #stablehlo.result_accuracy<atol = 1.0e-5, ulps = 3, mode = #stablehlo.result_accuracy_mode<TOLERANCE>>} : tensor<2x3xf32>
    %14:2 = stablehlo.optimization_barrier %13, %10 : tensor<2x3xf32>, tensor<2x3xi8>
    %15 = stablehlo.select %p, %14#0, %a : (tensor<2x3xi1>, tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    %16 = "stablehlo.multiply"(%15, %14#0) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    return %16 : tensor<2x3xf32>
  }
}
