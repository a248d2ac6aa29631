!pair = tuple<tensor<2xf32>, tuple<>>
module {
  func.func private @types(!pair, !stablehlo.token, tensor<*xf32>, memref<4xf32>, !stablehlo.future<tensor<2xf32>, tensor<i1>>)
  func.func private @quantized(tensor<4x!quant.uniform<i8:f32, 0.5:3>>, tensor<2x4x!quant.uniform<i8<-127:127>:f32:1, {0.1, 0.2:1, 0.3, 0.4}>>, tensor<?x!quant.uniform<u8:f32, 0.25>>)
  func.func private @dynamic(tensor<?x4xf32, #stablehlo.bounds<8, ?>>) attributes {kinds = [i1, index, none, tensor<f32>, complex<f64>, (i32) -> i32, ((i32) -> i32) -> ()], wide = -7 : i128, hexadecimal = 0xFF : i32, none = unit, "not a word" = @"not a name", words = [1.5, 0x7F800000 : f32], lists = [array<i64>, array<i32: 1, 2>, array<i1: true>, array<f32: 1.0>, dense<1> : tensor<3xi64>, dense<[1, 2]> : tensor<2xi32>], other = #foo.bar<a -> [b, {c}], "d>">}
}
