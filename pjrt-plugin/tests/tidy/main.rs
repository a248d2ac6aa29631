//! The rules of the house.
#![expect(clippy::disallowed_methods, reason = "the environment says whether to rewrite pages")]
#![expect(clippy::unwrap_used, reason = "a test may stop anywhere")]

mod circles;
mod operation_names;
mod tuning;
mod type_names;
mod walls;

use pjrt_tpu_emu::api::{ROWS, RowState};
use pjrt_tpu_emu::libtpu::symbols::{self as libtpu, SYMBOLS};
use std::env::var_os;
use std::fmt::Write;
use std::fs::{read_dir, read_to_string, write};
use std::path::{Path, PathBuf};
use tpu_host::env::{TPU_VARIABLES, VARIABLES};
use walls::{WALLS, Wall};

/// The folders with code of the library.
const SOURCES: &[&str] = &[
    "proto/src",
    "tpu-emu/base/src",
    "tpu-emu/kernels/src",
    "tpu-emu/layout/src",
    "tpu-emu/ops/src",
    "tpu-emu/program/src",
    "tpu-emu/topology/src",
    "tpu-emu/src",
    "tpu-emu/host/src",
    "pjrt-plugin/src",
    "libtpu-abi/src",
];
/// The folders with any code of ours.
const ALL: &[&str] = &["proto", "tpu-emu", "pjrt-plugin", "libtpu-abi"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The Rust files of folders, or one file, by their path from the root, sorted.
fn files(folders: &[&str]) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut open: Vec<String> = folders.iter().map(|&folder| folder.to_owned()).collect();
    while let Some(name) = open.pop() {
        let path = root().join(&name);
        if name.ends_with(".rs") {
            found.push((name, read_to_string(path).unwrap()));
        } else if path.is_dir() && !name.ends_with("/target") {
            let inside = read_dir(path).unwrap().map(|entry| entry.unwrap().file_name());
            open.extend(inside.map(|file| format!("{name}/{}", file.to_str().unwrap())));
        }
    }
    found.sort();
    found
}

/// The lines of code, by number from 1: no comments, and no unit tests, which stand at the foot.
fn code(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let tests = text.lines().zip(text.lines().skip(1)).position(|(line, next)| {
        line.trim() == "#[cfg(test)]" && next.starts_with("mod ") && next.ends_with('{')
    });
    let lines = text.lines().take(tests.unwrap_or(usize::MAX));
    (1..).zip(lines.map(|line| line.split("//").next().unwrap_or_default()))
}

/// Whether `line` names `word`, not as a part of a longer name.
fn names(line: &str, word: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let starts = word.starts_with(is_part);
    let ends = word.ends_with(is_part) && !word.ends_with('_');
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].chars().next_back().is_some_and(is_part);
        let after = line[at + word.len()..].chars().next().is_some_and(is_part);
        !(starts && before || ends && after)
    })
}

/// Fails with one line for every broken place.
#[track_caller]
fn assert_none(broken: &[String]) {
    assert!(broken.is_empty(), "\n{}", broken.join("\n"));
}

#[test]
fn the_walls_hold() {
    let mut broken = Vec::new();
    for Wall { inside, never, except } in WALLS {
        for (name, text) in files(inside) {
            if except.iter().any(|file| name.ends_with(&format!("/{file}"))) {
                continue;
            }
            for (number, line) in code(&text) {
                let named = never.iter().filter(|word| names(line, word));
                broken.extend(named.map(|word| format!("{name}:{number} names {word}")));
            }
        }
    }
    assert_none(&broken);
}

#[test]
fn the_walls_stand_around_code_that_is_there() {
    for wall in WALLS {
        for &folder in wall.inside {
            assert!(!files(&[folder]).is_empty(), "{folder}");
        }
    }
}

#[test]
fn a_file_has_at_most_500_lines_unless_it_says_why() {
    let mut broken = Vec::new();
    for (name, text) in files(ALL) {
        let count = text.lines().count();
        let comments = text.lines().take(10).filter(|line| line.trim().starts_with("//"));
        let excused = comments.into_iter().any(|line| line.contains("500"));
        let generated = text.lines().take(10).any(|line| line.contains("Generated"));
        if count > 500 && !excused && !generated {
            broken.push(format!("{name} has {count} lines"));
        }
    }
    assert_none(&broken);
}

