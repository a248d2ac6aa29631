//! What the built library exports: the two interfaces, and nothing else.

mod built;

use object::{Object, ObjectSymbol};
use pjrt_tpu_emu::libtpu::symbols::SYMBOLS;

/// The functions beside those of libtpu.
const OTHERS: &[&str] = &[
    "GetPjrtApi",
    "XLA_FFI_GetApi",
    "XlaCustomCallStatusSetFailure",
    "XlaCustomCallStatusSetSuccess",
    "tpu_emu_address_of",
    "tpu_emu_mark",
    "tpu_emu_pointer_to",
    "tpu_emu_record_read",
    "tpu_emu_record_start",
    "tpu_emu_record_stop",
    "tpu_emu_release",
    "tpu_emu_snapshot",
    "tpu_emu_snapshot_version",
];

#[test]
fn the_library_exports_the_listed_functions_and_no_others() {
    let bytes = std::fs::read(built::path()).unwrap();
    let file = object::File::parse(&*bytes).unwrap();
    let symbols = file.dynamic_symbols().filter(|symbol| symbol.is_definition());
    let mut exported: Vec<&str> = symbols.map(|symbol| symbol.name().unwrap()).collect();
    exported.sort_unstable();
    let listed = SYMBOLS.iter().map(|symbol| symbol.name).chain(OTHERS.iter().copied());
    let mut listed: Vec<&str> = listed.collect();
    listed.sort_unstable();
    let of = |all: &[&str], but: &[&str]| -> Vec<String> {
        all.iter().filter(|name| !but.contains(name)).map(|&name| name.to_owned()).collect()
    };
    assert_eq!(of(&listed, &exported), Vec::<String>::new(), "listed, and not exported");
    assert_eq!(of(&exported, &listed), Vec::<String>::new(), "exported, and not listed");
}
