module @named {
  func.func @control(%p: i32, %q: i32, %t: memref<2xi32, #tpu.memory_space<smem>>, %v: memref<8x128xf32, #tpu.memory_space<vmem>>, %a: memref<256x128xf32, #tpu.memory_space<any>>, %e: memref<12x128xf32, #tpu.memory_space<vmem>>, %o: memref<8x128xf32, #tpu.memory_space<vmem>>, %g: memref<8x128xf32, #tpu.memory_space<vmem>>) attributes {dimension_semantics = [#tpu.dimension_semantics<parallel>, #tpu.dimension_semantics<arbitrary>], iteration_bounds = array<i64: 4, -9223372036854775808>, scalar_prefetch = 1 : i64, scratch_operands = 1 : i64, tpu.core_type = #tpu.core_type<tc>, window_params = [{transform_indices = @transform_0, window_bounds = array<i64: 8, 128>}, {}, {pipeline_mode = #tpu.pipeline_mode<synchronous>, transform_indices = @transform_0, window_bounds = array<i64: 12, 128>, window_kind = #tpu.element_window<[2, 0], [2, 0]>}, {pipeline_mode = #tpu.pipeline_mode<double_buffered>, revisit_mode = #tpu.revisit_mode<any>, transform_indices = @transform_0, window_bounds = array<i64: 8, 128>}]} {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %x0 = arith.constant 0 : index
    %x4 = arith.constant 4 : index
    %x1 = arith.constant 1 : index
    %0 = arith.cmpi eq, %p, %c0 : i32
    scf.if %0 {
      cf.assert %0, "the first \"point\""
    }
    %1:2 = scf.if %0 -> (i32, f32) {
      %f = arith.constant 1.0 : f32
      scf.yield %p, %f : i32, f32
    } else {
      %f = arith.constant 2.0 : f32
      scf.yield %q, %f : i32, f32
    }
    %2 = scf.if %0 -> (i32) {
      scf.yield %p : i32
    } else {
      scf.yield %q : i32
    }
    scf.for %i = %c0 to %p step %c1 : i32 {
      %3 = func.call @inner(%i) : (i32) -> i32
    } {sc.loop_unroll_factor = 2 : i64}
    %4 = scf.for %i = %x0 to %x4 step %x1 iter_args(%n = %c0) -> (i32) {
      %5 = arith.addi %n, %c1 : i32
      scf.yield %5 : i32
    }
    %6:2 = scf.while (%n = %c0, %k = %p) : (i32, i32) -> (i32, i32) {
      %7 = arith.cmpi slt, %n, %k : i32
      scf.condition(%7) %n, %k : i32, i32
    } do {
    ^bb0(%n: i32, %k: i32):
      %8 = arith.addi %n, %c1 : i32
      scf.yield %8, %k : i32, i32
    }
    %9 = "tpu.region"() ({
      %10 = memref.alloca() : memref<4xf32, #tpu.memory_space<smem>>
      %11 = memref.load %10[%x0] : memref<4xf32, #tpu.memory_space<smem>>
      tpu.yield %11 : f32
    }) : () -> f32
    "tpu.region"() ({
      %12 = tpu.sem_alloc : memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
      tpu.yield
    }) : () -> ()
    "tpu.trace"() <{level = 10 : i32, message = "a part"}> ({
      tpu.yield
    }) : () -> ()
    "tpu.trace_start"() <{level = 10 : i32, message = "step"}> : () -> ()
    "tpu.trace_stop"() : () -> ()
    tpu.trace_value %p, "p" : i32
    tpu.delay %p
    %13 = tpu.iteration_bound 1 : i32
    %14 = tpu.device_id : i32
    %15 = func.call @inner(%p) : (i32) -> i32
    tpu.log "nothing"
    tpu.log "x = $0" {formatted = true} : [%p] : i32
    tpu.log_buffer "buffer" {shape = array<i64: 8, 128>} : %v : memref<8x128xf32, #tpu.memory_space<vmem>>
    %16 = tpu.internal_scratch : memref<16xi32, #tpu.memory_space<vmem>>
    return
  }
  func.func @transform_0(%p: i32, %q: i32, %t: memref<2xi32, #tpu.memory_space<smem>>) -> (i32, i32) {
    %x0 = arith.constant 0 : index
    %0 = memref.load %t[%x0] : memref<2xi32, #tpu.memory_space<smem>>
    return %p, %0 : i32, i32
  }
  func.func private @inner(%p: i32) -> i32 {
    return %p : i32
  }
}
