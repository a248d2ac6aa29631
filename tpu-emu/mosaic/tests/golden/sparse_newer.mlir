module attributes {stable_mosaic.version = 18 : i64} {
  func.func @sparse_newer(%arg0: vector<8xf32>, %arg1: vector<8xi1>, %arg2: memref<8xf32, #tpu.memory_space<vmem>>, %arg3: memref<32xf32, #tpu.memory_space<vmem_shared>>, %arg4: index, %arg5: i32) attributes {dimension_semantics = [], scalar_prefetch = 0 : i64, scratch_operands = 0 : i64, tpu.core_type = #tpu.core_type<sc_vector_subcore>} {
    tpu.compress_store_vreg %arg2[%arg4], %arg0, %arg1 : memref<8xf32, #tpu.memory_space<vmem>>, vector<8xf32>, vector<8xi1>
    %0 = tpu.expand_load_vreg %arg2[%arg4], %arg1 : memref<8xf32, #tpu.memory_space<vmem>>, vector<8xf32>, vector<8xi1>
    %1 = tpu.scan <maxf>, %arg0 masked %arg1 {dimension = 0 : i64} : vector<8xf32>, vector<8xi1> -> vector<8xf32>
    %2 = tpu.load %arg2[%arg4] sublanes [true] : memref<8xf32, #tpu.memory_space<vmem>>, vector<8xf32>
    %3 = tpu.load %arg2[%arg4] sublanes [true, false] sublane_stride 2 : memref<8xf32, #tpu.memory_space<vmem>>, vector<8xf32>
    tpu.store %arg2[%arg4], %2 sublanes [true] : memref<8xf32, #tpu.memory_space<vmem>>, vector<8xf32>, 
    tpu.store %arg2[%arg4], %3 masked %arg1 sublanes [true] {add = true} : memref<8xf32, #tpu.memory_space<vmem>>, vector<8xf32>, vector<8xi1>
    return
  }
}
