module attributes {stable_mosaic.version = 15 : i64} {
  func.func @shapes(%arg0: vector<8x128xf32>, %arg1: vector<8x128xi32>, %arg2: i32, %arg3: memref<8x128xf32, #tpu.memory_space<vmem>>, %arg4: memref<4x8x128xf32, #tpu.memory_space<vmem>>, %arg5: memref<?x128xf32, #tpu.memory_space<vmem>>, %arg6: memref<16xi32, #tpu.memory_space<smem>>, %arg7: vector<8x128xi1>, %arg8: memref<4x8xf32>, %arg9: vector<16x128xbf16>) attributes {dimension_semantics = [], scalar_prefetch = 0 : i64, scratch_operands = 0 : i64, tpu.core_type = #tpu.core_type<tc>} {
    %c0 = arith.constant 0 : index
    %0 = vector.load %arg3[%c0, %c0] : memref<8x128xf32, #tpu.memory_space<vmem>>, vector<8x128xf32>
    vector.store %arg0, %arg3[%c0, %c0] : memref<8x128xf32, #tpu.memory_space<vmem>>, vector<8x128xf32>
    %1 = vector.broadcast %arg2 : i32 to vector<8x128xi32>
    %2 = vector.shape_cast %arg0 : vector<8x128xf32> to vector<1024xf32>
    %3 = vector.extract %arg0[3, 5] : f32 from vector<8x128xf32>
    %4 = vector.extract %arg0[%c0, 5] : f32 from vector<8x128xf32>
    %5 = vector.extract %arg0[2] : vector<128xf32> from vector<8x128xf32>
    %6 = vector.extract_strided_slice %arg0 offsets = [2, 0], sizes = [4, 128], strides = [1, 1] : vector<8x128xf32> to vector<4x128xf32>
    %cst = arith.constant dense<0xFF800000> : vector<8xf32>
    %7 = vector.multi_reduction <maximumf>, %arg0, %cst [1] : vector<8x128xf32> to vector<8xf32>
    %c0_i32 = arith.constant 0 : i32
    %8 = vector.multi_reduction <add>, %arg1, %c0_i32 [0, 1] : vector<8x128xi32> to i32
    %9 = vector.bitcast %arg1 : vector<8x128xi32> to vector<8x256xi16>
    %10 = memref.load %arg6[%c0] : memref<16xi32, #tpu.memory_space<smem>>
    memref.store %arg2, %arg6[%c0] : memref<16xi32, #tpu.memory_space<smem>>
    %alloca = memref.alloca() : memref<8x128xf32, #tpu.memory_space<vmem>>
    %alloca_0 = memref.alloca() : memref<f32, #tpu.memory_space<smem>>
    %cast = memref.cast %arg3 : memref<8x128xf32, #tpu.memory_space<vmem>> to memref<?x128xf32, #tpu.memory_space<vmem>>
    tpu.vector_store %arg3[%c0, %c0], %arg0 {strides = array<i32>} : memref<8x128xf32, #tpu.memory_space<vmem>>, vector<8x128xf32>, 
    tpu.vector_store %arg3[%c0, %c0], %arg0 masked %arg7 {add = true, strides = array<i32>} : memref<8x128xf32, #tpu.memory_space<vmem>>, vector<8x128xf32>, vector<8x128xi1>
    %11 = tpu.vector_load %arg3[%c0, %c0] {strides = array<i32>} : memref<8x128xf32, #tpu.memory_space<vmem>>, vector<8x128xf32>, 
    %12 = tpu.vector_load %arg3[%c0, %c0] masked %arg7 {strides = array<i32>} : memref<8x128xf32, #tpu.memory_space<vmem>>, vector<8x128xf32>, vector<8x128xi1>
    %13 = tpu.strided_load %arg3[%c0, %c0] {strides = array<i32: 2, 1>} : memref<8x128xf32, #tpu.memory_space<vmem>>, vector<4x128xf32>
    tpu.strided_store %arg3[%c0, %c0], %13 {strides = array<i32: 2, 1>} : memref<8x128xf32, #tpu.memory_space<vmem>>, vector<4x128xf32>
    %14 = tpu.iota {dimensions = array<i32: 0, 1>} : vector<8x128xi32>
    %15 = tpu.dynamic_rotate %arg0 by %arg2 dim 1 : vector<8x128xf32>, i32 -> vector<8x128xf32>
    %16 = tpu.dynamic_rotate %arg0 by %arg2 dim 1 {stride = 2 : si32, stride_dimension = 0 : si32} : vector<8x128xf32>, i32 -> vector<8x128xf32>
    %17 = tpu.dynamic_gather %arg0[%arg1] in [1] : vector<8x128xf32>, vector<8x128xi32> -> vector<8x128xf32>
    %18 = tpu.transpose %arg0, [1, 0] : vector<8x128xf32> -> vector<128x8xf32>
    %19 = tpu.concatenate %arg0, %arg0 in 0 : vector<8x128xf32>, vector<8x128xf32> -> vector<16x128xf32>
    %20 = tpu.reshape %arg0 : vector<8x128xf32> -> vector<1x8x128xf32>
    %21 = tpu.bitcast %arg9 : vector<16x128xbf16> -> vector<8x128xi32>
    %22 = tpu.memref_slice %arg4[%arg2, %arg2, %arg2] : memref<4x8x128xf32, #tpu.memory_space<vmem>> -> memref<1x8x128xf32, #tpu.memory_space<vmem>>
    %23 = tpu.memref_slice %arg4[%arg2, %arg2, %arg2] : memref<4x8x128xf32, #tpu.memory_space<vmem>> -> memref<1x8x128xf32, strided<[1024, 128, 1], offset: ?>, #tpu.memory_space<vmem>>
    %24 = tpu.memref_squeeze %23 : memref<1x8x128xf32, strided<[1024, 128, 1], offset: ?>, #tpu.memory_space<vmem>> -> memref<8x128xf32, strided<[128, 1], offset: ?>, #tpu.memory_space<vmem>>
    %25 = tpu.memref_slice %arg4[%arg2, %arg2, %arg2] <%arg2> : memref<4x8x128xf32, #tpu.memory_space<vmem>> -> memref<?x8x128xf32, #tpu.memory_space<vmem>>
    %26 = tpu.memref_squeeze %22 : memref<1x8x128xf32, #tpu.memory_space<vmem>> -> memref<8x128xf32, #tpu.memory_space<vmem>>
    %27 = tpu.memref_reshape %arg4 : memref<4x8x128xf32, #tpu.memory_space<vmem>> -> memref<32x128xf32, #tpu.memory_space<vmem>>
    %28 = tpu.memref_bitcast %arg3 : memref<8x128xf32, #tpu.memory_space<vmem>> -> memref<16x128xbf16, #tpu.memory_space<vmem>>
    %29 = tpu.reinterpret_cast %arg3 : memref<8x128xf32, #tpu.memory_space<vmem>> -> memref<8x128xi32, #tpu.memory_space<vmem>>
    %30 = tpu.assume_layout %arg3 : memref<8x128xf32, #tpu.memory_space<vmem>> -> memref<8x128xf32, #tpu.memory_space<vmem>>
    %31 = tpu.erase_memref_layout %arg3 : memref<8x128xf32, #tpu.memory_space<vmem>> -> memref<8x128xf32, #tpu.memory_space<vmem>>
    %32 = tpu.assume_multiple %arg2, 8 : i32
    %33 = tpu.reciprocal %arg0 {approx = true} : vector<8x128xf32> -> vector<8x128xf32>
    %34 = tpu.weird %arg0 : vector<8x128xf32> -> vector<8x128xi1>
    %35 = tpu.reduce_index %arg0 {axis = 1 : i32, kind = #tpu.reduction_kind<arg_max>} : vector<8x128xf32> -> vector<8xi32>
    %36 = tpu.pack_elementwise %arg0, %arg0 {target_type = bf16} : vector<8x128xf32>, vector<8x128xf32> -> vector<8x128xi32>
    %37 = tpu.unpack_elementwise %36, 1 {source_type = bf16} : vector<8x128xi32> -> vector<8x128xf32>
    %38 = tpu.stochastic_convert %arg0, %arg1 : vector<8x128xf32>, vector<8x128xi32> -> vector<8x128xbf16>
    %cst_1 = arith.constant dense<0.000000e+00> : vector<8x8xf32>
    %39 = tpu.matmul %arg0, %arg0, %cst_1 {dimension_numbers = #tpu.dot_dimension_numbers<[1], [1], [0], [0], [0, 0, 1, 0], [], []>, precision = #tpu.contract_precision<fp32>, transpose_lhs_hint = false} : vector<8x128xf32>, vector<8x128xf32>, vector<8x8xf32> -> vector<8x8xf32>
    %40 = tpu.matmul %arg0, %arg0, %cst_1 {transpose_lhs_hint = true, transpose_rhs = true} : vector<8x128xf32>, vector<8x128xf32>, vector<8x8xf32> -> vector<8x8xf32>
    "tpu.prng_set_seed_32"(%arg2, %arg2) : (i32, i32) -> ()
    %41 = "tpu.prng_random_bits"() : () -> vector<8x128xi32>
    tpu.matmul_push_rhs %arg0 {mxu_index = 0 : i32, staging_register = 1 : i32} : vector<8x128xf32>
    tpu.matmul_acc_lhs 0, %arg0 {load_staged_rhs = 1 : i32, mxu_index = 0 : i32} : vector<8x128xf32>
    %42 = tpu.matmul_pop 0 {mxu_index = 0 : i32} : vector<8x128xf32>
    return
  }
}
