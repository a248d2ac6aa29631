//! A type's name says what it is without its folder.
use super::{SOURCES, assert_none, code, files};
use std::collections::{BTreeMap, BTreeSet};

/// The type that a line of code declares, unless that belongs to a trait.
fn declared(line: &str) -> Option<&str> {
    let mut words = line.split_whitespace().filter(|word| !word.starts_with("pub"));
    let mut kind = words.next()?;
    if matches!(kind, "unsafe" | "(crate)" | "(super)") {
        kind = words.next()?;
    }
    let associated = kind == "type" && line.starts_with(' ');
    if associated || !matches!(kind, "struct" | "enum" | "trait" | "type" | "union") {
        return None;
    }
    let end = |letter: char| !letter.is_alphanumeric() && letter != '_';
    words.next()?.split(end).next().filter(|name| !name.is_empty())
}

#[test]
fn a_type_s_name_is_defined_in_at_most_three_files_and_few_are_in_three() {
    let readers = ["tpu-emu/stablehlo/src", "tpu-emu/hlo/src"];
    let mut places: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (file, text) in files(&[SOURCES, &readers].concat()) {
        if file.contains("/generated/") || file.ends_with("tests.rs") {
            continue;
        }
        for (_, line) in code(&text) {
            if let Some(name) = declared(line) {
                places.entry(name.to_owned()).or_default().insert(file.clone());
            }
        }
    }
    assert!(places.len() > 500, "{} types are too few to be all", places.len());
    let common = places.iter().filter(|(_, files)| files.len() >= 3);
    let (thrice, more): (Vec<_>, Vec<_>) = common.partition(|(_, files)| files.len() == 3);
    let thrice: Vec<&String> = thrice.into_iter().map(|(name, _)| name).collect();
    assert!(thrice.len() <= 8, "more than 8 types are defined in three files: {thrice:?}");
    let broken: Vec<String> =
        more.iter().map(|(name, files)| format!("{name} is defined in {files:?}")).collect();
    assert_none(&broken);
}

#[test]
fn declarations_are_recognised() {
    let lines = [
        ("pub(crate) struct Frame {", Some("Frame")),
        ("pub unsafe trait Plain: Copy {", Some("Plain")),
        ("type Table<T> = Vec<T>;", Some("Table")),
        ("    type Output = u8;", None),
        ("    enum Inner {", Some("Inner")),
        ("let x = 1;", None),
    ];
    for (line, name) in lines {
        assert_eq!(declared(line), name, "{line}");
    }
}
