module attributes {stable_mosaic.version = 11 : i64} {
  func.func @loop_kernel(%arg0: i32, %arg1: memref<1xi32, #tpu.memory_space<smem>>, %arg2: memref<64x128xf32, #tpu.memory_space<vmem>>, %arg3: memref<8x128xf32, #tpu.memory_space<vmem>>) attributes {dimension_semantics = [#tpu.dimension_semantics<arbitrary>], iteration_bounds = array<i64: 1>, scalar_prefetch = 1 : i64, scratch_operands = 0 : i64, tpu.core_type = #tpu.core_type<tc>, window_params = [{pipeline_mode = #tpu.pipeline_mode<synchronous>, transform_indices = @transform_0, window_bounds = array<i64: 64, 128>}, {transform_indices = @transform_1, window_bounds = array<i64: 8, 128>}]} {
    %c0 = arith.constant 0 : index
    %0 = memref.load %arg1[%c0] : memref<1xi32, #tpu.memory_space<smem>>
    %cst = arith.constant 0.000000e+00 : f32
    %1 = vector.broadcast %cst : f32 to vector<8x128xf32>
    %c0_i32 = arith.constant 0 : i32
    %2 = arith.subi %0, %c0_i32 : i32
    %3 = arith.addi %c0_i32, %2 : i32
    %c1_i32 = arith.constant 1 : i32
    %4 = arith.divsi %2, %c1_i32 : i32
    %5 = arith.muli %4, %c1_i32 : i32
    %6 = arith.addi %c0_i32, %5 : i32
    %c1_i32_0 = arith.constant 1 : i32
    %7 = scf.for %arg4 = %c0_i32 to %6 step %c1_i32_0 iter_args(%arg5 = %1) -> (vector<8x128xf32>)  : i32 {
      %c8_i32 = arith.constant 8 : i32
      %10 = arith.muli %arg4, %c8_i32 : i32
      %11 = arith.index_cast %10 : i32 to index
      %c0_4 = arith.constant 0 : index
      %12 = vector.load %arg2[%11, %c0_4] : memref<64x128xf32, #tpu.memory_space<vmem>>, vector<8x128xf32>
      %13 = arith.addf %arg5, %12 : vector<8x128xf32>
      scf.yield %13 : vector<8x128xf32>
    }
    %c1_i32_1 = arith.constant 1 : i32
    %8 = scf.for %arg4 = %6 to %3 step %c1_i32_1 iter_args(%arg5 = %7) -> (vector<8x128xf32>)  : i32 {
      %c8_i32 = arith.constant 8 : i32
      %10 = arith.muli %arg4, %c8_i32 : i32
      %11 = arith.index_cast %10 : i32 to index
      %c0_4 = arith.constant 0 : index
      %12 = vector.load %arg2[%11, %c0_4] : memref<64x128xf32, #tpu.memory_space<vmem>>, vector<8x128xf32>
      %13 = arith.addf %arg5, %12 : vector<8x128xf32>
      scf.yield %13 : vector<8x128xf32>
    }
    %c0_2 = arith.constant 0 : index
    %c0_3 = arith.constant 0 : index
    %9 = vector.load %arg3[%c0_2, %c0_3] : memref<8x128xf32, #tpu.memory_space<vmem>>, vector<8x128xf32>
    tpu.vector_store %arg3[%c0_2, %c0_3], %8 {strides = array<i32>} : memref<8x128xf32, #tpu.memory_space<vmem>>, vector<8x128xf32>, 
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
