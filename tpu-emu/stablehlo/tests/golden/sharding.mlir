module @sharding {
  sdy.mesh @mesh = <["x"=2, "y"=4]>
  sdy.mesh @turned = <["x"=2], device_ids=[1, 0]>
  func.func public @main(%x: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y":(2)2, ?}p1], replicated={"y":(1)2}>}) -> (tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}, {}]>}) {
    %0 = sdy.sharding_constraint %x <@mesh, [{"x"}, {}]> : tensor<8x8xf32>
    %1 = sdy.manual_computation(%0) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%arg1: tensor<4x8xf32>) {
      %2 = stablehlo.add %arg1, %arg1 : tensor<4x8xf32>
      sdy.return %2 : tensor<4x8xf32>
    } : (tensor<8x8xf32>) -> tensor<8x8xf32>
    return %1 : tensor<8x8xf32>
  }
}
