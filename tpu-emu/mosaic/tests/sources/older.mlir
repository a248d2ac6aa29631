func.func @older(%f: vector<8x128xf32>, %d: memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, %v: memref<8x128xf32, #tpu.memory_space<vmem>>) attributes {dimension_semantics = [], scalar_prefetch = 0 : i64, scratch_operands = 0 : i64, tpu.core_type = #tpu.core_type<tc>} {
  %0 = vector.transpose %f, [1, 0] : vector<8x128xf32> to vector<128x8xf32>
  "tpu.wait_dma"(%d, %v) : (memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, memref<8x128xf32, #tpu.memory_space<vmem>>) -> ()
  %1 = "tpu.iota"() {dimension = 1 : i32} : () -> vector<8x128xi32>
  %2 = "tpu.repeat"(%f) {dimension = 0 : i32, times = 2 : i32} : (vector<8x128xf32>) -> vector<16x128xf32>
  return
}
