//! One reader under libFuzzer: the one that the program is named after.
#![no_main]
use std::sync::LazyLock;
use tpu_fuzz::readers::{READERS, Reader};

static READER: LazyLock<Reader> = LazyLock::new(|| {
    let found = READERS.iter().find(|(name, _)| *name == env!("CARGO_BIN_NAME"));
    found.expect("a reader of this name").1
});

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| (*READER)(bytes));
