module @linalg {
  func.func public @main(%0: tensor<4x4xf32>, %1: tensor<4x2xf32>, %2: tensor<2xui64>) -> (tensor<4x2xf32>, tensor<4x3xcomplex<f32>>, tensor<2xui64>, tensor<3xui32>, tensor<4x4xf32>) {
    %3 = "stablehlo.cholesky"(%0) {lower = true} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %4 = "stablehlo.triangular_solve"(%3, %1) {left_side = true, lower = true, transpose_a = #stablehlo<transpose ADJOINT>, unit_diagonal = false} : (tensor<4x4xf32>, tensor<4x2xf32>) -> tensor<4x2xf32>
    %5 = "stablehlo.fft"(%0) {fft_length = array<i64: 4>, fft_type = #stablehlo<fft_type RFFT>} : (tensor<4x4xf32>) -> tensor<4x3xcomplex<f32>>
    %6, %7 = "stablehlo.rng_bit_generator"(%2) {rng_algorithm = #stablehlo<rng_algorithm THREE_FRY>} : (tensor<2xui64>) -> (tensor<2xui64>, tensor<3xui32>)
    %8 = "chlo.erf"(%0) : (tensor<4x4xf32>) -> tensor<4x4xf32>
    return %4, %5, %6, %7, %8 : tensor<4x2xf32>, tensor<4x3xcomplex<f32>>, tensor<2xui64>, tensor<3xui32>, tensor<4x4xf32>
  }
}
