module attributes {stable_mosaic.version = 1 : i64} {
  func.func @old_formats(%arg0: memref<8x128xf32, #tpu.memory_space<hbm>>, %arg1: memref<8x128xf32, #tpu.memory_space<vmem>>, %arg2: memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, %arg3: memref<!tpu.semaphore, #tpu.memory_space<semaphore_mem>>, %arg4: i32, %arg5: vector<8x128xf32>, %arg6: vector<8xf32>, %arg7: vector<8x128xi32>, %arg8: vector<8x8xf32>, %arg9: vector<8xi1>) attributes {scalar_prefetch = 0 : i64, scratch_operands = 0 : i64, tpu.core_type = #tpu.core_type<tc>} {
    tpu.enqueue_dma source(%arg0 : memref<8x128xf32, #tpu.memory_space<hbm>>) target(%arg1 : memref<8x128xf32, #tpu.memory_space<vmem>>) target_semaphore(%arg2 : memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>)
    tpu.enqueue_dma source(%arg0 : memref<8x128xf32, #tpu.memory_space<hbm>>) target(%arg1 : memref<8x128xf32, #tpu.memory_space<vmem>>) source_semaphore(%arg2 : memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) target_semaphore(%arg2 : memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) device_id(%arg4)
    tpu.sem_signal %arg3, %arg4 : memref<!tpu.semaphore, #tpu.memory_space<semaphore_mem>>
    tpu.sem_signal %arg3, %arg4 device_id %arg4 : memref<!tpu.semaphore, #tpu.memory_space<semaphore_mem>>
    %0 = vector.multi_reduction <add>, %arg5, %arg6 [1] : vector<8x128xf32> to vector<8xf32>
    %1 = tpu.dynamic_gather %arg5[%arg7] in [1] : vector<8x128xf32>, vector<8x128xi32> -> vector<8x128xf32>
    %2 = tpu.iota {dimensions = array<i32: 0>} : vector<8x128xi32>
    tpu.wait_dma2 semaphore(%arg2 : memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) src(%arg0 : memref<8x128xf32, #tpu.memory_space<hbm>>) dst(%arg1 : memref<8x128xf32, #tpu.memory_space<vmem>>)
    %3 = tpu.matmul %arg5, %arg5, %arg8 {transpose_lhs_hint = false, transpose_rhs = true} : vector<8x128xf32>, vector<8x128xf32>, vector<8x8xf32> -> vector<8x8xf32>
    %4 = tpu.reinterpret_cast %arg1 : memref<8x128xf32, #tpu.memory_space<vmem>> -> memref<8x128xi32, #tpu.memory_space<vmem>>
    %5 = tpu.scan <maxui>, %arg7 {dimension = 1 : i64} : vector<8x128xi32>,  -> vector<8x128xi32>
    return
  }
}
