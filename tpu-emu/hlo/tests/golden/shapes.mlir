module @shapes {
  func.func public @main(%0: tensor<2x3xf32>, %1: tensor<i32>) -> (tensor<3x2xf32>, tensor<2x2xf32>) {
    %2 = stablehlo.constant dense<[[1.0, -2.0, 3.0], [4.0, 5.0, -6.0]]> : tensor<2x3xf32>
    %3 = stablehlo.add %0, %2 : tensor<2x3xf32>
    %4 = "stablehlo.transpose"(%3) {permutation = array<i64: 1, 0>} : (tensor<2x3xf32>) -> tensor<3x2xf32>
    %5 = "stablehlo.reverse"(%4) {dimensions = array<i64: 0>} : (tensor<3x2xf32>) -> tensor<3x2xf32>
    %6 = stablehlo.constant dense<0.0> : tensor<f32>
    %7 = "stablehlo.pad"(%5, %6) {edge_padding_high = array<i64: 0, 2>, edge_padding_low = array<i64: 1, -1>, interior_padding = array<i64: 1, 0>} : (tensor<3x2xf32>, tensor<f32>) -> tensor<6x3xf32>
    %8 = "stablehlo.slice"(%7) {limit_indices = array<i64: 6, 3>, start_indices = array<i64: 0, 1>, strides = array<i64: 3, 1>} : (tensor<6x3xf32>) -> tensor<2x2xf32>
    %9 = "stablehlo.dynamic_slice"(%0, %1, %1) {slice_sizes = array<i64: 2, 2>} : (tensor<2x3xf32>, tensor<i32>, tensor<i32>) -> tensor<2x2xf32>
    %10 = "stablehlo.concatenate"(%8, %9) {dimension = 1 : i64} : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x4xf32>
    %11 = "stablehlo.dynamic_update_slice"(%10, %9, %1, %1) : (tensor<2x4xf32>, tensor<2x2xf32>, tensor<i32>, tensor<i32>) -> tensor<2x4xf32>
    %12 = "stablehlo.slice"(%11) {limit_indices = array<i64: 2, 2>, start_indices = array<i64: 0, 0>, strides = array<i64: 1, 1>} : (tensor<2x4xf32>) -> tensor<2x2xf32>
    return %5, %12 : tensor<3x2xf32>, tensor<2x2xf32>
  }
}