#[test]
fn every_file_is_a_module_of_its_folder() {
    let mut broken = Vec::new();
    for (name, _) in files(&[SOURCES, &["tpu-emu/stablehlo/src", "tpu-emu/hlo/src"]].concat()) {
        let (folder, file) = name.rsplit_once('/').unwrap();
        let module = file.trim_end_matches(".rs");
        let root_of_crate = folder.ends_with("/src") && matches!(module, "lib" | "main");
        let elsewhere = ["/bin", "/generated"].iter().any(|end| folder.ends_with(end));
        if root_of_crate || elsewhere || module == "mod" {
            continue;
        }
        let parents = ["/mod.rs", "/lib.rs", "/main.rs", ".rs"].map(|end| format!("{folder}{end}"));
        let listed = parents.iter().filter_map(|file| read_to_string(root().join(file)).ok()).any(
            |parent| {
                parent.lines().any(|line| {
                    let line = line.trim().trim_end_matches([';', ',']);
                    let word = line.rsplit(' ').next().unwrap_or_default();
                    // A plain `mod name;`: rustfmt does not follow what a macro declares.
                    let named = names(line, "mod");
                    // `#[path = "folder/name.rs"]`, for one of several files of a module.
                    let path =
                        line.strip_prefix("#[path = \"").and_then(|of| of.strip_suffix("\"]"));
                    let path = path.map(|of| of.rsplit('/').next().unwrap_or_default());
                    named && word.trim_start_matches("r#") == module || path == Some(file)
                })
            },
        );
        if !listed {
            broken.push(format!("{name} is in no module"));
        }
    }
    assert_none(&broken);
}

#[test]
fn unsafe_code_lives_in_files_that_say_so() {
    let mut broken = Vec::new();
    for (name, text) in files(SOURCES) {
        let generated = text.lines().take(10).any(|line| line.contains("Generated"));
        let says = text.lines().any(|line| line.trim().starts_with("// UNSAFETY:"));
        let first = code(&text).find(|(_, line)| names(line, "unsafe"));
        match first {
            Some((number, _)) if !says && !generated => {
                broken.push(format!("{name}:{number} is unsafe without an UNSAFETY line"));
            }
            None if says => broken.push(format!("{name} says UNSAFETY and is safe")),
            _ => {}
        }
    }
    assert_none(&broken);
}

#[test]
fn every_function_of_the_table_says_what_it_does() {
    let mut broken = Vec::new();
    for (name, text) in files(&["pjrt-plugin/src/api"]) {
        let mut before = "";
        for line in text.lines().map(str::trim) {
            let is_function = line.starts_with("pub(super)") || line.starts_with("pub(in ");
            if is_function
                && line.contains("fn ")
                && !line.contains("fn $")
                && !before.starts_with("///")
            {
                broken.push(format!("{name}: {line}"));
            }
            // Attributes stand between the words and the function.
            if !line.starts_with("#[") {
                before = line;
            }
        }
    }
    assert_none(&broken);
}

/// How no first sentence begins: it would say nothing to a reader who sees it alone.
const BEGINNINGS: &[&str] = &[
    "The same.",
    "The same,",
    "The same;",
    "The same:",
    "The same as ",
    "The same for ",
    "The same from ",
    "The same in ",
    "The same of ",
    "The same on ",
    "The same to ",
    "The same where ",
    "The same with ",
    "The same without ",
    "Likewise",
    "As above",
    "As before",
    "Ditto",
    "Its ",
    "Their ",
    "None.",
];

#[test]
fn first_sentences_can_be_read_alone() {
    let mut broken = Vec::new();
    for (name, text) in files(ALL) {
        let mut before = "";
        for (number, line) in (1..).zip(text.lines().map(str::trim)) {
            let begins = line.strip_prefix("/// ").filter(|_| !before.starts_with("///"));
            if let Some(words) = begins
                && !name.contains("/generated/")
                && BEGINNINGS.iter().any(|beginning| words.starts_with(beginning))
            {
                broken.push(format!("{name}:{number}: {words}"));
            }
            before = line;
        }
    }
    assert_none(&broken);
}

#[test]
fn every_function_that_libtpu_exports_is_a_call_with_its_name() {
    let mut broken = Vec::new();
    for (name, text) in files(&["libtpu-abi/src"]) {
        for function in text.split("#[unsafe(no_mangle)]\n").skip(1) {
            let (_, rest) = function.split_once("extern \"C\" fn ").unwrap();
            let symbol = rest.split('(').next().unwrap_or_default();
            if !symbol.starts_with('$') && !text.contains(&format!("\"{symbol}\"")) {
                broken.push(format!("{name}: {symbol}"));
            }
        }
    }
    assert_none(&broken);
}

