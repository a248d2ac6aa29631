module attributes {stable_mosaic.version = 13 : i64} {
  "stable_mosaic.func.func"() ({
  ^bb0(%s: memref<!tpu.semaphore, #tpu.memory_space<semaphore_mem>>, %i: i32):
    "stable_mosaic.tpu.sem_signal"(%s, %i, %i) {operandSegmentSizes = array<i32: 1, 1, 0, 1>} : (memref<!tpu.semaphore, #tpu.memory_space<semaphore_mem>>, i32, i32) -> ()
    "stable_mosaic.func.return"() : () -> ()
  }) {function_type = (memref<!tpu.semaphore, #tpu.memory_space<semaphore_mem>>, i32) -> (), scalar_prefetch = 0 : i64, scratch_operands = 0 : i64, sym_name = "subcores", tpu.core_type = #tpu.core_type<sc_vector_subcore>} : () -> ()
}
