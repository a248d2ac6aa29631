module attributes {stable_mosaic.version = 15 : i64} {
  "stable_mosaic.func.func"() ({
  ^bb0(%f: vector<8x128xf32>, %i: i32, %b: i1, %v: memref<8x128xf32, #tpu.memory_space<vmem>>, %x: index):
    %0 = "stable_mosaic.arith.addi"(%f, %f) {overflowFlags = #arith.overflow<none>} : (vector<8x128xf32>, vector<8x128xf32>) -> vector<8x128xf32>
    %1 = "stable_mosaic.arith.addf"(%f, %i) {fastmath = #arith.fastmath<none>} : (vector<8x128xf32>, i32) -> vector<8x128xf32>
    %2 = "stable_mosaic.arith.cmpi"(%i, %i) {predicate = 10 : i64} : (i32, i32) -> i1
    %3 = "stable_mosaic.vector.load"(%v, %x, %i) : (memref<8x128xf32, #tpu.memory_space<vmem>>, index, i32) -> vector<8x128xf32>
    %4 = "stable_mosaic.tpu.iota"() : () -> vector<8x128xi32>
    "stable_mosaic.tpu.vector_store"(%f, %v, %x, %x) {operandSegmentSizes = array<i32: 1, 1, 2>, strides = array<i32>} : (vector<8x128xf32>, memref<8x128xf32, #tpu.memory_space<vmem>>, index, index) -> ()
    "stable_mosaic.tpu.vector_store"(%f, %v, %x, %x) {operandSegmentSizes = array<i32: 1, 1, 9, -7>, strides = array<i32>} : (vector<8x128xf32>, memref<8x128xf32, #tpu.memory_space<vmem>>, index, index) -> ()
    %5:2 = "stable_mosaic.tpu.device_id"() : () -> (i32, i32)
    %6 = "stable_mosaic.scf.if"(%b) ({
      "stable_mosaic.scf.yield"(%f) : (vector<8x128xf32>) -> ()
    }, {
    }) : (i1) -> i32
    %7 = "stable_mosaic.scf.for"(%i, %i, %i, %f) ({
    ^bb0(%n: index, %t: vector<8x128xf32>):
      "stable_mosaic.func.return"() : () -> ()
      "stable_mosaic.scf.yield"(%t) : (vector<8x128xf32>) -> ()
    }) : (i32, i32, i32, vector<8x128xf32>) -> vector<8x128xf32>
    "stable_mosaic.func.call"() {callee = @nobody} : () -> ()
    "stable_mosaic.tpu.sem_wait"(%v, %i) : (memref<8x128xf32, #tpu.memory_space<vmem>>, i32) -> ()
    "stable_mosaic.func.return"(%i) : (i32) -> ()
  }) {function_type = (vector<8x128xf32>, i32, i1, memref<8x128xf32, #tpu.memory_space<vmem>>, index) -> (), sym_name = "mismatched", tpu.core_type = #tpu.core_type<tc>} : () -> ()
}
