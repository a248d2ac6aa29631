// Floats: ties, infinities, signed zeros, and conversions that saturate.
func.func public @main() -> (tensor<5xi1>, tensor<4xi1>, tensor<2xi1>, tensor<3xi1>) {
  %x = stablehlo.constant dense<[0.5, 1.5, -2.5, 2.5, 3.4]> : tensor<5xf32>
  %even = stablehlo.round_nearest_even %x : tensor<5xf32>
  %wanted = stablehlo.constant dense<[0.0, 2.0, -2.0, 2.0, 3.0]> : tensor<5xf32>
  %0 = stablehlo.compare EQ, %even, %wanted, FLOAT : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xi1>

  %y = stablehlo.constant dense<[1.0e+10, -1.0e+10, 0x7FC00000, -3.9]> : tensor<4xf32>
  %cut = stablehlo.convert %y : (tensor<4xf32>) -> tensor<4xi32>
  %ends = stablehlo.constant dense<[2147483647, -2147483648, 0, -3]> : tensor<4xi32>
  %1 = stablehlo.compare EQ, %cut, %ends : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>

  %minus_zero = stablehlo.constant dense<[-0.0, -0.0]> : tensor<2xf32>
  %zeros = stablehlo.constant dense<[0.0, 1.0]> : tensor<2xf32>
  %2 = stablehlo.compare LT, %minus_zero, %zeros, TOTALORDER : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>

  %nan = stablehlo.constant dense<[0x7FC00000, 1.0, 0x7F800000]> : tensor<3xf32>
  %one = stablehlo.constant dense<[1.0, 0x7FC00000, 1.0]> : tensor<3xf32>
  %greatest = stablehlo.maximum %nan, %one : tensor<3xf32>
  %finite = stablehlo.is_finite %greatest : (tensor<3xf32>) -> tensor<3xi1>
  %3 = stablehlo.not %finite : tensor<3xi1>
  return %0, %1, %2, %3 : tensor<5xi1>, tensor<4xi1>, tensor<2xi1>, tensor<3xi1>
}
