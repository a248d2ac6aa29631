module attributes {stable_mosaic.version = 15 : i64} {
  func.func @transfers(%arg0: memref<16x128xf32, #tpu.memory_space<hbm>>, %arg1: memref<16x128xf32, #tpu.memory_space<vmem>>, %arg2: memref<4xf32, #tpu.memory_space<host>>) attributes {dimension_semantics = [], scalar_prefetch = 0 : i64, scratch_operands = 0 : i64, tpu.core_type = #tpu.core_type<tc>} {
    %c1_i32 = arith.constant 1 : i32
    %0 = tpu.sem_alloc : memref<2x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
    %1 = tpu.sem_alloc : memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
    %2 = tpu.sem_alloc : memref<!tpu.semaphore, #tpu.memory_space<semaphore_mem>>
    %3 = tpu.sem_barrier : memref<!tpu.semaphore, #tpu.memory_space<semaphore_mem>>
    %4 = tpu.sem_read %2 : memref<!tpu.semaphore, #tpu.memory_space<semaphore_mem>> -> i32
    tpu.sem_signal %2, %c1_i32 : memref<!tpu.semaphore, #tpu.memory_space<semaphore_mem>>
    tpu.sem_signal %3, %c1_i32 device_id %c1_i32 : memref<!tpu.semaphore, #tpu.memory_space<semaphore_mem>>
    tpu.sem_signal %3, %c1_i32 device_id %c1_i32 core_id %c1_i32 : memref<!tpu.semaphore, #tpu.memory_space<semaphore_mem>>
    tpu.sem_wait %2, %c1_i32 : memref<!tpu.semaphore, #tpu.memory_space<semaphore_mem>>
    tpu.enqueue_dma source(%arg0 : memref<16x128xf32, #tpu.memory_space<hbm>>) target(%arg1 : memref<16x128xf32, #tpu.memory_space<vmem>>) target_semaphore(%1 : memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) {priority = 1 : i32}
    tpu.wait_dma2 semaphore(%1 : memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) src(%arg0 : memref<16x128xf32, #tpu.memory_space<hbm>>) dst(%arg1 : memref<16x128xf32, #tpu.memory_space<vmem>>)
    tpu.enqueue_dma source(%arg0 : memref<16x128xf32, #tpu.memory_space<hbm>>) target(%arg1 : memref<16x128xf32, #tpu.memory_space<vmem>>) source_semaphore(%1 : memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) target_semaphore(%1 : memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) device_id(%c1_i32)
    tpu.wait_dma2 semaphore(%1 : memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) src(%arg0 : memref<16x128xf32, #tpu.memory_space<hbm>>) dst(%arg1 : memref<16x128xf32, #tpu.memory_space<vmem>>) device_id(%c1_i32)
    return
  }
}
