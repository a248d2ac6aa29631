module @named attributes {stable_mosaic.version = 15 : i64} {
  func.func @control(%arg0: i32, %arg1: i32, %arg2: memref<2xi32, #tpu.memory_space<smem>>, %arg3: memref<8x128xf32, #tpu.memory_space<vmem>>, %arg4: memref<256x128xf32, #tpu.memory_space<any>>, %arg5: memref<12x128xf32, #tpu.memory_space<vmem>>, %arg6: memref<8x128xf32, #tpu.memory_space<vmem>>, %arg7: memref<8x128xf32, #tpu.memory_space<vmem>>) attributes {dimension_semantics = [#tpu.dimension_semantics<parallel>, #tpu.dimension_semantics<arbitrary>], iteration_bounds = array<i64: 4, -9223372036854775808>, scalar_prefetch = 1 : i64, scratch_operands = 1 : i64, tpu.core_type = #tpu.core_type<tc>, window_params = [{transform_indices = @transform_0, window_bounds = array<i64: 8, 128>}, {}, {pipeline_mode = #tpu.pipeline_mode<synchronous>, transform_indices = @transform_0, window_bounds = array<i64: 12, 128>, window_kind = #tpu.element_window<[2, 0], [2, 0]>}, {pipeline_mode = #tpu.pipeline_mode<double_buffered>, revisit_mode = #tpu.revisit_mode<any>, transform_indices = @transform_0, window_bounds = array<i64: 8, 128>}]} {
    %c0_i32 = arith.constant 0 : i32
    %c1_i32 = arith.constant 1 : i32
    %c0 = arith.constant 0 : index
    %c4 = arith.constant 4 : index
    %c1 = arith.constant 1 : index
    %0 = arith.cmpi eq, %arg0, %c0_i32 : i32
    scf.if %0 {
      cf.assert %0, "the first \22point\22"
    }
    %1:2 = scf.if %0 -> (i32, f32) {
      %cst = arith.constant 1.000000e+00 : f32
      scf.yield %arg0, %cst : i32, f32
    } else {
      %cst = arith.constant 2.000000e+00 : f32
      scf.yield %arg1, %cst : i32, f32
    }
    %2 = scf.if %0 -> (i32) {
      scf.yield %arg0 : i32
    } else {
      scf.yield %arg1 : i32
    }
    scf.for %arg8 = %c0_i32 to %arg0 step %c1_i32  : i32 {
      %10 = func.call @inner(%arg8) : (i32) -> i32
    } {sc.loop_unroll_factor = 2 : i64}
    %3 = scf.for %arg8 = %c0 to %c4 step %c1 iter_args(%arg9 = %c0_i32) -> (i32) {
      %10 = arith.addi %arg9, %c1_i32 : i32
      scf.yield %10 : i32
    }
    %4:2 = scf.while (%arg8 = %c0_i32, %arg9 = %arg0) : (i32, i32) -> (i32, i32) {
      %10 = arith.cmpi slt, %arg8, %arg9 : i32
      scf.condition(%10) %arg8, %arg9 : i32, i32
    } do {
    ^bb0(%arg8: i32, %arg9: i32):
      %10 = arith.addi %arg8, %c1_i32 : i32
      scf.yield %10, %arg9 : i32, i32
    }
    %5 = "tpu.region"() ({
      %alloca = memref.alloca() : memref<4xf32, #tpu.memory_space<smem>>
      %10 = memref.load %alloca[%c0] : memref<4xf32, #tpu.memory_space<smem>>
      tpu.yield %10 : f32
    }) : () -> f32
    "tpu.region"() ({
      %10 = tpu.sem_alloc : memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
      tpu.yield
    }) : () -> ()
    "tpu.trace"() <{level = 10 : i32, message = "a part"}> ({
      tpu.yield
    }) : () -> ()
    "tpu.trace_start"() <{level = 10 : i32, message = "step"}> : () -> ()
    "tpu.trace_stop"() : () -> ()
    tpu.trace_value %arg0, "p" : i32
    tpu.delay %arg0
    %6 = tpu.iteration_bound 1 : i32
    %7 = tpu.device_id : i32
    %8 = call @inner(%arg0) : (i32) -> i32
    tpu.log "nothing"
    tpu.log "x = $0" {formatted = true} : [%arg0] : i32
    tpu.log_buffer "buffer" {shape = array<i64: 8, 128>} : %arg3 : memref<8x128xf32, #tpu.memory_space<vmem>>
    %9 = tpu.internal_scratch : memref<16xi32, #tpu.memory_space<vmem>>
    return
  }
  func.func @transform_0(%arg0: i32, %arg1: i32, %arg2: memref<2xi32, #tpu.memory_space<smem>>) -> (i32, i32) {
    %c0 = arith.constant 0 : index
    %0 = memref.load %arg2[%c0] : memref<2xi32, #tpu.memory_space<smem>>
    return %arg0, %0 : i32, i32
  }
  func.func private @inner(%arg0: i32) -> i32 {
    return %arg0 : i32
  }
}