#[test]
fn nothing_is_left_for_later() {
    let words = [concat!("to", "do!"), concat!("un", "implemented!"), concat!("#[", "ignore")];
    let mut broken = Vec::new();
    for (name, text) in files(ALL) {
        for (number, line) in (1..).zip(text.lines()) {
            let named = words.iter().filter(|word| line.contains(*word));
            broken.extend(named.map(|word| format!("{name}:{number} has {word}")));
        }
    }
    assert_none(&broken);
}

#[test]
fn tests_are_named_by_sentences() {
    let mut broken = Vec::new();
    for (name, text) in files(ALL) {
        let mut is_test = false;
        for line in text.lines().map(str::trim) {
            if is_test && let Some(rest) = line.strip_prefix("fn ") {
                let test = rest.split('(').next().unwrap_or_default();
                if test.split('_').count() < 3 || test.starts_with("test_") {
                    broken.push(format!("{name}: {test}"));
                }
            }
            is_test = line == "#[test]" || is_test && line.starts_with('#');
        }
    }
    assert_none(&broken);
}

#[test]
fn the_rows_are_the_functions_of_the_header_in_its_order() {
    let header = read_to_string(root().join("pjrt-plugin/sys/include/pjrt_c_api.h")).unwrap();
    let (_, table) = header.split_once("struct PJRT_Api {").unwrap();
    let (table, _) = table.split_once("\n}").unwrap();
    let fields = table.lines().filter_map(|line| line.split_once("(*PJRT_"));
    let names: Vec<String> = fields
        .map(|(_, rest)| format!("PJRT_{}", rest.split(')').next().unwrap_or_default()))
        .collect();
    assert_eq!(names, ROWS.iter().map(|row| row.name).collect::<Vec<_>>());
}

/// Compares a page with what the code says, or with `UPDATE` rewrites it.
#[track_caller]
fn assert_page(name: &str, fresh: &str) {
    let path = root().join(name);
    if var_os("UPDATE").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        write(&path, fresh).unwrap();
    }
    let there = read_to_string(&path).unwrap_or_default();
    assert!(there == fresh, "{name} is stale: UPDATE=1 cargo test -p pjrt-plugin --test tidy");
}

#[test]
fn the_page_of_functions_is_current() {
    let done = ROWS.iter().filter(|row| row.state == RowState::Done).count();
    let (all, missing) = (ROWS.len(), ROWS.len() - done);
    let mut page = format!(
        "# The PJRT C API\n\n\
         Generated from the table in `pjrt-plugin/src/api/mod.rs`; never edited: \
         `UPDATE=1 cargo test -p pjrt-plugin --test tidy`.\n\n\
         Of {all} functions, {done} work as the header says.\n\
         The other {missing} answer `UNIMPLEMENTED` with their own name.\n\n\
         | function | state |\n|---|---|\n"
    );
    for row in ROWS {
        let state = match row.state {
            RowState::Done => "done",
            RowState::Missing => "unimplemented",
        };
        writeln!(page, "| `{}` | {state} |", row.name).unwrap();
    }
    assert_page("docs/abi/pjrt.md", &page);
}

#[test]
fn the_page_of_libtpus_functions_is_current() {
    let done = SYMBOLS.iter().filter(|symbol| symbol.state == libtpu::SymbolState::Done).count();
    let (all, refused) = (SYMBOLS.len(), SYMBOLS.len() - done);
    let mut page = format!(
        "# The libtpu C API\n\n\
         Generated from the list in `libtpu-abi/src/symbols.rs`; never edited: \
         `UPDATE=1 cargo test -p pjrt-plugin --test tidy`.\n\n\
         Of {all} functions, {done} do what the headers say, as far as an emulator can.\n\
         The other {refused} answer `UNIMPLEMENTED` with their own name, or, where the signature \
         has no status, the value that means failure and a line on standard error.\n\n\
         | function | state |\n|---|---|\n"
    );
    for symbol in SYMBOLS {
        let state = match symbol.state {
            libtpu::SymbolState::Done => "done",
            libtpu::SymbolState::Refused => "refused",
        };
        writeln!(page, "| `{}` | {state} |", symbol.name).unwrap();
    }
    assert_page("docs/abi/libtpu.md", &page);
}

