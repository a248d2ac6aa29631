func.func @sparse(%p: i32, %q: i32, %h: memref<64x8xi32, #tpu.memory_space<hbm>>, %f: memref<64x8xf32, #tpu.memory_space<hbm>>) attributes {dimension_semantics = [#tpu.dimension_semantics<core_parallel>, #tpu.dimension_semantics<subcore_parallel>], iteration_bounds = array<i64: 2, 16>, scalar_prefetch = 0 : i64, scratch_operands = 0 : i64, tpu.core_type = #tpu.core_type<sc_vector_subcore>, window_params = [{transform_indices = affine_map<(d0, d1) -> (0, 0)>}, {transform_indices = affine_map<(d0, d1) -> (d0, 0)>}]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : i32
  %v = memref.alloca() : memref<8x8xi32, #tpu.memory_space<vmem>>
  %o = memref.alloca() : memref<8xi32, #tpu.memory_space<vmem>>
  %m = memref.alloca() : memref<8xi32, #tpu.memory_space<smem>>
  %s = tpu.sem_alloc : memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
  %r = tpu.sem_alloc : memref<!tpu.semaphore, #tpu.memory_space<semaphore_mem>>
  %0 = arith.constant dense<3> : vector<8xi32>
  %1 = arith.constant dense<true> : vector<8xi1>
  %2 = tpu.scan <sum>, %0 masked %1 : vector<8xi32>, vector<8xi1> -> vector<8xi32>
  %4:2 = tpu.scan_count mask(%1 : vector<8xi1>) value(%0 : vector<8xi32>) : vector<8xi1>, vector<8xi32>
  %5:3 = tpu.sort %0, %2 masked %1 {descending = true} : (vector<8xi32>, vector<8xi32>, vector<8xi1>) -> (vector<8xi1>, vector<8xi32>, vector<8xi32>)
  %6:3 = tpu.sort %0, %2 : (vector<8xi32>, vector<8xi32>) -> (vector<8xi1>, vector<8xi32>, vector<8xi32>)
  %7 = tpu.all_reduce %1 {dim = 0 : i64, kind = #tpu.reduction_kind<find_first_set>} : vector<8xi1> -> vector<8xi32>
  %8 = tpu.vector_load_idx %v[%0, %0] : memref<8x8xi32, #tpu.memory_space<vmem>>[vector<8xi32>, vector<8xi32>], vector<8xi32>,
  %9 = tpu.vector_load_idx %o[%0] masked %1 : memref<8xi32, #tpu.memory_space<vmem>>[vector<8xi32>], vector<8xi32>, vector<8xi1>
  tpu.vector_store_idx %o[%0], %0 masked %1 {add = true} : memref<8xi32, #tpu.memory_space<vmem>>[vector<8xi32>], vector<8xi32>, vector<8xi1>
  tpu.enqueue_indirect_dma source(%h : memref<64x8xi32, #tpu.memory_space<hbm>>) target(%v : memref<8x8xi32, #tpu.memory_space<vmem>>) offsets(%o : memref<8xi32, #tpu.memory_space<vmem>>) offset_filter(%c1) semaphore(%s : memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>)
  tpu.wait_indirect_dma semaphore(%s : memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) src(%h : memref<64x8xi32, #tpu.memory_space<hbm>>) dst(%v : memref<8x8xi32, #tpu.memory_space<vmem>>)
  tpu.barrier barrier_id(%c0)
  %10 = tpu.fetch_and_add_sync %m[%c1], %c1, %c1 : memref<8xi32, #tpu.memory_space<smem>>, i32 -> i32
  %11 = tpu.pack_subelements %0, %0 {pack_format = #tpu.pack_format<interleaved>, positions = array<i32: 0, 1>} : vector<8xi32>, vector<8xi32> -> vector<16xi16>
  %12 = tpu.unpack_subelements %11, 1 {pack_format = #tpu.pack_format<interleaved>} : vector<16xi16> -> vector<8xi32>
  tpu.sem_signal %r, %c1 device_id %c1 core_id %c1 subcore_id %c1 : memref<!tpu.semaphore, #tpu.memory_space<semaphore_mem>>
  return
}
