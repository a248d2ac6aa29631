//! The list of exported functions against what the clients look up and what the code refuses.
#![expect(clippy::unwrap_used, reason = "a test may stop anywhere")]

use libtpu_abi::symbols::{SYMBOLS, SymbolState};
use std::collections::BTreeSet;
use std::fs::{read_dir, read_to_string};
use std::path::{Path, PathBuf};

/// The names that clients look up, by client.
const CLIENTS: &[(&str, &str, usize)] = &[
    ("jaxlib 0.4.13", include_str!("data/symbols-jaxlib-0.4.13.txt"), 224),
    ("tensorflow-tpu 2.16.1", include_str!("data/symbols-tf-tpu-2.16.1.txt"), 219),
    ("tensorflow-tpu 2.20.0", include_str!("data/symbols-tf-tpu-2.20.0.txt"), 213),
    ("a mock of 2021", include_str!("data/symbols-mock-2021.txt"), 207),
    ("TensorFlow 2.7.0", include_str!("data/symbols-tf-2.7.0.txt"), 210),
    ("TpuDriver", include_str!("data/symbols-tpu-driver.txt"), 29),
];

fn names(list: &str) -> impl Iterator<Item = &str> {
    list.lines().filter(|line| !line.starts_with('#'))
}

#[test]
fn the_list_is_what_the_clients_look_up() {
    let mut all = BTreeSet::new();
    for &(client, list, count) in CLIENTS {
        assert_eq!(names(list).count(), count, "{client}");
        all.extend(names(list));
    }
    let listed: Vec<&str> = SYMBOLS.iter().map(|symbol| symbol.name).collect();
    assert_eq!(listed, all.into_iter().collect::<Vec<_>>());
}

/// The Rust files of this crate.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|end| end == "rs") {
            found.push(path);
        }
    }
}

/// The listed function that a line begins to define, alone or in a macro.
fn defined(line: &str) -> Option<&'static str> {
    let start = line.split_once(" fn ").map_or(line.trim_start(), |(_, name)| name);
    let end = start.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(start.len());
    SYMBOLS.iter().map(|symbol| symbol.name).find(|&name| name == &start[..end])
}

/// The functions that a file refuses: those in a `refused!`, and those whose words begin so.
fn refused_in(text: &str, found: &mut BTreeSet<&'static str>) {
    let (mut in_macro, mut says) = (false, false);
    for line in text.lines() {
        in_macro = line == "refused! {" || in_macro && line != "}";
        says |= line.trim_start().starts_with("/// Refused");
        if let Some(name) = defined(line) {
            if in_macro || says {
                found.insert(name);
            }
            says = false;
        }
    }
}

#[test]
fn what_the_code_refuses_is_listed_as_refused() {
    let mut files = Vec::new();
    sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut files);
    let mut refused = BTreeSet::new();
    for file in files.iter().filter(|file| !file.ends_with("lib.rs")) {
        refused_in(&read_to_string(file).unwrap(), &mut refused);
    }
    let listed: Vec<&str> = SYMBOLS
        .iter()
        .filter(|symbol| symbol.state == SymbolState::Refused)
        .map(|symbol| symbol.name)
        .collect();
    assert_eq!(listed, refused.into_iter().collect::<Vec<_>>());
}
