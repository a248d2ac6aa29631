module @loop_kernel attributes {stable_mosaic.version = 15 : i64} {
  func.func @loop_kernel(%arg0: i32, %arg1: memref<1xi32, #tpu.memory_space<smem>>, %arg2: memref<64x128xf32, #tpu.memory_space<vmem>>, %arg3: memref<8x128xf32, #tpu.memory_space<vmem>>) attributes {dimension_semantics = [#tpu.dimension_semantics<arbitrary>], iteration_bounds = array<i64: 1>, scalar_prefetch = 1 : i64, scratch_operands = 0 : i64, tpu.core_type = #tpu.core_type<tc>, window_params = [{pipeline_mode = #tpu.pipeline_mode<synchronous>, transform_indices = @transform_0, window_bounds = array<i64: 64, 128>}, {transform_indices = @transform_1, window_bounds = array<i64: 8, 128>}]} {
    %c0 = arith.constant 0 : index
    %0 = memref.load %arg1[%c0] : memref<1xi32, #tpu.memory_space<smem>>
    %cst = arith.constant 0.000000e+00 : f32
    %1 = vector.broadcast %cst : f32 to vector<8x128xf32>
    %c0_i32 = arith.constant 0 : i32
    %2 = arith.subi %0, %c0_i32 : i32
    %3 = arith.addi %c0_i32, %2 : i32
    %c1_i32 = arith.constant 1 : i32
    %4 = scf.for %arg4 = %c0_i32 to %3 step %c1_i32 iter_args(%arg5 = %1) -> (vector<8x128xf32>)  : i32 {
      %c8_i32 = arith.constant 8 : i32
      %6 = arith.muli %arg4, %c8_i32 : i32
      %7 = arith.index_cast %6 : i32 to index
      %c0_2 = arith.constant 0 : index
      %8 = vector.load %arg2[%7, %c0_2] : memref<64x128xf32, #tpu.memory_space<vmem>>, vector<8x128xf32>
      %9 = arith.addf %arg5, %8 : vector<8x128xf32>
      scf.yield %9 : vector<8x128xf32>
    }
    %c0_0 = arith.constant 0 : index
    %c0_1 = arith.constant 0 : index
    %5 = vector.load %arg3[%c0_0, %c0_1] : memref<8x128xf32, #tpu.memory_space<vmem>>, vector<8x128xf32>
    tpu.vector_store %arg3[%c0_0, %c0_1], %4 {strides = array<i32>} : memref<8x128xf32, #tpu.memory_space<vmem>>, vector<8x128xf32>, 
    return
  }
  func.func @transform_0(%arg0: i32, %arg1: memref<1xi32, #tpu.memory_space<smem>>) -> (i32, i32) {
    %c0_i32 = arith.constant 0 : i32
    %c0_i32_0 = arith.constant 0 : i32
    %c0_i32_1 = arith.constant 0 : i32
    return %c0_i32, %c0_i32_0 : i32, i32
  }
  func.func @transform_1(%arg0: i32, %arg1: memref<1xi32, #tpu.memory_space<smem>>) -> (i32, i32) {
    %c0 = arith.constant 0 : index
    %0 = memref.load %arg1[%c0] : memref<1xi32, #tpu.memory_space<smem>>
    %c0_i32 = arith.constant 0 : i32
    %1 = arith.muli %0, %c0_i32 : i32
    %c0_i32_0 = arith.constant 0 : i32
    return %arg0, %1 : i32, i32
  }
}
