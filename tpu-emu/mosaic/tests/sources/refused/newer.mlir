module attributes {stable_mosaic.version = 19 : i64} { }
