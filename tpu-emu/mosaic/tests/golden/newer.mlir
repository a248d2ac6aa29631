module attributes {stable_mosaic.version = 18 : i64} {
  func.func @newer(%arg0: vector<8x128xf32>, %arg1: vector<8x128xi32>, %arg2: vector<8x128xi1>, %arg3: memref<8x128xf32, #tpu.memory_space<vmem>>, %arg4: memref<8x128xf32, #tpu.memory_space<any>>, %arg5: i32, %arg6: index, %arg7: memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) attributes {dimension_semantics = [], scalar_prefetch = 0 : i64, scratch_operands = 0 : i64, tpu.core_type = #tpu.core_type<tc>} {
    %0 = tpu.logistic %arg0 : vector<8x128xf32> -> vector<8x128xf32>
    tpu.matmul_lhs_fifo %arg0 {load_staged_rhs = 1 : i32, mxu_index = 0 : i32} : vector<8x128xf32>
    %1 = tpu.matmul_pop_fifo 0 : vector<8x128xf32>
    %low, %high = arith.mulsi_extended %arg1, %arg1 : vector<8x128xi32>
    %low_0, %high_1 = arith.mului_extended %arg5, %arg5 : i32
    %memspacecast = memref.memory_space_cast %arg4 : memref<8x128xf32, #tpu.memory_space<any>> to memref<8x128xf32, #tpu.memory_space<hbm>>
    %2 = tpu.memref_memory_space_is %arg4, <vmem> : memref<8x128xf32, #tpu.memory_space<any>>
    %3 = tpu.memref_slice %arg4[%arg5, %arg5] : memref<8x128xf32, #tpu.memory_space<any>> -> memref<1x128xf32, strided<[128, 1], offset: 3>, #tpu.memory_space<any>>
    %4 = tpu.reduce_precision %arg0 {exponent_bits = 8 : i32, mantissa_bits = 7 : i32} : vector<8x128xf32> -> vector<8x128xf32>
    %5 = tpu.reduce <maxf>, %arg0 [1] : vector<8x128xf32> -> vector<8x1xf32>
    tpu.vector_compress_store %arg3[%arg6, %arg6], %arg0, %arg2 {compress_dim = 1 : i32} : memref<8x128xf32, #tpu.memory_space<vmem>>, vector<8x128xf32>, vector<8x128xi1>
    %6 = tpu.vector_expand_load %arg3[%arg6, %arg6], %arg2 {expand_dim = 1 : i32} : memref<8x128xf32, #tpu.memory_space<vmem>>, vector<8x128xf32>, vector<8x128xi1>
    %7 = tpu.annotate %arg3 {no_hazard = true} : memref<8x128xf32, #tpu.memory_space<vmem>>
    %8 = tpu.scan <maxui>, %arg1 {dimension = 0 : i64} : vector<8x128xi32>,  -> vector<8x128xi32>
    tpu.wait_dma source(%arg4 : memref<8x128xf32, #tpu.memory_space<any>>) target(%arg3 : memref<8x128xf32, #tpu.memory_space<vmem>>) target_semaphore(%arg7 : memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) {wait_target = true}
    %9 = scf.index_switch %arg6 -> i32 
    case 2 {
      scf.yield %arg5 : i32
    }
    case 5 {
      %10 = arith.addi %arg5, %arg5 : i32
      scf.yield %10 : i32
    }
    default {
      scf.yield %arg5 : i32
    }
    scf.index_switch %arg6 
    case 0 {
      tpu.delay %arg5
      scf.yield
    }
    default {
    }
    return
  }
}
