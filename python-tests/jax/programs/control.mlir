// Loops, branches and calls: the sum of the first ten squares, three ways.
func.func private @square(%x: tensor<i32>) -> tensor<i32> {
  %y = stablehlo.multiply %x, %x : tensor<i32>
  return %y : tensor<i32>
}

func.func public @main() -> (tensor<i1>, tensor<i1>, tensor<i1>, tensor<i1>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %ten = stablehlo.constant dense<10> : tensor<i32>
  %wanted = stablehlo.constant dense<285> : tensor<i32>
  %loop:2 = stablehlo.while(%i = %zero, %sum = %zero) : tensor<i32>, tensor<i32>
  cond {
    %more = stablehlo.compare LT, %i, %ten : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %next = stablehlo.add %i, %one : tensor<i32>
    %term = func.call @square(%i) : (tensor<i32>) -> tensor<i32>
    %more = stablehlo.add %sum, %term : tensor<i32>
    stablehlo.return %next, %more : tensor<i32>, tensor<i32>
  }
  %0 = stablehlo.compare EQ, %loop#1, %wanted : (tensor<i32>, tensor<i32>) -> tensor<i1>

  %numbers = stablehlo.iota dim = 0 : tensor<10xi32>
  %squares = stablehlo.multiply %numbers, %numbers : tensor<10xi32>
  %total = stablehlo.reduce(%squares init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<10xi32>, tensor<i32>) -> tensor<i32>
  %1 = stablehlo.compare EQ, %total, %wanted : (tensor<i32>, tensor<i32>) -> tensor<i1>

  %dot = stablehlo.dot_general %numbers, %numbers, contracting_dims = [0] x [0] : (tensor<10xi32>, tensor<10xi32>) -> tensor<i32>
  %2 = stablehlo.compare EQ, %dot, %wanted : (tensor<i32>, tensor<i32>) -> tensor<i1>

  // A branch that does not exist is the last one.
  %chosen = "stablehlo.case"(%ten) ({
    stablehlo.return %zero : tensor<i32>
  }, {
    stablehlo.return %wanted : tensor<i32>
  }) : (tensor<i32>) -> tensor<i32>
  %3 = stablehlo.compare EQ, %chosen, %wanted : (tensor<i32>, tensor<i32>) -> tensor<i1>
  return %0, %1, %2, %3 : tensor<i1>, tensor<i1>, tensor<i1>, tensor<i1>
}