#[test]
fn the_page_of_operations_is_current() {
    let mut operations: Vec<&str> = tpu_emu::ops::entries().map(|entry| entry.mnemonic).collect();
    let structural: Vec<&str> = tpu_emu::ops::STRUCTURAL.iter().map(|&(name, _)| name).collect();
    let mut targets: Vec<&str> = tpu_emu::ops::custom::targets().collect();
    operations.sort_unstable();
    targets.sort_unstable();
    let list =
        |names: &[&str]| -> String { names.iter().map(|name| format!("* `{name}`\n")).collect() };
    let page = format!(
        "# Operations\n\n\
         Generated from the tables in `tpu-emu/ops/src`; never edited: \
         `UPDATE=1 cargo test -p pjrt-plugin --test tidy`.\n\n\
         Every other operation and target is refused when a program is compiled, all of them at \
         once, each with its source line.\n\n\
         ## Operations\n\n\
         Names of StableHLO and CHLO without the dialect, of others with it.\n\n\
         {}\n## Operations that the compiler takes apart itself\n\n\
         {}\n## Targets of custom calls\n\n{}",
        list(&operations),
        list(&structural),
        list(&targets)
    );
    assert_page("docs/ops-status.md", &page);
}

#[test]
fn the_page_of_numerics_is_current() {
    // The table stands between two marks; around it the page is written by hand.
    const BEGIN: &str = "<!-- functions -->\n";
    const END: &str = "<!-- end of functions -->\n";
    let there = read_to_string(root().join("docs/numerics.md")).unwrap_or_default();
    let before = there.split_once(BEGIN).map_or("# Numerics\n\n", |(before, _)| before);
    let after = there.split_once(END).map_or("", |(_, after)| after);
    let mut table = "Generated from the operations' rows in `tpu-emu/ops/src`; never edited: \
         `UPDATE=1 cargo test -p pjrt-plugin --test tidy`.\n\n\
         How many units in the last place a result of single precision is off at most; a test \
         beside the functions compares numbers of the whole range with double precision.\n\
         Shorter floats are computed in single precision and rounded once more.\n\
         Results do not depend on the vectors of the machine or on the number of threads.\n\n\
         | function | units |\n|---|---|\n"
        .to_owned();
    for entry in tpu_emu::ops::entries() {
        if let Some(units) = entry.ulps {
            writeln!(table, "| `{}` | {units} |", entry.mnemonic).unwrap();
        }
    }
    let page = format!("{before}{BEGIN}{table}{END}{after}");
    assert_page("docs/numerics.md", &page);
}

#[test]
fn the_page_of_the_environment_is_current() {
    let mut page = "# Environment variables\n\n\
         Generated from the rows in `tpu-emu/host/src/env/variables.rs`; never edited: \
         `UPDATE=1 cargo test -p pjrt-plugin --test tidy`.\n\n\
         They are read once, when the plugin is initialised.\n\
         A variable that begins with `TPU_EMU_` and is none of these is an error.\n"
        .to_owned();
    for variable in VARIABLES {
        let values = variable.values.split_whitespace().collect::<Vec<_>>().join(" ");
        let effect = variable.effect.split_whitespace().collect::<Vec<_>>().join(" ");
        write!(
            page,
            "\n## `{}`\n\n{effect}\n\n* Values: {values}\n* Default: {}\n",
            variable.name, variable.default
        )
        .unwrap();
    }
    page += "\n# Variables of TPU users\n\n\
         What chooses a part of a host, or plays a host of a slice, on real TPUs does so here.\n\
         Variables that begin with `TPU_EMU_` count before these.\n\
         An empty value is none, and values that contradict each other are an error.\n";
    for variable in TPU_VARIABLES {
        let values = variable.values.split_whitespace().collect::<Vec<_>>().join(" ");
        let effect = variable.effect.split_whitespace().collect::<Vec<_>>().join(" ");
        let names = variable.names.join("`, `");
        write!(page, "\n## `{names}`\n\n{effect}\n\n* Values: {values}\n").unwrap();
    }
    assert_page("docs/environment.md", &page);
    // Readers of the guide have no other pages of ours.
    assert_page("docs/guide/variables.md", &page);
}

#[test]
fn every_table_of_handles_has_a_kind_of_its_own() {
    let mut kinds = Vec::new();
    for (_, text) in files(&["pjrt-plugin/src", "libtpu-abi/src"]) {
        for (_, line) in code(&text) {
            let Some((_, new)) = line.split_once("Table::new(") else { continue };
            let kind = new.split_once(", ").and_then(|(_, kind)| kind.split(')').next());
            kinds.push(kind.unwrap().parse::<u8>().unwrap());
        }
    }
    let count = kinds.len();
    kinds.sort_unstable();
    kinds.dedup();
    assert!(count > 10);
    assert_eq!(kinds.len(), count, "{kinds:?}");
}
