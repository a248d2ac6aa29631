// Elements that move: starts out of bounds, paddings that cut, sorting that is stable.
func.func public @main() -> (tensor<3xi1>, tensor<5xi1>, tensor<4xi1>, tensor<2xi1>, tensor<4xi1>) {
  %numbers = stablehlo.iota dim = 0 : tensor<8xi32>
  %far = stablehlo.constant dense<100> : tensor<i32>
  %last = stablehlo.dynamic_slice %numbers, %far, sizes = [3] : (tensor<8xi32>, tensor<i32>) -> tensor<3xi32>
  %end = stablehlo.constant dense<[5, 6, 7]> : tensor<3xi32>
  %0 = stablehlo.compare EQ, %last, %end : (tensor<3xi32>, tensor<3xi32>) -> tensor<3xi1>

  %fill = stablehlo.constant dense<9> : tensor<i32>
  %padded = stablehlo.pad %end, %fill, low = [-1], high = [1], interior = [1] : (tensor<3xi32>, tensor<i32>) -> tensor<5xi32>
  %spread = stablehlo.constant dense<[9, 6, 9, 7, 9]> : tensor<5xi32>
  %1 = stablehlo.compare EQ, %padded, %spread : (tensor<5xi32>, tensor<5xi32>) -> tensor<5xi1>

  %keys = stablehlo.constant dense<[1, 0, 1, 0]> : tensor<4xi32>
  %tags = stablehlo.iota dim = 0 : tensor<4xi32>
  %sorted:2 = "stablehlo.sort"(%keys, %tags) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>, %c: tensor<i32>, %d: tensor<i32>):
    %less = stablehlo.compare LT, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %less : tensor<i1>
  }) : (tensor<4xi32>, tensor<4xi32>) -> (tensor<4xi32>, tensor<4xi32>)
  %stable = stablehlo.constant dense<[1, 3, 0, 2]> : tensor<4xi32>
  %2 = stablehlo.compare EQ, %sorted#1, %stable : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>

  // A gather moves starts that are out of bounds to the edge.
  %places = stablehlo.constant dense<[[-5], [50]]> : tensor<2x1xi32>
  %found = "stablehlo.gather"(%numbers, %places) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>}> : (tensor<8xi32>, tensor<2x1xi32>) -> tensor<2xi32>
  %edges = stablehlo.constant dense<[0, 7]> : tensor<2xi32>
  %3 = stablehlo.compare EQ, %found, %edges : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>

  // A scatter leaves updates out of bounds away and adds the others, twice where told twice.
  %where = stablehlo.constant dense<[[1], [9], [1]]> : tensor<3x1xi32>
  %scattered = "stablehlo.scatter"(%tags, %where, %end) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%old: tensor<i32>, %new: tensor<i32>):
    %sum = stablehlo.add %old, %new : tensor<i32>
    stablehlo.return %sum : tensor<i32>
  }) : (tensor<4xi32>, tensor<3x1xi32>, tensor<3xi32>) -> tensor<4xi32>
  %added = stablehlo.constant dense<[0, 13, 2, 3]> : tensor<4xi32>
  %4 = stablehlo.compare EQ, %scattered, %added : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
  return %0, %1, %2, %3, %4 : tensor<3xi1>, tensor<5xi1>, tensor<4xi1>, tensor<2xi1>, tensor<4xi1>
}
