func.func @transfers(%h: memref<16x128xf32, #tpu.memory_space<hbm>>, %v: memref<16x128xf32, #tpu.memory_space<vmem>>, %x: memref<4xf32, #tpu.memory_space<host>>) attributes {dimension_semantics = [], scalar_prefetch = 0 : i64, scratch_operands = 0 : i64, tpu.core_type = #tpu.core_type<tc>} {
  %c1 = arith.constant 1 : i32
  %s = tpu.sem_alloc : memref<2x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
  %d = tpu.sem_alloc : memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
  %r = tpu.sem_alloc : memref<!tpu.semaphore, #tpu.memory_space<semaphore_mem>>
  %b = tpu.sem_barrier : memref<!tpu.semaphore, #tpu.memory_space<semaphore_mem>>
  %0 = tpu.sem_read %r : memref<!tpu.semaphore, #tpu.memory_space<semaphore_mem>> -> i32
  tpu.sem_signal %r, %c1 : memref<!tpu.semaphore, #tpu.memory_space<semaphore_mem>>
  tpu.sem_signal %b, %c1 device_id %c1 : memref<!tpu.semaphore, #tpu.memory_space<semaphore_mem>>
  tpu.sem_signal %b, %c1 device_id %c1 core_id %c1 : memref<!tpu.semaphore, #tpu.memory_space<semaphore_mem>>
  tpu.sem_wait %r, %c1 : memref<!tpu.semaphore, #tpu.memory_space<semaphore_mem>>
  tpu.enqueue_dma source(%h : memref<16x128xf32, #tpu.memory_space<hbm>>) target(%v : memref<16x128xf32, #tpu.memory_space<vmem>>) target_semaphore(%d : memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) {priority = 1 : i32}
  tpu.wait_dma2 semaphore(%d : memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) src(%h : memref<16x128xf32, #tpu.memory_space<hbm>>) dst(%v : memref<16x128xf32, #tpu.memory_space<vmem>>)
  tpu.enqueue_dma source(%h : memref<16x128xf32, #tpu.memory_space<hbm>>) target(%v : memref<16x128xf32, #tpu.memory_space<vmem>>) source_semaphore(%d : memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) target_semaphore(%d : memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) device_id(%c1)
  tpu.wait_dma2 semaphore(%d : memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) src(%h : memref<16x128xf32, #tpu.memory_space<hbm>>) dst(%v : memref<16x128xf32, #tpu.memory_space<vmem>>) device_id(%c1)
  return
}
