module attributes {stable_mosaic.version = 9 : i64} {
  func.func @rotate(%arg0: vector<8x128xf32>) attributes {dimension_semantics = [], scalar_prefetch = 0 : i64, scratch_operands = 0 : i64, tpu.core_type = #tpu.core_type<tc>} {
    %0 = tpu.rotate %arg0 by 3 dim 1 : vector<8x128xf32>
    %1 = tpu.rotate %arg0 by 3 dim 1 {stride = 1 : si32, stride_dimension = 0 : si32} : vector<8x128xf32>
    return
  }
}
