module @control {
  func.func public @main(%0: tensor<i32>, %1: tensor<4xf32>) -> (tensor<4xf32>, tensor<i32>) {
    %2 = stablehlo.constant dense<true> : tensor<i1>
    %3 = stablehlo.constant dense<0> : tensor<i32>
    %14, %15, %16 = "stablehlo.while"(%3, %1, %0) ({
    ^bb0(%4: tensor<i32>, %5: tensor<4xf32>, %6: tensor<i32>):
      %7 = "stablehlo.compare"(%4, %6) {compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>} : (tensor<i32>, tensor<i32>) -> tensor<i1>
      "stablehlo.return"(%7) : (tensor<i1>) -> ()
    }, {
    ^bb0(%8: tensor<i32>, %9: tensor<4xf32>, %10: tensor<i32>):
      %11 = stablehlo.constant dense<1> : tensor<i32>
      %12 = stablehlo.add %8, %11 : tensor<i32>
      %13 = "func.call"(%9) {callee = @twice.1} : (tensor<4xf32>) -> tensor<4xf32>
      "stablehlo.return"(%12, %13, %10) : (tensor<i32>, tensor<4xf32>, tensor<i32>) -> ()
    }) : (tensor<i32>, tensor<4xf32>, tensor<i32>) -> (tensor<i32>, tensor<4xf32>, tensor<i32>)
    %18 = "stablehlo.case"(%14) ({
      "stablehlo.return"(%15) : (tensor<4xf32>) -> ()
    }, {
      %17 = stablehlo.negate %15 : tensor<4xf32>
      "stablehlo.return"(%17) : (tensor<4xf32>) -> ()
    }) : (tensor<i32>) -> tensor<4xf32>
    %20 = "stablehlo.if"(%2) ({
      %19 = "func.call"(%18) {callee = @twice.1} : (tensor<4xf32>) -> tensor<4xf32>
      "stablehlo.return"(%19) : (tensor<4xf32>) -> ()
    }, {
      "stablehlo.return"(%18) : (tensor<4xf32>) -> ()
    }) : (tensor<i1>) -> tensor<4xf32>
    return %20, %14 : tensor<4xf32>, tensor<i32>
  }
  func.func private @twice.1(%0: tensor<4xf32>) -> (tensor<4xf32>) {
    %1 = stablehlo.add %0, %0 : tensor<4xf32>
    return %1 : tensor<4xf32>
  }
}
