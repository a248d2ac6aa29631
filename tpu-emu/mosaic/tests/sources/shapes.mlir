func.func @shapes(%f: vector<8x128xf32>, %i: vector<8x128xi32>, %s: i32, %v: memref<8x128xf32, #tpu.memory_space<vmem>>, %w: memref<4x8x128xf32, #tpu.memory_space<vmem>>, %d: memref<?x128xf32, #tpu.memory_space<vmem>>, %m: memref<16xi32, #tpu.memory_space<smem>>, %k: vector<8x128xi1>, %c: memref<4x8xf32>, %b: vector<16x128xbf16>) attributes {dimension_semantics = [], scalar_prefetch = 0 : i64, scratch_operands = 0 : i64, tpu.core_type = #tpu.core_type<tc>} {
  %c0 = arith.constant 0 : index
  %0 = vector.load %v[%c0, %c0] : memref<8x128xf32, #tpu.memory_space<vmem>>, vector<8x128xf32>
  vector.store %f, %v[%c0, %c0] : memref<8x128xf32, #tpu.memory_space<vmem>>, vector<8x128xf32>
  %1 = vector.broadcast %s : i32 to vector<8x128xi32>
  %2 = vector.shape_cast %f : vector<8x128xf32> to vector<1024xf32>
  %3 = vector.extract %f[3, 5] : f32 from vector<8x128xf32>
  %4 = vector.extract %f[%c0, 5] : f32 from vector<8x128xf32>
  %5 = vector.extract %f[2] : vector<128xf32> from vector<8x128xf32>
  %6 = vector.extract_strided_slice %f {offsets = [2, 0], sizes = [4, 128], strides = [1, 1]} : vector<8x128xf32> to vector<4x128xf32>
  %acc = arith.constant dense<0xFF800000> : vector<8xf32>
  %7 = vector.multi_reduction <maximumf>, %f, %acc [1] : vector<8x128xf32> to vector<8xf32>
  %z = arith.constant 0 : i32
  %8 = vector.multi_reduction <add>, %i, %z [0, 1] : vector<8x128xi32> to i32
  %9 = vector.bitcast %i : vector<8x128xi32> to vector<8x256xi16>
  %10 = memref.load %m[%c0] : memref<16xi32, #tpu.memory_space<smem>>
  memref.store %s, %m[%c0] : memref<16xi32, #tpu.memory_space<smem>>
  %11 = memref.alloca() : memref<8x128xf32, #tpu.memory_space<vmem>>
  %12 = memref.alloca() : memref<f32, #tpu.memory_space<smem>>
  %13 = memref.cast %v : memref<8x128xf32, #tpu.memory_space<vmem>> to memref<?x128xf32, #tpu.memory_space<vmem>>
  tpu.vector_store %v[%c0, %c0], %f {strides = array<i32>} : memref<8x128xf32, #tpu.memory_space<vmem>>, vector<8x128xf32>,
  tpu.vector_store %v[%c0, %c0], %f masked %k {strides = array<i32>, add = true} : memref<8x128xf32, #tpu.memory_space<vmem>>, vector<8x128xf32>, vector<8x128xi1>
  %14 = tpu.vector_load %v[%c0, %c0] {strides = array<i32>} : memref<8x128xf32, #tpu.memory_space<vmem>>, vector<8x128xf32>,
  %15 = tpu.vector_load %v[%c0, %c0] masked %k {strides = array<i32>} : memref<8x128xf32, #tpu.memory_space<vmem>>, vector<8x128xf32>, vector<8x128xi1>
  %16 = tpu.strided_load %v[%c0, %c0] {strides = array<i32: 2, 1>} : memref<8x128xf32, #tpu.memory_space<vmem>>, vector<4x128xf32>
  tpu.strided_store %v[%c0, %c0], %16 {strides = array<i32: 2, 1>} : memref<8x128xf32, #tpu.memory_space<vmem>>, vector<4x128xf32>
  %17 = tpu.iota {dimensions = array<i32: 0, 1>} : vector<8x128xi32>
  %18 = tpu.dynamic_rotate %f by %s dim 1 : vector<8x128xf32>, i32 -> vector<8x128xf32>
  %19 = tpu.dynamic_rotate %f by %s dim 1 {stride = 2 : si32, stride_dimension = 0 : si32} : vector<8x128xf32>, i32 -> vector<8x128xf32>
  %20 = tpu.dynamic_gather %f[%i] in [1] : vector<8x128xf32>, vector<8x128xi32> -> vector<8x128xf32>
  %21 = tpu.transpose %f, [1, 0] : vector<8x128xf32> -> vector<128x8xf32>
  %22 = tpu.concatenate %f, %f in 0 : vector<8x128xf32>, vector<8x128xf32> -> vector<16x128xf32>
  %24 = tpu.reshape %f : vector<8x128xf32> -> vector<1x8x128xf32>
  %25 = tpu.bitcast %b : vector<16x128xbf16> -> vector<8x128xi32>
  %26 = tpu.memref_slice %w[%s, %s, %s] : memref<4x8x128xf32, #tpu.memory_space<vmem>> -> memref<1x8x128xf32, #tpu.memory_space<vmem>>
  %v26 = tpu.memref_slice %w[%s, %s, %s] : memref<4x8x128xf32, #tpu.memory_space<vmem>> -> memref<1x8x128xf32, strided<[1024, 128, 1], offset: ?>, #tpu.memory_space<vmem>>
  %v27 = tpu.memref_squeeze %v26 : memref<1x8x128xf32, strided<[1024, 128, 1], offset: ?>, #tpu.memory_space<vmem>> -> memref<8x128xf32, strided<[128, 1], offset: ?>, #tpu.memory_space<vmem>>
  %27 = tpu.memref_slice %w[%s, %s, %s] <%s> : memref<4x8x128xf32, #tpu.memory_space<vmem>> -> memref<?x8x128xf32, #tpu.memory_space<vmem>>
  %28 = tpu.memref_squeeze %26 : memref<1x8x128xf32, #tpu.memory_space<vmem>> -> memref<8x128xf32, #tpu.memory_space<vmem>>
  %29 = tpu.memref_reshape %w : memref<4x8x128xf32, #tpu.memory_space<vmem>> -> memref<32x128xf32, #tpu.memory_space<vmem>>
  %30 = tpu.memref_bitcast %v : memref<8x128xf32, #tpu.memory_space<vmem>> -> memref<16x128xbf16, #tpu.memory_space<vmem>>
  %31 = tpu.reinterpret_cast %v : memref<8x128xf32, #tpu.memory_space<vmem>> -> memref<8x128xi32, #tpu.memory_space<vmem>>
  %32 = tpu.assume_layout %v : memref<8x128xf32, #tpu.memory_space<vmem>> -> memref<8x128xf32, #tpu.memory_space<vmem>>
  %33 = tpu.erase_memref_layout %v : memref<8x128xf32, #tpu.memory_space<vmem>> -> memref<8x128xf32, #tpu.memory_space<vmem>>
  %34 = tpu.assume_multiple %s, 8 : i32
  %35 = tpu.reciprocal %f {approx = true} : vector<8x128xf32> -> vector<8x128xf32>
  %36 = tpu.weird %f : vector<8x128xf32> -> vector<8x128xi1>
  %37 = tpu.reduce_index %f {axis = 1 : i32, kind = #tpu.reduction_kind<arg_max>} : vector<8x128xf32> -> vector<8xi32>
  %38 = tpu.pack_elementwise %f, %f {target_type = bf16} : vector<8x128xf32>, vector<8x128xf32> -> vector<8x128xi32>
  %39 = tpu.unpack_elementwise %38, 1 {source_type = bf16} : vector<8x128xi32> -> vector<8x128xf32>
  %40 = tpu.stochastic_convert %f, %i : vector<8x128xf32>, vector<8x128xi32> -> vector<8x128xbf16>
  %zero = arith.constant dense<0.0> : vector<8x8xf32>
  %41 = tpu.matmul %f, %f, %zero {dimension_numbers = #tpu.dot_dimension_numbers<[1], [1], [0], [0], [0, 0, 1, 0], [], []>, precision = #tpu.contract_precision<fp32>, transpose_lhs_hint = false} : vector<8x128xf32>, vector<8x128xf32>, vector<8x8xf32> -> vector<8x8xf32>
  %42 = tpu.matmul %f, %f, %zero {transpose_lhs_hint = true, transpose_rhs = true} : vector<8x128xf32>, vector<8x128xf32>, vector<8x8xf32> -> vector<8x8xf32>
  "tpu.prng_set_seed_32"(%s, %s) : (i32, i32) -> ()
  %43 = "tpu.prng_random_bits"() : () -> vector<8x128xi32>
  tpu.matmul_push_rhs %f {mxu_index = 0 : i32, staging_register = 1 : i32} : vector<8x128xf32>
  tpu.matmul_acc_lhs 0, %f {load_staged_rhs = 1 : i32, mxu_index = 0 : i32} : vector<8x128xf32>
  %44 = tpu.matmul_pop 0 {mxu_index = 0 : i32} : vector<8x128xf32>
  return
}
