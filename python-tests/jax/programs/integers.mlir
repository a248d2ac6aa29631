// Integers at their edges: what XLA defines beyond the specification too.
func.func public @main() -> tensor<8xi1> {
  %low = stablehlo.constant dense<-2147483648> : tensor<i32>
  %minus = stablehlo.constant dense<-1> : tensor<i32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %seven = stablehlo.constant dense<7> : tensor<i32>
  %width = stablehlo.constant dense<32> : tensor<i32>

  %wrapped = stablehlo.divide %low, %minus : tensor<i32>
  %0 = stablehlo.compare EQ, %wrapped, %low : (tensor<i32>, tensor<i32>) -> tensor<i1>
  %by_zero = stablehlo.divide %seven, %zero : tensor<i32>
  %1 = stablehlo.compare EQ, %by_zero, %minus : (tensor<i32>, tensor<i32>) -> tensor<i1>
  %left = stablehlo.remainder %seven, %zero : tensor<i32>
  %2 = stablehlo.compare EQ, %left, %seven : (tensor<i32>, tensor<i32>) -> tensor<i1>
  %out = stablehlo.shift_left %seven, %width : tensor<i32>
  %3 = stablehlo.compare EQ, %out, %zero : (tensor<i32>, tensor<i32>) -> tensor<i1>
  %sign = stablehlo.shift_right_arithmetic %low, %width : tensor<i32>
  %4 = stablehlo.compare EQ, %sign, %minus : (tensor<i32>, tensor<i32>) -> tensor<i1>
  %gone = stablehlo.shift_right_logical %low, %width : tensor<i32>
  %5 = stablehlo.compare EQ, %gone, %zero : (tensor<i32>, tensor<i32>) -> tensor<i1>
  %leading = stablehlo.count_leading_zeros %zero : tensor<i32>
  %6 = stablehlo.compare EQ, %leading, %width : (tensor<i32>, tensor<i32>) -> tensor<i1>
  %ones = stablehlo.popcnt %minus : tensor<i32>
  %7 = stablehlo.compare EQ, %ones, %width : (tensor<i32>, tensor<i32>) -> tensor<i1>

  %a = stablehlo.reshape %0 : (tensor<i1>) -> tensor<1xi1>
  %b = stablehlo.reshape %1 : (tensor<i1>) -> tensor<1xi1>
  %c = stablehlo.reshape %2 : (tensor<i1>) -> tensor<1xi1>
  %d = stablehlo.reshape %3 : (tensor<i1>) -> tensor<1xi1>
  %e = stablehlo.reshape %4 : (tensor<i1>) -> tensor<1xi1>
  %f = stablehlo.reshape %5 : (tensor<i1>) -> tensor<1xi1>
  %g = stablehlo.reshape %6 : (tensor<i1>) -> tensor<1xi1>
  %h = stablehlo.reshape %7 : (tensor<i1>) -> tensor<1xi1>
  %all = stablehlo.concatenate %a, %b, %c, %d, %e, %f, %g, %h, dim = 0 : (tensor<1xi1>, tensor<1xi1>, tensor<1xi1>, tensor<1xi1>, tensor<1xi1>, tensor<1xi1>, tensor<1xi1>, tensor<1xi1>) -> tensor<8xi1>
  return %all : tensor<8xi1>
}
