module attributes {stable_mosaic.version = 15 : i64} {
  func.func @wait_dma(%arg0: memref<16x128xf32, #tpu.memory_space<hbm>>, %arg1: memref<16x128xf32, #tpu.memory_space<vmem>>, %arg2: memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) attributes {dimension_semantics = [], scalar_prefetch = 0 : i64, scratch_operands = 3 : i64, tpu.core_type = #tpu.core_type<tc>} {
    tpu.wait_dma source(%arg0 : memref<16x128xf32, #tpu.memory_space<hbm>>) target(%arg1 : memref<16x128xf32, #tpu.memory_space<vmem>>) target_semaphore(%arg2 : memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) {wait_target = true}
    return
  }
}
