module attributes {stable_mosaic.version = 11 : i64} {
  func.func @ring_kernel(%arg0: memref<8x128xf32, #tpu.memory_space<any>>, %arg1: memref<8x128xf32, #tpu.memory_space<any>>, %arg2: memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, %arg3: memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) attributes {dimension_semantics = [], scalar_prefetch = 0 : i64, scratch_operands = 2 : i64, tpu.core_type = #tpu.core_type<tc>} {
    %0 = tpu.device_id : i32
    %c2_i32 = arith.constant 2 : i32
    %c1_i32 = arith.constant 1 : i32
    %1 = arith.divsi %0, %c1_i32 : i32
    %2 = arith.remsi %1, %c2_i32 : i32
    %c1_i32_0 = arith.constant 1 : i32
    %3 = arith.addi %2, %c1_i32_0 : i32
    %c2_i32_1 = arith.constant 2 : i32
    %c0_i32 = arith.constant 0 : i32
    %4 = arith.cmpi eq, %c2_i32_1, %c0_i32 : i32
    %c1_i32_2 = arith.constant 1 : i32
    %5 = arith.select %4, %c1_i32_2, %c2_i32_1 : i32
    %6 = arith.remsi %3, %5 : i32
    %c0_i32_3 = arith.constant 0 : i32
    %7 = arith.cmpi ne, %6, %c0_i32_3 : i32
    %c0_i32_4 = arith.constant 0 : i32
    %8 = arith.cmpi slt, %6, %c0_i32_4 : i32
    %c0_i32_5 = arith.constant 0 : i32
    %9 = arith.cmpi slt, %5, %c0_i32_5 : i32
    %10 = arith.xori %8, %9 : i1
    %11 = arith.andi %10, %7 : i1
    %12 = arith.addi %6, %5 : i32
    %13 = arith.select %11, %12, %6 : i32
    tpu.enqueue_dma source(%arg0 : memref<8x128xf32, #tpu.memory_space<any>>) target(%arg1 : memref<8x128xf32, #tpu.memory_space<any>>) source_semaphore(%arg2 : memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) target_semaphore(%arg3 : memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) device_id(%13)
    %c0_i32_6 = arith.constant 0 : i32
    tpu.wait_dma2 semaphore(%arg2 : memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) src(%arg1 : memref<8x128xf32, #tpu.memory_space<any>>) dst(%arg0 : memref<8x128xf32, #tpu.memory_space<any>>) device_id(%c0_i32_6) core_id(%c0_i32_6)
    tpu.wait_dma2 semaphore(%arg3 : memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) src(%arg0 : memref<8x128xf32, #tpu.memory_space<any>>) dst(%arg1 : memref<8x128xf32, #tpu.memory_space<any>>) device_id(%13)
    return
  }
}
