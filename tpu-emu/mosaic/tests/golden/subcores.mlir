module attributes {stable_mosaic.version = 13 : i64} {
  func.func @subcores(%arg0: memref<!tpu.semaphore, #tpu.memory_space<semaphore_mem>>, %arg1: i32) attributes {scalar_prefetch = 0 : i64, scratch_operands = 0 : i64, tpu.core_type = #tpu.core_type<sc_vector_subcore>} {
    %c16_i32 = arith.constant 16 : i32
    %0 = arith.divui %arg1, %c16_i32 : i32
    %1 = arith.remui %arg1, %c16_i32 : i32
    tpu.sem_signal %arg0, %arg1 core_id %0 subcore_id %1 : memref<!tpu.semaphore, #tpu.memory_space<semaphore_mem>>
    return
  }
}
