module @reductions {
  func.func public @main(%0: tensor<4x6xf32>, %1: tensor<4x6xi32>) -> (tensor<4xf32>, tensor<4xi32>, tensor<2x3xf32>, tensor<4x6xf32>, tensor<4x6xi32>, tensor<4x6xf32>) {
    %2 = stablehlo.constant dense<0.0> : tensor<f32>
    %3 = stablehlo.constant dense<7> : tensor<i32>
    %10, %11 = "stablehlo.reduce"(%0, %1, %2, %3) ({
    ^bb0(%4: tensor<f32>, %5: tensor<i32>, %6: tensor<f32>, %7: tensor<i32>):
      %8 = stablehlo.maximum %4, %6 : tensor<f32>
      %9 = stablehlo.minimum %5, %7 : tensor<i32>
      "stablehlo.return"(%8, %9) : (tensor<f32>, tensor<i32>) -> ()
    }) {dimensions = array<i64: 1>} : (tensor<4x6xf32>, tensor<4x6xi32>, tensor<f32>, tensor<i32>) -> (tensor<4xf32>, tensor<4xi32>)
    %15 = "stablehlo.reduce_window"(%0, %2) ({
    ^bb0(%12: tensor<f32>, %13: tensor<f32>):
      %14 = stablehlo.add %12, %13 : tensor<f32>
      "stablehlo.return"(%14) : (tensor<f32>) -> ()
    }) {padding = dense<[[0, 1], [0, 0]]> : tensor<2x2xi64>, window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 2, 2>} : (tensor<4x6xf32>, tensor<f32>) -> tensor<2x3xf32>
    %21, %22 = "stablehlo.sort"(%0, %1) ({
    ^bb0(%16: tensor<f32>, %17: tensor<f32>, %18: tensor<i32>, %19: tensor<i32>):
      %20 = "stablehlo.compare"(%16, %17) {compare_type = #stablehlo<comparison_type TOTALORDER>, comparison_direction = #stablehlo<comparison_direction LT>} : (tensor<f32>, tensor<f32>) -> tensor<i1>
      "stablehlo.return"(%20) : (tensor<i1>) -> ()
    }) {dimension = 1 : i64, is_stable = true} : (tensor<4x6xf32>, tensor<4x6xi32>) -> (tensor<4x6xf32>, tensor<4x6xi32>)
    %29 = "stablehlo.select_and_scatter"(%0, %15, %2) ({
    ^bb0(%23: tensor<f32>, %24: tensor<f32>):
      %25 = "stablehlo.compare"(%23, %24) {compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction GE>} : (tensor<f32>, tensor<f32>) -> tensor<i1>
      "stablehlo.return"(%25) : (tensor<i1>) -> ()
    }, {
    ^bb0(%26: tensor<f32>, %27: tensor<f32>):
      %28 = stablehlo.add %26, %27 : tensor<f32>
      "stablehlo.return"(%28) : (tensor<f32>) -> ()
    }) {window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 2, 2>} : (tensor<4x6xf32>, tensor<2x3xf32>, tensor<f32>) -> tensor<4x6xf32>
    return %10, %11, %15, %21, %22, %29 : tensor<4xf32>, tensor<4xi32>, tensor<2x3xf32>, tensor<4x6xf32>, tensor<4x6xi32>, tensor<4x6xf32>
  }
}
