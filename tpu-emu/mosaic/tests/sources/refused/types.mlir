func.func @types(%t: tensor<4xf32>, %c: complex<f32>, %m: memref<8x128xf32, strided<[128, 1], offset: 3>, #tpu.memory_space<vmem>>, %u: i31) attributes {dimension_semantics = [], scalar_prefetch = 0 : i64, scratch_operands = 0 : i64, tpu.core_type = #tpu.core_type<tc>} {
  return
}
