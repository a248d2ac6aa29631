module attributes {stable_mosaic.version = 15 : i64} { func.func @plain() attributes {tpu.core_type = #tpu.core_type<tc>} { return } }
