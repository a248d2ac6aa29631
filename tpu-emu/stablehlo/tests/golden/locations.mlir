#loc = loc(unknown)
#loc1 = loc("model.py":10:4)
#loc2 = loc("layer"(#loc1))
#numbers = array<i64: 1, 0>
module @locations {
  func.func public @main(%x: tensor<2x3xf32> loc("x")) -> tensor<3x2xf32> {
    %z = stablehlo.constant dense<0.0> : tensor<f32> loc(#loc1)
    %0 = "stablehlo.transpose"(%x) {permutation = #numbers} : (tensor<2x3xf32>) -> tensor<3x2xf32> loc(#loc9)
    %1 = stablehlo.abs %0 : tensor<3x2xf32> loc(fused["a", #loc2, fused<{k = 1}>[unknown]])
    %2 = stablehlo.reduce(%1 init: %z) applies stablehlo.add across dimensions = [] : (tensor<3x2xf32>, tensor<f32>) -> tensor<3x2xf32> loc("r"("f":1:2 to 3:4))
    return %2 : tensor<3x2xf32> loc(#loc)
  } loc(#loc3)
} loc(#loc)
#loc4 = loc("main.py":3:1)
#loc3 = loc("main"(#loc4))
#loc9 = loc(callsite(#loc2 at #loc3))
