module @custom_calls {
  func.func public @main(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
    %0 = stablehlo.custom_call @foo(%x) {api_version = 4 : i32, backend_config = {a = 1 : i32, b = "s", c = 2.5 : f32, d = [1, true]}, mhlo.backend_config = {x}, operand_layouts = [dense<[1, 0]> : tensor<2xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[0, 1]> : tensor<2xindex>]} : (tensor<2x3xf32>) -> tensor<2x3xf32>
    %1 = stablehlo.custom_call @"with space"(%0) {backend_config = "a\22\\\00\E2\82\AC", has_side_effect = true, mhlo.sharding = "{replicated}"} : (tensor<2x3xf32>) -> tensor<2x3xf32>
    stablehlo.custom_call @nothing() {called_computations = [@f]} : () -> ()
    return %1 : tensor<2x3xf32>
  }
  func.func private @f() {
    return
  }
}
