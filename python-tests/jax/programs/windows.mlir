// Windows: a convolution with strides and dilation, and pooling, of integers that are exact.
func.func public @main() -> (tensor<1x2x2x1xi1>, tensor<2xi1>) {
  %image = stablehlo.iota dim = 1 : tensor<1x5x5x1xf32>
  %ones = stablehlo.constant dense<1.0> : tensor<2x2x1x1xf32>
  %sums = stablehlo.convolution(%image, %ones) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [2, 2], rhs_dilate = [2, 2]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x5x5x1xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x2x1xf32>
  // Rows r and r + 2, two columns of each: 4 r + 4.
  %wanted = stablehlo.constant dense<[[[[4.0], [4.0]], [[12.0], [12.0]]]]> : tensor<1x2x2x1xf32>
  %0 = stablehlo.compare EQ, %sums, %wanted, FLOAT : (tensor<1x2x2x1xf32>, tensor<1x2x2x1xf32>) -> tensor<1x2x2x1xi1>

  %row = stablehlo.constant dense<[3, 9, 4, 1, 7]> : tensor<5xi32>
  %low = stablehlo.constant dense<-2147483648> : tensor<i32>
  %pooled = "stablehlo.reduce_window"(%row, %low) <{window_dimensions = array<i64: 3>, window_strides = array<i64: 2>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %greater = stablehlo.maximum %a, %b : tensor<i32>
    stablehlo.return %greater : tensor<i32>
  }) : (tensor<5xi32>, tensor<i32>) -> tensor<2xi32>
  %tops = stablehlo.constant dense<[9, 7]> : tensor<2xi32>
  %1 = stablehlo.compare EQ, %pooled, %tops : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
  return %0, %1 : tensor<1x2x2x1xi1>, tensor<2xi1>
}
