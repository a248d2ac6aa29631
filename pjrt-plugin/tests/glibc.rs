//! What the built library asks of the machine that it is loaded on.
#![expect(clippy::unwrap_used, reason = "a test may stop anywhere")]

mod built;

use object::Endianness;
use object::elf::{DT_NEEDED, FileHeader64, SHT_DYNSYM};
use object::read::elf::{FileHeader, Sym};

/// The oldest glibc that the library is for, and the compiler's library that was there beside it.
const OLDEST: [(&str, &[u32]); 2] = [("GLIBC_", &[2, 28]), ("GCC_", &[7, 0, 0])];

/// Whether the loader of that time knows the version.
fn is_known(version: &str) -> bool {
    OLDEST.iter().any(|(family, oldest)| {
        let numbers = version.strip_prefix(family).map(|rest| rest.split('.').map(str::parse));
        let numbers: Option<Vec<u32>> = numbers.and_then(|all| all.collect::<Result<_, _>>().ok());
        numbers.is_some_and(|numbers| numbers.as_slice() <= *oldest)
    })
}

/// Each function of other libraries with the version that is asked for.
fn asked_for(bytes: &[u8]) -> Vec<(String, String)> {
    let header = FileHeader64::<Endianness>::parse(bytes).unwrap();
    let endian = header.endian().unwrap();
    let sections = header.sections(endian, bytes).unwrap();
    let symbols = sections.symbols(endian, bytes, SHT_DYNSYM).unwrap();
    let versions = sections.versions(endian, bytes).unwrap().unwrap();
    let mut found = Vec::new();
    for (index, symbol) in symbols.enumerate() {
        let at = versions.version_index(endian, index);
        if let Some(version) = versions.version(at.into()).unwrap() {
            let name = symbol.name(endian, symbols.strings()).unwrap();
            let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
            found.push((text(name), text(version.name())));
        }
    }
    found
}

#[test]
fn no_function_is_asked_for_at_a_version_past_glibc_2_28() {
    let all = asked_for(&std::fs::read(built::path()).unwrap());
    assert!(all.iter().any(|(name, _)| name == "pthread_create"), "{all:?}");
    let newer: Vec<_> = all.iter().filter(|(_, version)| !is_known(version)).collect();
    assert_eq!(
        newer,
        Vec::<&(String, String)>::new(),
        "rows are missing in pjrt-plugin/glibc/src/lib.rs"
    );
}

#[test]
fn the_libraries_that_glibc_2_28_has_its_functions_in_are_needed() {
    let bytes = std::fs::read(built::path()).unwrap();
    let header = FileHeader64::<Endianness>::parse(&*bytes).unwrap();
    let endian = header.endian().unwrap();
    let sections = header.sections(endian, &*bytes).unwrap();
    let table = sections.dynamic_table(endian, &*bytes).unwrap();
    let needed = table.iter().filter(|entry| entry.tag == DT_NEEDED);
    let needed: Vec<_> = needed.map(|entry| table.string(entry).unwrap()).collect();
    for library in ["libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2"] {
        assert!(needed.contains(&library.as_bytes()), "{library} is not in {needed:?}");
    }
}

#[test]
fn versions_are_compared_as_numbers() {
    for known in ["GLIBC_2.2.5", "GLIBC_2.4", "GLIBC_2.28", "GCC_3.0", "GCC_4.2.0"] {
        assert!(is_known(known), "{known}");
    }
    for unknown in ["GLIBC_2.29", "GLIBC_2.100", "GLIBC_3", "GLIBC_PRIVATE", "GLIBC_ABI_DT_RELR"] {
        assert!(!is_known(unknown), "{unknown}");
    }
}
