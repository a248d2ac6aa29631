module @collectives {
  func.func public @main(%0: tensor<8x4xf32> {mhlo.sharding = "{devices=[2,1]<=[2]}", tf.aliasing_output = 0 : i32}, %1: tensor<2xf32> {jax.buffer_donor = true}) -> (tensor<8x4xf32> {mhlo.sharding = "{replicated}"}, tensor<2x16xf32> {mhlo.sharding = "{replicated}"}) {
    %2 = stablehlo.constant dense<[4]> : tensor<1xi32>
    %6 = "stablehlo.all_reduce"(%0) ({
    ^bb0(%3: tensor<f32>, %4: tensor<f32>):
      %5 = stablehlo.add %3, %4 : tensor<f32>
      "stablehlo.return"(%5) : (tensor<f32>) -> ()
    }) {channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, use_global_device_ids} : (tensor<8x4xf32>) -> tensor<8x4xf32>
    %7 = "stablehlo.all_gather"(%6) {all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 2, type = 0>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids} : (tensor<8x4xf32>) -> tensor<16x4xf32>
    %11 = "stablehlo.reduce_scatter"(%7) ({
    ^bb0(%8: tensor<f32>, %9: tensor<f32>):
      %10 = stablehlo.add %8, %9 : tensor<f32>
      "stablehlo.return"(%10) : (tensor<f32>) -> ()
    }) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, scatter_dimension = 0 : i64} : (tensor<16x4xf32>) -> tensor<8x4xf32>
    %12 = "stablehlo.collective_permute"(%11) {source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>} : (tensor<8x4xf32>) -> tensor<8x4xf32>
    %13 = "stablehlo.reshape"(%12) : (tensor<8x4xf32>) -> tensor<8x4xf32>
    %14 = "stablehlo.all_to_all"(%12) {concat_dimension = 0 : i64, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, split_count = 4 : i64, split_dimension = 0 : i64} : (tensor<8x4xf32>) -> tensor<8x4xf32>
    %15 = "stablehlo.reshape"(%14) : (tensor<8x4xf32>) -> tensor<4x2x4xf32>
    %16 = "stablehlo.transpose"(%15) {permutation = array<i64: 1, 0, 2>} : (tensor<4x2x4xf32>) -> tensor<2x4x4xf32>
    %17 = "stablehlo.reshape"(%16) : (tensor<2x4x4xf32>) -> tensor<2x16xf32>
    %18 = "stablehlo.reshape"(%17) : (tensor<2x16xf32>) -> tensor<2x16xf32>
    return %12, %17 : tensor<8x4xf32>, tensor<2x16xf32>
  }
}
