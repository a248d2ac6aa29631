module attributes {stable_mosaic.version = 1 : i64} {
  "stable_mosaic.func.func"() ({
  ^bb0(%h: memref<8x128xf32, #tpu.memory_space<hbm>>, %v: memref<8x128xf32, #tpu.memory_space<vmem>>, %d: memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, %s: memref<!tpu.semaphore, #tpu.memory_space<semaphore_mem>>, %i: i32, %f: vector<8x128xf32>, %a: vector<8xf32>, %n: vector<8x128xi32>, %z: vector<8x8xf32>, %m: vector<8xi1>):
    "stable_mosaic.tpu.enqueue_dma"(%h, %v, %d) : (memref<8x128xf32, #tpu.memory_space<hbm>>, memref<8x128xf32, #tpu.memory_space<vmem>>, memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> ()
    "stable_mosaic.tpu.enqueue_dma"(%h, %d, %v, %d, %i) : (memref<8x128xf32, #tpu.memory_space<hbm>>, memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, memref<8x128xf32, #tpu.memory_space<vmem>>, memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, i32) -> ()
    "stable_mosaic.tpu.sem_signal"(%s, %i) : (memref<!tpu.semaphore, #tpu.memory_space<semaphore_mem>>, i32) -> ()
    "stable_mosaic.tpu.sem_signal"(%s, %i, %i) : (memref<!tpu.semaphore, #tpu.memory_space<semaphore_mem>>, i32, i32) -> ()
    %0 = "stable_mosaic.vector.multi_reduction"(%f, %a) {kind = #vector.kind<add>, reduction_dims = [1]} : (vector<8x128xf32>, vector<8xf32>) -> vector<8xf32>
    %1 = "stable_mosaic.tpu.dynamic_gather"(%f, %n) {dimension = 1 : i32} : (vector<8x128xf32>, vector<8x128xi32>) -> vector<8x128xf32>
    %2 = "stable_mosaic.tpu.iota"() {dimension = 0 : i32} : () -> vector<8x128xi32>
    "stable_mosaic.tpu.wait_dma2"(%d, %h, %v) : (memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, memref<8x128xf32, #tpu.memory_space<hbm>>, memref<8x128xf32, #tpu.memory_space<vmem>>) -> ()
    %3 = "stable_mosaic.tpu.matmul"(%f, %f, %z) {transpose_lhs = false, transpose_rhs = true} : (vector<8x128xf32>, vector<8x128xf32>, vector<8x8xf32>) -> vector<8x8xf32>
    %4 = "stable_mosaic.tpu.reinterpret_cast"(%v) : (memref<8x128xf32, #tpu.memory_space<vmem>>) -> memref<8x128xi32, #tpu.memory_space<vmem>>
    %5 = "stable_mosaic.tpu.scan"(%n) {kind = #tpu.reduction_kind<max>} : (vector<8x128xi32>) -> vector<8x128xi32>
    "stable_mosaic.func.return"() : () -> ()
  }) {function_type = (memref<8x128xf32, #tpu.memory_space<hbm>>, memref<8x128xf32, #tpu.memory_space<vmem>>, memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, memref<!tpu.semaphore, #tpu.memory_space<semaphore_mem>>, i32, vector<8x128xf32>, vector<8xf32>, vector<8x128xi32>, vector<8x8xf32>, vector<8xi1>) -> (), scalar_prefetch = 0 : i64, scratch_operands = 0 : i64, sym_name = "old_formats", tpu.core_type = #tpu.core_type<tc>} : () -> ()
}
