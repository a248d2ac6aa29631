module attributes {stable_mosaic.version = 15 : i64} {
  func.func @cores() attributes {scalar_prefetch = 0 : i64, scratch_operands = 0 : i64, tpu.core_type = #tpu.core_type<sc_vector_subcore>} {
    %0 = tpu.core_id : i32
    %1 = tpu.subcore_id : i32
    return
  }
}
