module attributes {stable_mosaic.version = 15 : i64} {
  "stable_mosaic.func.func"() ({
  ^bb0:
    "stable_mosaic.cf.br"()[^bb1] : () -> ()
  ^bb1:
    "stable_mosaic.func.return"() : () -> ()
  }) {function_type = () -> (), sym_name = "blocks", tpu.core_type = #tpu.core_type<tc>} : () -> ()
}
