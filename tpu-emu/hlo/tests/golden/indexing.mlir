module @indexing {
  func.func public @main(%0: tensor<5x3xf32>, %1: tensor<2x1xi32>, %2: tensor<2x3xf32>) -> (tensor<5x3xf32>, tensor<5x2xf32>) {
    %3 = "stablehlo.gather"(%0, %1) {dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = true, slice_sizes = array<i64: 1, 3>} : (tensor<5x3xf32>, tensor<2x1xi32>) -> tensor<2x3xf32>
    %4 = stablehlo.add %3, %2 : tensor<2x3xf32>
    %8 = "stablehlo.scatter"(%0, %1, %4) ({
    ^bb0(%5: tensor<f32>, %6: tensor<f32>):
      %7 = stablehlo.multiply %5, %6 : tensor<f32>
      "stablehlo.return"(%7) : (tensor<f32>) -> ()
    }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = true} : (tensor<5x3xf32>, tensor<2x1xi32>, tensor<2x3xf32>) -> tensor<5x3xf32>
    %9, %10 = "chlo.top_k"(%8) {k = 2 : i64} : (tensor<5x3xf32>) -> (tensor<5x2xf32>, tensor<5x2xi32>)
    return %8, %9 : tensor<5x3xf32>, tensor<5x2xf32>
  }
}
