func.func @newer(%f: vector<8x128xf32>, %i: vector<8x128xi32>, %k: vector<8x128xi1>, %v: memref<8x128xf32, #tpu.memory_space<vmem>>, %h: memref<8x128xf32, #tpu.memory_space<any>>, %s: i32, %x: index, %d: memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) attributes {dimension_semantics = [], scalar_prefetch = 0 : i64, scratch_operands = 0 : i64, tpu.core_type = #tpu.core_type<tc>} {
  %0 = "tpu.logistic"(%f) : (vector<8x128xf32>) -> vector<8x128xf32>
  "tpu.matmul_lhs_fifo"(%f) {load_staged_rhs = 1 : i32, mxu_index = 0 : i32} : (vector<8x128xf32>) -> ()
  %1 = "tpu.matmul_pop_fifo"() {mxu_index = 0 : i32} : () -> vector<8x128xf32>
  %2:2 = arith.mulsi_extended %i, %i : vector<8x128xi32>
  %3:2 = arith.mului_extended %s, %s : i32
  %4 = memref.memory_space_cast %h : memref<8x128xf32, #tpu.memory_space<any>> to memref<8x128xf32, #tpu.memory_space<hbm>>
  %5 = "tpu.memref_memory_space_is"(%h) {memory_space = #tpu.memory_space<vmem>} : (memref<8x128xf32, #tpu.memory_space<any>>) -> i1
  %view = tpu.memref_slice %h[%s, %s] : memref<8x128xf32, #tpu.memory_space<any>> -> memref<1x128xf32, strided<[128, 1], offset: 3>, #tpu.memory_space<any>>
  %6 = "tpu.reduce_precision"(%f) {exponent_bits = 8 : i32, mantissa_bits = 7 : i32} : (vector<8x128xf32>) -> vector<8x128xf32>
  %7 = "tpu.reduce"(%f) {dimensions = array<i64: 1>, kind = #tpu.reduction_kind<maxf>} : (vector<8x128xf32>) -> vector<8x1xf32>
  "tpu.vector_compress_store"(%f, %v, %x, %x, %k) {compress_dim = 1 : i32} : (vector<8x128xf32>, memref<8x128xf32, #tpu.memory_space<vmem>>, index, index, vector<8x128xi1>) -> ()
  %8 = "tpu.vector_expand_load"(%v, %x, %x, %k) {expand_dim = 1 : i32} : (memref<8x128xf32, #tpu.memory_space<vmem>>, index, index, vector<8x128xi1>) -> vector<8x128xf32>
  %10 = "tpu.annotate"(%v) {no_hazard = true} : (memref<8x128xf32, #tpu.memory_space<vmem>>) -> memref<8x128xf32, #tpu.memory_space<vmem>>
  %12 = tpu.scan <maxui>, %i {dimension = 0 : i64} : vector<8x128xi32>,  -> vector<8x128xi32>
  tpu.wait_dma source(%h : memref<8x128xf32, #tpu.memory_space<any>>) target(%v : memref<8x128xf32, #tpu.memory_space<vmem>>) target_semaphore(%d : memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) {wait_target = true}
  %13 = scf.index_switch %x -> i32
  case 2 {
    scf.yield %s : i32
  }
  case 5 {
    %14 = arith.addi %s, %s : i32
    scf.yield %14 : i32
  }
  default {
    scf.yield %s : i32
  }
  scf.index_switch %x
  case 0 {
    tpu.delay %s
    scf.yield
  }
  default {
    scf.yield
  }
  return
}
