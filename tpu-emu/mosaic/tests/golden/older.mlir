module attributes {stable_mosaic.version = 3 : i64} {
  func.func @older(%arg0: vector<8x128xf32>, %arg1: memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, %arg2: memref<8x128xf32, #tpu.memory_space<vmem>>) attributes {dimension_semantics = [], scalar_prefetch = 0 : i64, scratch_operands = 0 : i64, tpu.core_type = #tpu.core_type<tc>} {
    %0 = vector.transpose %arg0, [1, 0] : vector<8x128xf32> to vector<128x8xf32>
    tpu.wait_dma2 semaphore(%arg1 : memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) src(%arg2 : memref<8x128xf32, #tpu.memory_space<vmem>>) dst(%arg2 : memref<8x128xf32, #tpu.memory_space<vmem>>)
    %1 = tpu.iota {dimensions = array<i32: 1>} : vector<8x128xi32>
    %2 = tpu.repeat %arg0, 0 x 2 : vector<8x128xf32> -> vector<16x128xf32>
    return
  }
}
