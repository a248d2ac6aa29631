module @qr {
  func.func public @main(%arg0: tensor<3x2xf32>) -> (tensor<3x2xf32> {jax.result_info = "result.Q"}, tensor<2x2xf32> {jax.result_info = "result.R"}) {
    %0:2 = call @qr(%arg0) : (tensor<3x2xf32>) -> (tensor<3x2xf32>, tensor<2x2xf32>)
    return %0#0, %0#1 : tensor<3x2xf32>, tensor<2x2xf32>
  }
  func.func private @qr(%arg0: tensor<3x2xf32>) -> (tensor<3x2xf32>, tensor<2x2xf32>) {
    %0:2 = stablehlo.custom_call @Qr(%arg0) {backend_config = ""} : (tensor<3x2xf32>) -> (tensor<3x2xf32>, tensor<2xf32>)
    %1 = stablehlo.custom_call @ProductOfElementaryHouseholderReflectors(%0#0, %0#1) {backend_config = ""} : (tensor<3x2xf32>, tensor<2xf32>) -> tensor<3x2xf32>
    %2 = stablehlo.slice %0#0 [0:2, 0:2] : (tensor<3x2xf32>) -> tensor<2x2xf32>
    %3 = stablehlo.iota dim = 0 : tensor<2x2xi32>
    %c = stablehlo.constant dense<-1> : tensor<i32>
    %4 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<2x2xi32>
    %5 = stablehlo.add %3, %4 : tensor<2x2xi32>
    %6 = stablehlo.iota dim = 1 : tensor<2x2xi32>
    %7 = stablehlo.compare GE, %5, %6, SIGNED : (tensor<2x2xi32>, tensor<2x2xi32>) -> tensor<2x2xi1>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %8 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x2xf32>
    %9 = stablehlo.select %7, %8, %2 : tensor<2x2xi1>, tensor<2x2xf32>
    return %1, %9 : tensor<3x2xf32>, tensor<2x2xf32>
  }
}
