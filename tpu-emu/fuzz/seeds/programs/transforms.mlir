module @transforms {
  func.func public @main(%arg0: tensor<2x6xcomplex<f32>>) -> (tensor<2x6xcomplex<f32>> {jax.result_info = "result[0]"}, tensor<2x4xcomplex<f32>> {jax.result_info = "result[1]"}, tensor<2x6xcomplex<f32>> {jax.result_info = "result[2]"}) {
    %0 = call @fft(%arg0) : (tensor<2x6xcomplex<f32>>) -> tensor<2x6xcomplex<f32>>
    %1 = stablehlo.real %arg0 : (tensor<2x6xcomplex<f32>>) -> tensor<2x6xf32>
    %2 = call @fft_0(%1) : (tensor<2x6xf32>) -> tensor<2x4xcomplex<f32>>
    %3 = call @fft_1(%arg0) : (tensor<2x6xcomplex<f32>>) -> tensor<2x6xcomplex<f32>>
    return %0, %2, %3 : tensor<2x6xcomplex<f32>>, tensor<2x4xcomplex<f32>>, tensor<2x6xcomplex<f32>>
  }
  func.func private @fft(%arg0: tensor<2x6xcomplex<f32>>) -> tensor<2x6xcomplex<f32>> {
    %0 = stablehlo.fft %arg0, type = FFT, length = [6] : (tensor<2x6xcomplex<f32>>) -> tensor<2x6xcomplex<f32>>
    return %0 : tensor<2x6xcomplex<f32>>
  }
  func.func private @fft_0(%arg0: tensor<2x6xf32>) -> tensor<2x4xcomplex<f32>> {
    %0 = stablehlo.fft %arg0, type = RFFT, length = [6] : (tensor<2x6xf32>) -> tensor<2x4xcomplex<f32>>
    return %0 : tensor<2x4xcomplex<f32>>
  }
  func.func private @fft_1(%arg0: tensor<2x6xcomplex<f32>>) -> tensor<2x6xcomplex<f32>> {
    %0 = stablehlo.fft %arg0, type = IFFT, length = [2, 6] : (tensor<2x6xcomplex<f32>>) -> tensor<2x6xcomplex<f32>>
    return %0 : tensor<2x6xcomplex<f32>>
  }
}
