func.func @unknown(%f: vector<8x128xf32>, %v: memref<8x128xf32, #tpu.memory_space<vmem>>, %x: index) attributes {dimension_semantics = [], scalar_prefetch = 0 : i64, scratch_operands = 0 : i64, tpu.core_type = #tpu.core_type<tc>} {
  %0 = tpu.create_mask [%x, %x][%x, %x] : vector<8x128xi1>
  %1 = vector.fma %f, %f, %f : vector<8x128xf32>
  %2 = arith.addf %f, %1 {moon = 1 : i32} : vector<8x128xf32>
  %3 = tpu.roll_vectors %f, %f : vector<8x128xf32>, vector<8x128xf32> -> vector<16x128xf32>
  return
}
