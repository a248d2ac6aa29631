module attributes {stable_mosaic.version = 11 : i64} {
  func.func @iota_kernel(%arg0: memref<8x128xf32, #tpu.memory_space<vmem>>, %arg1: memref<8x128xf32, #tpu.memory_space<vmem>>) attributes {dimension_semantics = [], scalar_prefetch = 0 : i64, scratch_operands = 0 : i64, tpu.core_type = #tpu.core_type<tc>} {
    %0 = tpu.iota {dimensions = array<i32: 0>} : vector<8x128xi32>
    %c3_i32 = arith.constant 3 : i32
    %1 = vector.broadcast %c3_i32 : i32 to vector<8x128xi32>
    %2 = arith.cmpi sgt, %0, %1 : vector<8x128xi32>
    %c0 = arith.constant 0 : index
    %c0_0 = arith.constant 0 : index
    %3 = vector.load %arg0[%c0, %c0_0] : memref<8x128xf32, #tpu.memory_space<vmem>>, vector<8x128xf32>
    %cst = arith.constant 0xFF800000 : f32
    %4 = vector.broadcast %cst : f32 to vector<8x128xf32>
    %5 = arith.select %2, %3, %4 : vector<8x128xi1>, vector<8x128xf32>
    %cst_1 = arith.constant dense<0xFF800000> : vector<8xf32>
    %6 = vector.multi_reduction <maximumf>, %5, %cst_1 [1] : vector<8x128xf32> to vector<8xf32>
    %7 = vector.shape_cast %6 : vector<8xf32> to vector<8x1xf32>
    %8 = vector.shape_cast %7 : vector<8x1xf32> to vector<8x1xf32>
    %9 = vector.broadcast %8 : vector<8x1xf32> to vector<8x128xf32>
    %c0_2 = arith.constant 0 : index
    %c0_3 = arith.constant 0 : index
    %10 = vector.load %arg1[%c0_2, %c0_3] : memref<8x128xf32, #tpu.memory_space<vmem>>, vector<8x128xf32>
    tpu.vector_store %arg1[%c0_2, %c0_3], %9 {strides = array<i32>} : memref<8x128xf32, #tpu.memory_space<vmem>>, vector<8x128xf32>, 
    return
  }
}
