module @constants {
  func.func public @main() {
    %0 = stablehlo.constant dense<[[1.5, -0.0, 0x7FC00000], [0xFF800000, 1.0e-45, 3.4028235e38]]> : tensor<2x3xf32>
    %1 = stablehlo.constant dense<[1.0, 0x7FF0000000000000]> : tensor<2xf64>
    %2 = stablehlo.constant dense<[3.14159, 0x7FC0, 1.0e-40]> : tensor<3xbf16>
    %3 = stablehlo.constant dense<[1.0e-8, 65504.0, 0x7C00]> : tensor<3xf16>
    %4 = stablehlo.constant dense<[0.3, 448.0, 0x7F]> : tensor<3xf8E4M3FN>
    %5 = stablehlo.constant dense<[0.3, 57344.0, 0x7C]> : tensor<3xf8E5M2>
    %6 = stablehlo.constant dense<[(1.0, -2.0), (0.0, 0x7F800000)]> : tensor<2xcomplex<f32>>
    %7 = stablehlo.constant dense<(1.0, 2.5)> : tensor<4xcomplex<f64>>
    %8 = stablehlo.constant dense<[-8, 7, 0, -1]> : tensor<4xi4>
    %9 = stablehlo.constant dense<[15, 0]> : tensor<2xui4>
    %10 = stablehlo.constant dense<[-2, 1]> : tensor<2xi2>
    %11 = stablehlo.constant dense<[true, false, true]> : tensor<3xi1>
    %12 = stablehlo.constant dense<true> : tensor<100xi1>
    %13 = stablehlo.constant dense<"0x0100000002000000FFFFFFFF"> : tensor<3xi32>
    %14 = stablehlo.constant dense<[9223372036854775807, -9223372036854775808]> : tensor<2xi64>
    %15 = stablehlo.constant dense<18446744073709551615> : tensor<ui64>
    %16 = stablehlo.constant dense<> : tensor<0x3xf32>
    %17 = stablehlo.constant dense<[7, 7, 7]> : tensor<3xi8>
    %18 = stablehlo.constant dense<[0.5, 6.0, -1.5]> : tensor<3xf4E2M1FN>
    %19 = stablehlo.constant dense<[0.5, 0x7F]> : tensor<2xf8E8M0FNU>
    %20 = "stablehlo.constant"() <{value = dense<1> : tensor<2xi64>}> : () -> tensor<2xi64>
    return
  }
}
