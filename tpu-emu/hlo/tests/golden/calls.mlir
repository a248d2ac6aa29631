module @calls {
  func.func public @main(%0: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2xf32>) {
    %1 = "stablehlo.custom_call"(%0) {api_version = 4 : i32, backend_config = {a = 1 : i32, b = "s", d = [1 : i64, true]}, call_target_name = "foo", operand_layouts = [dense<[1, 0]> : tensor<2xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[0, 1]> : tensor<2xindex>]} : (tensor<2x3xf32>) -> tensor<2x3xf32>
    %2, %3 = "stablehlo.custom_call"(%1) {backend_config = "text", call_target_name = "bar", has_side_effect = true, mhlo.sharding = "{{replicated}, {maximal device=1}}"} : (tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2xf32>)
    %4 = "stablehlo.create_token"() : () -> !stablehlo.token
    %5 = "stablehlo.send"(%2, %4) {channel_handle = #stablehlo.channel_handle<handle = 3, type = 2>, is_host_transfer = true} : (tensor<2x3xf32>, !stablehlo.token) -> !stablehlo.token
    %6 = stablehlo.constant dense<0> : tensor<ui32>
    %7, %8 = "stablehlo.recv"(%5) {channel_handle = #stablehlo.channel_handle<handle = 4, type = 3>, is_host_transfer = true} : (!stablehlo.token) -> (tensor<2x3xf32>, !stablehlo.token)
    %9 = stablehlo.constant dense<0> : tensor<ui32>
    %10, %11 = "stablehlo.infeed"(%8) {infeed_config = "in"} : (!stablehlo.token) -> (tensor<2xf32>, !stablehlo.token)
    %12 = "stablehlo.outfeed"(%10, %11) {outfeed_config = "out"} : (tensor<2xf32>, !stablehlo.token) -> !stablehlo.token
    %13, %14 = "stablehlo.optimization_barrier"(%7, %10) : (tensor<2x3xf32>, tensor<2xf32>) -> (tensor<2x3xf32>, tensor<2xf32>)
    return %13, %14 : tensor<2x3xf32>, tensor<2xf32>
  }
}
