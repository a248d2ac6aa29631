//! The headers in `include/`: their Rust in `src/lib.rs`, and the layouts of the interface.
#![expect(clippy::disallowed_methods, reason = "the environment says what to compare with")]
#![expect(clippy::unwrap_used, reason = "a test may stop anywhere")]

use std::collections::BTreeMap;
use std::env::var_os;
use std::fs::{read_dir, read_to_string, write};
use std::mem::offset_of;
use std::path::{Path, PathBuf};
use std::process::Command;

use bindgen::{EnumVariation, Formatter, MacroTypeVariation, RustEdition, RustTarget};
use pjrt_sys::{
    PJRT_Api, PJRT_Client_Create_Args, PJRT_Error_Code, PJRT_ExecuteOptions, PJRT_NamedValue,
    XLA_FFI_API_MINOR, XLA_FFI_Api,
};

const HEAD: &str = "\
//! The PJRT C API and XLA FFI in Rust, as their headers in `include/` declare them.
//
// Generated from include/all.h, which names every header, by
// `UPDATE=1 cargo test -p pjrt-sys`. Never edited: edit the headers.
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
    let path = here("src/lib.rs");
    let fresh = bindings();
    if var_os("UPDATE").is_some() {
        write(&path, &fresh).unwrap();
    }
    let stale = read_to_string(&path).unwrap() != fresh;
    assert!(!stale, "src/lib.rs is stale: UPDATE=1 cargo test -p pjrt-sys");
}

#[test]
fn all_h_names_every_header() {
    let all = read_to_string(here("include/all.h")).unwrap();
    let mut named: Vec<_> =
        all.lines().filter_map(|line| line.strip_prefix("#include \"")).collect();
    let files: Vec<_> = read_dir(here("include")).unwrap().collect();
    let mut there: Vec<_> =
        files.into_iter().map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    there.retain(|name| name != "all.h");
    there.sort();
    named.sort();

    assert_eq!(there, named.iter().map(|name| name.trim_end_matches('"')).collect::<Vec<_>>());
}

/// Sizes as clients send them, from measurements of the seven supported ones.
#[test]
fn rust_has_the_sizes_of_the_interface() {
    assert_eq!(size_of::<PJRT_Api>(), 1144);
    assert_eq!(offset_of!(PJRT_Api, PJRT_Error_Destroy), 40);
    assert_eq!(offset_of!(PJRT_Api, PJRT_TopologyDescription_GetMemorySpaceKindIds), 40 + 137 * 8);
    assert_eq!(size_of::<PJRT_Client_Create_Args>(), 88);
    assert_eq!(size_of::<PJRT_ExecuteOptions>(), 144);
    assert_eq!(offset_of!(PJRT_ExecuteOptions, call_location), 80);
    assert_eq!(size_of::<PJRT_NamedValue>(), 56);
    assert_eq!(size_of::<PJRT_Error_Code>(), 4);
}

/// `make test` finds an older header in the wheel of another plugin.
#[test]
fn an_older_header_has_the_same_layouts() {
    let Some(older) = var_os("TPU_EMU_TEST_PJRT_HEADER").map(PathBuf::from) else {
        println!("not compared: TPU_EMU_TEST_PJRT_HEADER names no header");
        return;
    };
    let ours = here("include/pjrt_c_api.h");
    let known = structs(&ours);
    let mut shared = structs(&older);
    shared.retain(|name, _| known.contains_key(name));
    assert!(shared.len() > 100, "{} structs in common", shared.len());

    let (theirs, ours) = (layouts(&older, &shared, "older"), layouts(&ours, &shared, "ours"));
    for (theirs, ours) in theirs.lines().zip(ours.lines()) {
        assert_eq!(theirs, ours);
    }
    println!("compared {} structs, {} fields", shared.len(), theirs.lines().count());
}

