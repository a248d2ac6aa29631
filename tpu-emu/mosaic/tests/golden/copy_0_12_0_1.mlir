module @copy_kernel attributes {stable_mosaic.version = 15 : i64} {
  func.func @copy_kernel(%arg0: memref<8x128xf32, #tpu.memory_space<any>>, %arg1: memref<8x128xf32, #tpu.memory_space<any>>, %arg2: memref<8x128xf32, #tpu.memory_space<vmem>>, %arg3: memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) attributes {dimension_semantics = [], scalar_prefetch = 0 : i64, scratch_operands = 2 : i64, tpu.core_type = #tpu.core_type<tc>} {
    tpu.enqueue_dma source(%arg0 : memref<8x128xf32, #tpu.memory_space<any>>) target(%arg2 : memref<8x128xf32, #tpu.memory_space<vmem>>) target_semaphore(%arg3 : memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>)
    tpu.wait_dma source(%arg0 : memref<8x128xf32, #tpu.memory_space<any>>) target(%arg2 : memref<8x128xf32, #tpu.memory_space<vmem>>) target_semaphore(%arg3 : memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) {wait_target = true}
    tpu.enqueue_dma source(%arg2 : memref<8x128xf32, #tpu.memory_space<vmem>>) target(%arg1 : memref<8x128xf32, #tpu.memory_space<any>>) target_semaphore(%arg3 : memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>)
    tpu.wait_dma source(%arg2 : memref<8x128xf32, #tpu.memory_space<vmem>>) target(%arg1 : memref<8x128xf32, #tpu.memory_space<any>>) target_semaphore(%arg3 : memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) {wait_target = true}
    return
  }
}
