//! Operations are values: their names stand in their table, and not in the code that asks what
//! an operation is.
use super::{assert_none, code, files};
use std::collections::BTreeSet;
use tpu_emu::ops::{STRUCTURAL, custom, entries};

/// The folders in which no operation is told by its name.
const NAMELESS: &[&str] = &["tpu-emu/kernels/src", "tpu-emu/program/src", "tpu-emu/src"];

/// The texts between quotation marks in a line of code.
fn literals(line: &str) -> impl Iterator<Item = &str> {
    line.split('"').skip(1).step_by(2)
}

/// A name without its dialect.
fn mnemonic(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or_default()
}

/// Whether a module, a file by itself, is there for tests alone.
fn is_test(file: &str, all: &[(String, String)]) -> bool {
    let (folder, name) = file.rsplit_once('/').unwrap();
    let (folder, module) = match name {
        "mod.rs" => folder.rsplit_once('/').unwrap(),
        _ => (folder, name.trim_end_matches(".rs")),
    };
    let parent = ["mod.rs", "lib.rs"].map(|name| format!("{folder}/{name}"));
    let Some((parent, text)) = all.iter().find(|(file, _)| parent.contains(file)) else {
        return false;
    };
    let (private, shared) = (format!("mod {module};"), format!("pub(crate) mod {module};"));
    let lines = text.lines().zip(text.lines().skip(1));
    let mut declared = lines.filter(|(_, line)| *line == private || *line == shared);
    let above = parent.ends_with("/mod.rs") && file != parent && is_test(parent, all);
    above || declared.any(|(before, _)| before == "#[cfg(test)]")
}

#[test]
fn operations_are_told_by_name_in_their_table_alone() {
    let operations = entries().map(|entry| entry.mnemonic).chain(custom::targets());
    let structural = STRUCTURAL.iter().flat_map(|&(name, _)| [name, mnemonic(name)]);
    let names: BTreeSet<&str> = operations.chain(structural).collect();
    let is_name = |text: &str| names.contains(text) || names.contains(mnemonic(text));
    assert!(names.len() > 150, "{} names are too few to be all", names.len());
    let all = files(NAMELESS);
    let mut broken = Vec::new();
    for (file, text) in all.iter().filter(|(file, _)| !is_test(file, &all)) {
        for (number, line) in code(text) {
            let named = literals(line).filter(|text| is_name(text));
            broken.extend(named.map(|name| format!("{file}:{number} names {name}")));
        }
    }
    assert_none(&broken);
}

#[test]
fn names_in_code_are_seen() {
    let line = r#"("stablehlo" | "mhlo", "while") => find("stablehlo.add"),"#;
    let found: Vec<&str> = literals(line).map(mnemonic).collect();
    assert_eq!(found, ["stablehlo", "mhlo", "while", "add"]);
    let all = files(&["tpu-emu/kernels/src/math"]);
    assert!(is_test("tpu-emu/kernels/src/math/tests.rs", &all));
    assert!(!is_test("tpu-emu/kernels/src/math/gamma.rs", &all));
}