/// `make test` finds the headers that jaxlibs install, of all versions of XLA FFI.
#[test]
fn the_ffi_headers_of_jaxlibs_have_the_same_layouts() {
    let Some(headers) = var_os("TPU_EMU_TEST_FFI_HEADERS") else {
        println!("not compared: TPU_EMU_TEST_FFI_HEADERS names no headers");
        return;
    };
    let ours = here("include/xla_ffi_c_api.h");
    let known = structs(&ours);
    let mut minors = Vec::new();
    for theirs in std::env::split_paths(&headers) {
        let text = read_to_string(&theirs).unwrap();
        let minor = text.split("XLA_FFI_API_MINOR ").nth(1).unwrap();
        let minor: u32 = minor.lines().next().unwrap().trim().parse().unwrap();
        // Their name of a struct, and ours for it under that version.
        let name_of_ours = |name: &str| match (minor, name) {
            (1, "XLA_FFI_TypeId_Register_Args" | "XLA_FFI_State_Set_Args") => format!("{name}_0_1"),
            (
                1..=3,
                "XLA_FFI_Error_GetMessage_Args"
                | "XLA_FFI_Handler_Bundle"
                | "XLA_FFI_Handler_Register_Args",
            ) => format!("{name}_0_3"),
            (1, "XLA_FFI_State_Get_Args")
            | (2, "XLA_FFI_State_Get_Args" | "XLA_FFI_State_Set_Args") => {
                format!("{name}_0_2")
            }
            _ => newer_name(name),
        };
        let (mut renamed, mut fields) = (BTreeMap::new(), BTreeMap::new());
        for (name, mut own) in structs(&theirs) {
            // The table is compared below: its functions are not fields of a plain kind.
            own.retain(|field| !field.starts_with("XLA_FFI_"));
            renamed.insert(name_of_ours(&name), own.clone());
            fields.insert(name, own);
        }
        assert!(fields.len() > 30, "{} structs", fields.len());
        for (name, own) in &renamed {
            let known = known.get(name).unwrap_or_else(|| panic!("{name} is not declared"));
            let newer = if minor == 1 && name == "XLA_FFI_Metadata" { 1 } else { 0 };
            let shared = if name == "XLA_FFI_Api" { own.len() } else { known.len() - newer };
            assert_eq!(known[..shared], own[..], "{name} of 0.{minor}");
        }
        let program = format!("ffi_{}", minors.len());
        let (theirs, ours) =
            (layouts(&theirs, &fields, &program), layouts(&ours, &renamed, "ffi_ours"));
        let plain = |text: &str| {
            let versions = ["_0_1.", "_0_2.", "_0_3."];
            let text =
                versions.iter().fold(newer_name(text), |text, version| text.replace(version, "."));
            let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
            lines.sort();
            lines
        };
        assert_eq!(plain(&theirs), plain(&ours), "0.{minor}");
        assert_eq!(slots(&text), SLOTS[..slots(&text).len()], "0.{minor}");
        println!(
            "compared {} structs of 0.{minor}, {} fields",
            fields.len(),
            theirs.lines().count()
        );
        minors.push(minor);
    }
    minors.sort_unstable();
    minors.dedup();
    let newest = XLA_FFI_API_MINOR.unsigned_abs();
    assert!(minors.starts_with(&[1, 2, 3]), "versions of the headers: {minors:?}");
    assert!(minors.iter().all(|&minor| minor <= newest), "{minors:?} and our 0.{newest}");
}

/// Names before 0.4, as they are called since.
fn newer_name(text: &str) -> String {
    text.replace("XLA_FFI_Extension_Base", "XLA_FFI_InternalExtension")
        .replace("XLA_FFI_ExecutionContext", "XLA_FFI_InvokeContext")
}

/// The slots of the table of XLA FFI; older versions call some of them otherwise.
const SLOTS: [&str; 20] = [
    "XLA_FFI_Error_Create",
    "XLA_FFI_Error_GetDetails",
    "XLA_FFI_Error_Destroy",
    "XLA_FFI_Handler_Register",
    "XLA_FFI_Stream_Get",
    "XLA_FFI_Type_Register",
    "XLA_FFI_InvokeContext_Get",
    "XLA_FFI_State_Set",
    "XLA_FFI_State_Get",
    "XLA_FFI_DeviceMemory_Allocate",
    "XLA_FFI_DeviceMemory_Free",
    "XLA_FFI_ThreadPool_Schedule",
    "XLA_FFI_ThreadPool_NumThreads",
    "XLA_FFI_Future_Create",
    "XLA_FFI_Future_SetAvailable",
    "XLA_FFI_Future_SetError",
    "XLA_FFI_RunId_Get",
    "XLA_FFI_DeviceOrdinal_Get",
    "XLA_FFI_InvokeContext_FindExtension",
    "XLA_FFI_CustomOptions_Get",
];

