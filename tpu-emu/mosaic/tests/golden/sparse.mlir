#map = affine_map<(d0, d1) -> (0, 0)>
#map1 = affine_map<(d0, d1) -> (d0, 0)>
module attributes {stable_mosaic.version = 15 : i64} {
  func.func @sparse(%arg0: i32, %arg1: i32, %arg2: memref<64x8xi32, #tpu.memory_space<hbm>>, %arg3: memref<64x8xf32, #tpu.memory_space<hbm>>) attributes {dimension_semantics = [#tpu.dimension_semantics<core_parallel>, #tpu.dimension_semantics<subcore_parallel>], iteration_bounds = array<i64: 2, 16>, scalar_prefetch = 0 : i64, scratch_operands = 0 : i64, tpu.core_type = #tpu.core_type<sc_vector_subcore>, window_params = [{transform_indices = #map}, {transform_indices = #map1}]} {
    %c0 = arith.constant 0 : index
    %c1_i32 = arith.constant 1 : i32
    %alloca = memref.alloca() : memref<8x8xi32, #tpu.memory_space<vmem>>
    %alloca_0 = memref.alloca() : memref<8xi32, #tpu.memory_space<vmem>>
    %alloca_1 = memref.alloca() : memref<8xi32, #tpu.memory_space<smem>>
    %0 = tpu.sem_alloc : memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
    %1 = tpu.sem_alloc : memref<!tpu.semaphore, #tpu.memory_space<semaphore_mem>>
    %cst = arith.constant dense<3> : vector<8xi32>
    %cst_2 = arith.constant dense<true> : vector<8xi1>
    %2 = tpu.scan <sum>, %cst masked %cst_2 {dimension = 0 : i64} : vector<8xi32>, vector<8xi1> -> vector<8xi32>
    %out_mask, %counts = tpu.scan_count mask(%cst_2 : vector<8xi1>) value(%cst : vector<8xi32>) : vector<8xi1>, vector<8xi32>
    %output_mask, %sorted_keys, %sorted_values = tpu.sort %cst, %2 masked %cst_2 {descending = true} : (vector<8xi32>, vector<8xi32>, vector<8xi1>) -> (vector<8xi1>, vector<8xi32>, vector<8xi32>)
    %output_mask_3, %sorted_keys_4, %sorted_values_5 = tpu.sort %cst, %2 : (vector<8xi32>, vector<8xi32>) -> (vector<8xi1>, vector<8xi32>, vector<8xi32>)
    %3 = tpu.all_reduce %cst_2 {dim = 0 : i64, kind = #tpu.reduction_kind<find_first_set>} : vector<8xi1> -> vector<8xi32>
    %4 = tpu.vector_load_idx %alloca[%cst, %cst] : memref<8x8xi32, #tpu.memory_space<vmem>>[vector<8xi32>, vector<8xi32>], vector<8xi32>, 
    %5 = tpu.vector_load_idx %alloca_0[%cst] masked %cst_2 : memref<8xi32, #tpu.memory_space<vmem>>[vector<8xi32>], vector<8xi32>, vector<8xi1>
    tpu.vector_store_idx %alloca_0[%cst], %cst masked %cst_2 {add = true} : memref<8xi32, #tpu.memory_space<vmem>>[vector<8xi32>], vector<8xi32>, vector<8xi1>
    tpu.enqueue_indirect_dma source(%arg2 : memref<64x8xi32, #tpu.memory_space<hbm>>) target(%alloca : memref<8x8xi32, #tpu.memory_space<vmem>>) offsets(%alloca_0 : memref<8xi32, #tpu.memory_space<vmem>>) offset_filter(%c1_i32) semaphore(%0 : memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>)
    tpu.wait_indirect_dma semaphore(%0 : memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) src(%arg2 : memref<64x8xi32, #tpu.memory_space<hbm>>) dst(%alloca : memref<8x8xi32, #tpu.memory_space<vmem>>)
    tpu.barrier barrier_id(%c0)
    %6 = tpu.fetch_and_add_sync %alloca_1[%c1_i32], %c1_i32, %c1_i32 : memref<8xi32, #tpu.memory_space<smem>>, i32 -> i32
    %7 = tpu.pack_subelements %cst, %cst {pack_format = #tpu.pack_format<interleaved>, positions = array<i32: 0, 1>} : vector<8xi32>, vector<8xi32> -> vector<16xi16>
    %8 = tpu.unpack_subelements %7, 1 {pack_format = #tpu.pack_format<interleaved>} : vector<16xi16> -> vector<8xi32>
    tpu.sem_signal %1, %c1_i32 device_id %c1_i32 core_id %c1_i32 subcore_id %c1_i32 : memref<!tpu.semaphore, #tpu.memory_space<semaphore_mem>>
    return
  }
}
