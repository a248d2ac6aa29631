module @complex_sums {
  func.func public @main(%arg0: tensor<1x5xcomplex<f32>>) -> (tensor<5xcomplex<f32>> {jax.result_info = "result[0]"}, tensor<1xcomplex<f32>> {jax.result_info = "result[1]"}, tensor<1x5xf32> {jax.result_info = "result[2]"}) {
    %cst = stablehlo.constant dense<(0.000000e+00,0.000000e+00)> : tensor<complex<f32>>
    %0 = stablehlo.reduce(%arg0 init: %cst) applies stablehlo.add across dimensions = [0] : (tensor<1x5xcomplex<f32>>, tensor<complex<f32>>) -> tensor<5xcomplex<f32>>
    %cst_0 = stablehlo.constant dense<(1.000000e+00,0.000000e+00)> : tensor<complex<f32>>
    %1 = stablehlo.reduce(%arg0 init: %cst_0) applies stablehlo.multiply across dimensions = [1] : (tensor<1x5xcomplex<f32>>, tensor<complex<f32>>) -> tensor<1xcomplex<f32>>
    %2 = stablehlo.real %arg0 : (tensor<1x5xcomplex<f32>>) -> tensor<1x5xf32>
    %3 = stablehlo.imag %arg0 : (tensor<1x5xcomplex<f32>>) -> tensor<1x5xf32>
    %4 = stablehlo.abs %2 : tensor<1x5xf32>
    %5 = stablehlo.abs %3 : tensor<1x5xf32>
    %6 = stablehlo.maximum %4, %5 : tensor<1x5xf32>
    %cst_1 = stablehlo.constant dense<9.22337203E+18> : tensor<f32>
    %7 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<1x5xf32>
    %8 = stablehlo.compare GE, %6, %7, FLOAT : (tensor<1x5xf32>, tensor<1x5xf32>) -> tensor<1x5xi1>
    %cst_2 = stablehlo.constant dense<2.44140625E-4> : tensor<f32>
    %9 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<1x5xf32>
    %10 = stablehlo.compare LE, %6, %9, FLOAT : (tensor<1x5xf32>, tensor<1x5xf32>) -> tensor<1x5xi1>
    %cst_3 = stablehlo.constant dense<2.64697796E-23> : tensor<f32>
    %11 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<1x5xf32>
    %cst_4 = stablehlo.constant dense<3.77789319E+22> : tensor<f32>
    %12 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<1x5xf32>
    %cst_5 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %13 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f32>) -> tensor<1x5xf32>
    %14 = stablehlo.multiply %2, %11 : tensor<1x5xf32>
    %15 = stablehlo.multiply %2, %12 : tensor<1x5xf32>
    %16 = stablehlo.select %10, %15, %2 : tensor<1x5xi1>, tensor<1x5xf32>
    %17 = stablehlo.select %8, %14, %16 : tensor<1x5xi1>, tensor<1x5xf32>
    %18 = stablehlo.multiply %3, %11 : tensor<1x5xf32>
    %19 = stablehlo.multiply %3, %12 : tensor<1x5xf32>
    %20 = stablehlo.select %10, %19, %3 : tensor<1x5xi1>, tensor<1x5xf32>
    %21 = stablehlo.select %8, %18, %20 : tensor<1x5xi1>, tensor<1x5xf32>
    %22 = stablehlo.select %10, %11, %13 : tensor<1x5xi1>, tensor<1x5xf32>
    %23 = stablehlo.select %8, %12, %22 : tensor<1x5xi1>, tensor<1x5xf32>
    %24 = chlo.square %17 : tensor<1x5xf32> -> tensor<1x5xf32>
    %25 = chlo.square %21 : tensor<1x5xf32> -> tensor<1x5xf32>
    %26 = stablehlo.add %24, %25 : tensor<1x5xf32>
    %27 = stablehlo.sqrt %26 : tensor<1x5xf32>
    %28 = stablehlo.multiply %27, %23 : tensor<1x5xf32>
    %cst_6 = stablehlo.constant dense<0x7F800000> : tensor<f32>
    %29 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<f32>) -> tensor<1x5xf32>
    %30 = stablehlo.compare EQ, %4, %29, FLOAT : (tensor<1x5xf32>, tensor<1x5xf32>) -> tensor<1x5xi1>
    %31 = stablehlo.compare EQ, %5, %29, FLOAT : (tensor<1x5xf32>, tensor<1x5xf32>) -> tensor<1x5xi1>
    %32 = stablehlo.or %30, %31 : tensor<1x5xi1>
    %33 = stablehlo.select %32, %29, %28 : tensor<1x5xi1>, tensor<1x5xf32>
    %34 = stablehlo.divide %17, %27 : tensor<1x5xf32>
    %35 = stablehlo.divide %21, %27 : tensor<1x5xf32>
    return %0, %1, %33 : tensor<5xcomplex<f32>>, tensor<1xcomplex<f32>>, tensor<1x5xf32>
  }
}
