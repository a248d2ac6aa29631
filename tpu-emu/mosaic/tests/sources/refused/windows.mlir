module {
  func.func @few(%p: i32, %v: memref<8x128xf32, #tpu.memory_space<vmem>>, %w: memref<8x128xf32, #tpu.memory_space<vmem>>) attributes {dimension_semantics = [#tpu.dimension_semantics<arbitrary>], iteration_bounds = array<i64: 4>, scalar_prefetch = 0 : i64, scratch_operands = 0 : i64, tpu.core_type = #tpu.core_type<tc>, window_params = [{}]} {
    return
  }
  func.func @many(%v: memref<8x128xf32, #tpu.memory_space<vmem>>) attributes {scalar_prefetch = 2 : i64, scratch_operands = 9223372036854775807 : i64, tpu.core_type = #tpu.core_type<tc>} {
    return
  }
  func.func @odd(%v: memref<8x128xf32, #tpu.memory_space<vmem>>) attributes {scratch_operands = 1 : i64, tpu.core_type = #tpu.core_type<tc>, tpu.moon = 1 : i32} {
    return
  }
}
