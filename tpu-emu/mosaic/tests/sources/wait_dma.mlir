func.func @wait_dma(%h: memref<16x128xf32, #tpu.memory_space<hbm>>, %v: memref<16x128xf32, #tpu.memory_space<vmem>>, %d: memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) attributes {dimension_semantics = [], scalar_prefetch = 0 : i64, scratch_operands = 3 : i64, tpu.core_type = #tpu.core_type<tc>} {
  tpu.wait_dma source(%h : memref<16x128xf32, #tpu.memory_space<hbm>>) target(%v : memref<16x128xf32, #tpu.memory_space<vmem>>) target_semaphore(%d : memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) {wait_target = true}
  return
}
