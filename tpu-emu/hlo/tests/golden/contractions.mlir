module @contractions {
  func.func public @main(%0: tensor<2x3x4xf32>, %1: tensor<2x4x5xf32>, %2: tensor<1x8x9x2xf32>, %3: tensor<3x3x2x4xf32>) -> (tensor<2x3x5xf32>, tensor<2x3x5xf32>, tensor<1x4x9x4xf32>) {
    %4 = "stablehlo.dot_general"(%0, %1) {dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1]>, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision DEFAULT>]} : (tensor<2x3x4xf32>, tensor<2x4x5xf32>) -> tensor<2x3x5xf32>
    %5 = "stablehlo.dot_general"(%0, %1) {algorithm = #stablehlo.dot_algorithm<lhs_precision_type = bf16, rhs_precision_type = bf16, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 3, allow_imprecise_accumulation = false>, dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1]>} : (tensor<2x3x4xf32>, tensor<2x4x5xf32>) -> tensor<2x3x5xf32>
    %6 = "stablehlo.convolution"(%2, %3) {batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, padding = dense<[[0, 1], [1, 1]]> : tensor<2x2xi64>, window_reversal = array<i1: false, true>, window_strides = array<i64: 2, 1>} : (tensor<1x8x9x2xf32>, tensor<3x3x2x4xf32>) -> tensor<1x4x9x4xf32>
    return %4, %5, %6 : tensor<2x3x5xf32>, tensor<2x3x5xf32>, tensor<1x4x9x4xf32>
  }
}