/// The slots of a header's table, in its order.
fn slots(header: &str) -> Vec<String> {
    let table = header.split("struct XLA_FFI_Api {").nth(1).unwrap().split("};").next().unwrap();
    let names = table.split("_XLA_FFI_API_STRUCT_FIELD(").skip(1);
    let name = |rest: &str| {
        newer_name(rest.split(')').next().unwrap())
            .replace("TypeId_Register", "Type_Register")
            .replace("Error_GetMessage", "Error_GetDetails")
    };
    names.map(name).collect()
}

#[test]
fn the_table_of_xla_ffi_has_its_slots_in_order() {
    let text = read_to_string(here("include/xla_ffi_c_api.h")).unwrap();
    let table = text.split("struct XLA_FFI_Api {").nth(1).unwrap().split("};").next().unwrap();
    let slots: Vec<&str> =
        table.lines().filter_map(|line| line.split("* XLA_FFI_").nth(1)).collect();
    let slots: Vec<String> =
        slots.iter().map(|name| format!("XLA_FFI_{}", name.trim_end_matches(';'))).collect();
    assert_eq!(slots, SLOTS);
    assert_eq!(offset_of!(XLA_FFI_Api, XLA_FFI_Error_Create), 48);
    assert_eq!(size_of::<XLA_FFI_Api>(), 48 + 8 * SLOTS.len());
}

#[test]
fn the_page_of_xla_ffi_has_a_row_for_each_slot() {
    let page = read_to_string(here("../../docs/abi/ffi.md")).unwrap();
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `XLA_FFI_"));
    let named: Vec<String> =
        rows.map(|row| format!("XLA_FFI_{}", row.split('`').next().unwrap())).collect();
    assert_eq!(named, SLOTS);
}

/// The Rust text of the headers.
fn bindings() -> String {
    let bindings = bindgen::Builder::default()
        .header(here("include/all.h").display().to_string())
        .allowlist_type("(PJRT|PLUGIN|JAX|XLA_FFI)_.*")
        .allowlist_var("(PJRT|PLUGIN|XLA_FFI)_.*")
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
        .rustfmt_configuration_file(Some(here("../../rustfmt.toml")))
        .use_core()
        .generate()
        .unwrap();
    bindings.to_string()
}

/// The structs that a header defines, with the names of their fields.
fn structs(header: &Path) -> BTreeMap<String, Vec<String>> {
    let text = without_comments(&read_to_string(header).unwrap());
    let bodies = text.match_indices("struct ").filter_map(|(at, word)| {
        let (name, rest) = text[at + word.len()..].split_once(" {")?;
        let is_name = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        is_name.then(|| (name.to_owned(), rest.split_once("\n}").unwrap().0))
    });
    bodies.map(|(name, body)| (name, body.split(';').filter_map(field).collect())).collect()
}

/// `a` of `int a`, `int (*a)(int b)` and `FIELD(a)`; none of `}`.
fn field(declaration: &str) -> Option<String> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let from = match declaration.split_once("(*") {
        Some((_, pointer)) => pointer.split_once(')')?.0,
        None => declaration,
    };
    from.split(|c| !is_part(c)).rfind(|word| !word.is_empty()).map(str::to_owned)
}

fn without_comments(text: &str) -> String {
    let text: String =
        text.lines().map(|line| line.split("//").next().unwrap().to_owned() + "\n").collect();
    let mut parts = text.split("/*");
    let head = parts.next().unwrap().to_owned();
    parts.fold(head, |text, part| text + part.split_once("*/").unwrap().1)
}

/// A line a field, `struct.field offset size`, as the C compiler lays them out.
fn layouts(header: &Path, structs: &BTreeMap<String, Vec<String>>, program: &str) -> String {
    // The first headers of XLA FFI are C++ in that they name structs without saying so.
    let named = structs.keys().filter(|name| name.starts_with("XLA_FFI_"));
    let mut main: String = named.map(|name| format!("typedef struct {name} {name};\n")).collect();
    main += &format!("#include \"{}\"\n#include <stdio.h>\nint main(void) {{\n", header.display());
    for (name, fields) in structs {
        for field in fields {
            main += &format!(
                "printf(\"{name}.{field} %zu %zu\\n\", offsetof({name}, {field}), \
                 sizeof((({name}*)0)->{field}));\n"
            );
        }
    }
    main += "}\n";

    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(program);
    let source = program.with_extension("c");
    write(&source, main).unwrap();
    let compiled = Command::new("cc").arg(&source).arg("-o").arg(&program).status().unwrap();
    assert!(compiled.success(), "{}", source.display());
    String::from_utf8(Command::new(&program).output().unwrap().stdout).unwrap()
}

fn here(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}
