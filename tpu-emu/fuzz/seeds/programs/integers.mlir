module @integers {
  func.func public @main(%arg0: tensor<5xi16>, %arg1: tensor<5xi16>) -> (tensor<5xi16> {jax.result_info = "result[0]"}, tensor<5xi16> {jax.result_info = "result[1]"}, tensor<5xi16> {jax.result_info = "result[2]"}, tensor<5xi16> {jax.result_info = "result[3]"}, tensor<5xi16> {jax.result_info = "result[4]"}, tensor<5xi16> {jax.result_info = "result[5]"}, tensor<5xi16> {jax.result_info = "result[6]"}) {
    %0 = call @floor_divide(%arg0, %arg1) : (tensor<5xi16>, tensor<5xi16>) -> tensor<5xi16>
    %1 = call @remainder(%arg0, %arg1) : (tensor<5xi16>, tensor<5xi16>) -> tensor<5xi16>
    %2 = stablehlo.shift_left %arg0, %arg1 : tensor<5xi16>
    %3 = stablehlo.shift_right_arithmetic %arg0, %arg1 : tensor<5xi16>
    %4 = stablehlo.not %arg1 : tensor<5xi16>
    %5 = stablehlo.and %arg0, %4 : tensor<5xi16>
    %6 = stablehlo.popcnt %arg0 : tensor<5xi16>
    %7 = stablehlo.count_leading_zeros %arg0 : tensor<5xi16>
    return %0, %1, %2, %3, %5, %6, %7 : tensor<5xi16>, tensor<5xi16>, tensor<5xi16>, tensor<5xi16>, tensor<5xi16>, tensor<5xi16>, tensor<5xi16>
  }
  func.func private @floor_divide(%arg0: tensor<5xi16>, %arg1: tensor<5xi16>) -> tensor<5xi16> {
    %0 = stablehlo.divide %arg0, %arg1 : tensor<5xi16>
    %1 = stablehlo.sign %arg0 : tensor<5xi16>
    %2 = stablehlo.sign %arg1 : tensor<5xi16>
    %3 = stablehlo.compare NE, %1, %2, SIGNED : (tensor<5xi16>, tensor<5xi16>) -> tensor<5xi1>
    %4 = stablehlo.remainder %arg0, %arg1 : tensor<5xi16>
    %c = stablehlo.constant dense<0> : tensor<i16>
    %5 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i16>) -> tensor<5xi16>
    %6 = stablehlo.compare NE, %4, %5, SIGNED : (tensor<5xi16>, tensor<5xi16>) -> tensor<5xi1>
    %7 = stablehlo.and %3, %6 : tensor<5xi1>
    %c_0 = stablehlo.constant dense<1> : tensor<i16>
    %8 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i16>) -> tensor<5xi16>
    %9 = stablehlo.subtract %0, %8 : tensor<5xi16>
    %10 = call @_where(%7, %9, %0) : (tensor<5xi1>, tensor<5xi16>, tensor<5xi16>) -> tensor<5xi16>
    return %10 : tensor<5xi16>
  }
  func.func private @_where(%arg0: tensor<5xi1>, %arg1: tensor<5xi16>, %arg2: tensor<5xi16>) -> tensor<5xi16> {
    %0 = stablehlo.select %arg0, %arg1, %arg2 : tensor<5xi1>, tensor<5xi16>
    return %0 : tensor<5xi16>
  }
  func.func private @remainder(%arg0: tensor<5xi16>, %arg1: tensor<5xi16>) -> tensor<5xi16> {
    %c = stablehlo.constant dense<0> : tensor<i16>
    %0 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i16>) -> tensor<5xi16>
    %1 = stablehlo.compare EQ, %arg1, %0, SIGNED : (tensor<5xi16>, tensor<5xi16>) -> tensor<5xi1>
    %c_0 = stablehlo.constant dense<1> : tensor<i16>
    %2 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i16>) -> tensor<5xi16>
    %3 = call @_where(%1, %2, %arg1) : (tensor<5xi1>, tensor<5xi16>, tensor<5xi16>) -> tensor<5xi16>
    %4 = stablehlo.remainder %arg0, %3 : tensor<5xi16>
    %c_1 = stablehlo.constant dense<0> : tensor<i16>
    %5 = stablehlo.broadcast_in_dim %c_1, dims = [] : (tensor<i16>) -> tensor<5xi16>
    %6 = stablehlo.compare NE, %4, %5, SIGNED : (tensor<5xi16>, tensor<5xi16>) -> tensor<5xi1>
    %c_2 = stablehlo.constant dense<0> : tensor<i16>
    %7 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<i16>) -> tensor<5xi16>
    %8 = stablehlo.compare LT, %4, %7, SIGNED : (tensor<5xi16>, tensor<5xi16>) -> tensor<5xi1>
    %c_3 = stablehlo.constant dense<0> : tensor<i16>
    %9 = stablehlo.broadcast_in_dim %c_3, dims = [] : (tensor<i16>) -> tensor<5xi16>
    %10 = stablehlo.compare LT, %3, %9, SIGNED : (tensor<5xi16>, tensor<5xi16>) -> tensor<5xi1>
    %11 = stablehlo.compare NE, %8, %10, UNSIGNED : (tensor<5xi1>, tensor<5xi1>) -> tensor<5xi1>
    %12 = stablehlo.and %11, %6 : tensor<5xi1>
    %13 = stablehlo.add %4, %3 : tensor<5xi16>
    %14 = stablehlo.select %12, %13, %4 : tensor<5xi1>, tensor<5xi16>
    return %14 : tensor<5xi16>
  }
}
