func.func @sparse_newer(%f: vector<8xf32>, %k: vector<8xi1>, %v: memref<8xf32, #tpu.memory_space<vmem>>, %g: memref<32xf32, #tpu.memory_space<vmem_shared>>, %x: index, %s: i32) attributes {dimension_semantics = [], scalar_prefetch = 0 : i64, scratch_operands = 0 : i64, tpu.core_type = #tpu.core_type<sc_vector_subcore>} {
  "tpu.compress_store_vreg"(%f, %v, %x, %k) : (vector<8xf32>, memref<8xf32, #tpu.memory_space<vmem>>, index, vector<8xi1>) -> ()
  %0 = "tpu.expand_load_vreg"(%v, %x, %k) : (memref<8xf32, #tpu.memory_space<vmem>>, index, vector<8xi1>) -> vector<8xf32>
  %2 = tpu.scan <maxf>, %f masked %k {dimension = 0 : i64} : vector<8xf32>, vector<8xi1> -> vector<8xf32>
  %3 = "tpu.load"(%v, %x) {sublane_mask = array<i1: true>} : (memref<8xf32, #tpu.memory_space<vmem>>, index) -> vector<8xf32>
  %4 = "tpu.load"(%v, %x) {sublane_mask = array<i1: true, false>, sublane_stride = 2 : i32} : (memref<8xf32, #tpu.memory_space<vmem>>, index) -> vector<8xf32>
  "tpu.store"(%3, %v, %x) {add = false, operandSegmentSizes = array<i32: 1, 1, 1, 0>, sublane_mask = array<i1: true>} : (vector<8xf32>, memref<8xf32, #tpu.memory_space<vmem>>, index) -> ()
  "tpu.store"(%4, %v, %x, %k) {add = true, operandSegmentSizes = array<i32: 1, 1, 1, 1>, sublane_mask = array<i1: true>, sublane_stride = 1 : i32} : (vector<8xf32>, memref<8xf32, #tpu.memory_space<vmem>>, index, vector<8xi1>) -> ()
  return
}
