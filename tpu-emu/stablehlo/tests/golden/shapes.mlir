module @shapes {
  func.func public @main(%a: tensor<4x6xf32>, %z: tensor<f32>, %s: tensor<i32>) -> tensor<6x4xf32> {
    %0 = stablehlo.slice %a [0:4:2, 1:5] : (tensor<4x6xf32>) -> tensor<2x4xf32>
    %1 = stablehlo.pad %0, %z, low = [1, -1], high = [0, 2], interior = [1, 0] : (tensor<2x4xf32>, tensor<f32>) -> tensor<4x5xf32>
    %2 = stablehlo.broadcast_in_dim %z, dims = [] : (tensor<f32>) -> tensor<4x1xf32>
    %3 = stablehlo.concatenate %1, %2, dim = 1 : (tensor<4x5xf32>, tensor<4x1xf32>) -> tensor<4x6xf32>
    %4 = stablehlo.dynamic_slice %3, %s, %s, sizes = [2, 6] : (tensor<4x6xf32>, tensor<i32>, tensor<i32>) -> tensor<2x6xf32>
    %5 = stablehlo.dynamic_update_slice %a, %4, %s, %s : (tensor<4x6xf32>, tensor<2x6xf32>, tensor<i32>, tensor<i32>) -> tensor<4x6xf32>
    %6 = stablehlo.reverse %5, dims = [0, 1] : tensor<4x6xf32>
    %7 = stablehlo.reshape %6 : (tensor<4x6xf32>) -> tensor<24xf32>
    %8 = stablehlo.reshape %7 : (tensor<24xf32>) -> tensor<4x6xf32>
    %9 = stablehlo.iota dim = 1 : tensor<4x6xf32>
    %10 = stablehlo.subtract %8, %9 : tensor<4x6xf32>
    %11 = stablehlo.transpose %10, dims = [1, 0] : (tensor<4x6xf32>) -> tensor<6x4xf32>
    %12 = stablehlo.get_dimension_size %11, dim = 0 : (tensor<6x4xf32>) -> tensor<i32>
    %13 = stablehlo.tuple %11, %12 : tuple<tensor<6x4xf32>, tensor<i32>>
    %14 = stablehlo.get_tuple_element %13[0] : (tuple<tensor<6x4xf32>, tensor<i32>>) -> tensor<6x4xf32>
    return %14 : tensor<6x4xf32>
  }
  func.func private @dynamic(%a: tensor<?x4xf32, #stablehlo.bounds<8, ?>>, %n: tensor<2xi64>, %m: tensor<2x4xf32>) -> tensor<?x?xf32> {
    %0 = stablehlo.dynamic_broadcast_in_dim %m, %n, dims = [0, 1] : (tensor<2x4xf32>, tensor<2xi64>) -> tensor<?x?xf32>
    %1 = stablehlo.dynamic_reshape %0, %n : (tensor<?x?xf32>, tensor<2xi64>) -> tensor<?x?xf32>
    %2 = stablehlo.dynamic_iota %n, dim = 0 : (tensor<2xi64>) -> tensor<?x?xf32>
    return %2 : tensor<?x?xf32>
  }
}
