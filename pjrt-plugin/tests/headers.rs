//! `src/sys.rs` against the headers it is made of.
#![expect(clippy::disallowed_methods, reason = "tests are told by the environment what to do")]

use std::env::var_os;
use std::fs::{read_to_string, write};
use std::path::{Path, PathBuf};

use bindgen::{EnumVariation, Formatter, MacroTypeVariation, RustEdition, RustTarget};

const HEAD: &str = "\
// Generated from include/all.h, which names every header, by
// `UPDATE=1 cargo test -p pjrt-plugin --test headers`. Never edited: edit the headers.
//
// An enum is a struct around its number and a C bool is a byte, because a caller may write any
// number there. A handle's struct has no fields that Rust may touch.
#![expect(missing_docs, reason = \"the headers say what each declaration is\")]
#![expect(non_camel_case_types, reason = \"the names are the interface's\")]
#![expect(non_snake_case, reason = \"the names are the interface's\")]
#![expect(non_upper_case_globals, reason = \"the names are the interface's\")]";

#[test]
fn sys_is_what_bindgen_makes_of_the_headers() {
    // Without a libclang to load, this panics.
    if std::panic::catch_unwind(bindgen::clang_version).is_err() {
        println!("not compared: no libclang");
        return;
    }
    let path = here("src/sys.rs");
    let fresh = bindings();
    if var_os("UPDATE").is_some() {
        write(&path, &fresh).unwrap();
    }
    let stale = read_to_string(&path).unwrap() != fresh;
    assert!(!stale, "src/sys.rs is stale: UPDATE=1 cargo test -p pjrt-plugin --test headers");
}

/// The Rust text of the headers.
fn bindings() -> String {
    let bindings = bindgen::Builder::default()
        .header(here("include/all.h").display().to_string())
        .allowlist_type("(PJRT|PLUGIN|JAX)_.*")
        .allowlist_var("(PJRT|PLUGIN)_.*")
        .anon_fields_prefix("anon_")
        .default_enum_style(EnumVariation::NewType { is_bitfield: false, is_global: false })
        .default_macro_constant_type(MacroTypeVariation::Signed)
        .disable_header_comment()
        .formatter(Formatter::Rustfmt)
        .generate_comments(false)
        .impl_debug(true)
        .layout_tests(false)
        .raw_line(HEAD)
        .rust_edition(RustEdition::Edition2024)
        .rust_target(RustTarget::stable(85, 0).unwrap())
        .rustfmt_configuration_file(Some(here("../rustfmt.toml")))
        .use_core()
        .generate()
        .unwrap();
    bindings.to_string()
}

fn here(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}
