//! Rooms that need one another are one room, and so are files: who imports whom, from the code.
use super::walls::MACHINE;
use super::{assert_none, files};
use std::collections::{BTreeMap, BTreeSet};

/// The most files that may need one another.
const CIRCLE: usize = 5;

/// A path of names: a module's place in its crate, or what code says.
type Names = Vec<String>;

/// What one file says of others.
#[derive(Default)]
struct Source {
    /// The names that `use` brings in, with what they stand for.
    brought: BTreeMap<String, Names>,
    /// The paths that the code needs.
    paths: Vec<Names>,
}

/// The words of code, without comments, texts and lifetimes.
fn words(text: &str) -> Vec<&str> {
    let part = |letter: char| letter.is_alphanumeric() || letter == '_';
    let (mut found, mut rest) = (Vec::new(), text);
    let after = |end: &str, rest: &str| rest.find(end).map_or(rest.len(), |at| at + end.len());
    while let Some(first) = rest.chars().next() {
        let quoted = rest.trim_start_matches(['b', 'c', 'r']);
        let hashes = quoted.len() - quoted.trim_start_matches('#').len();
        let raw = rest.len() > quoted.len() && rest[..rest.len() - quoted.len()].ends_with('r');
        let length = if rest.starts_with("//") {
            after("\n", rest)
        } else if rest.starts_with("/*") {
            after("*/", rest)
        } else if raw && quoted[hashes..].starts_with('"') {
            let end = format!("\"{}", "#".repeat(hashes));
            let start = rest.len() - quoted.len() + hashes + 1;
            rest[start..].find(&end).map_or(rest.len(), |at| start + at + end.len())
        } else if first == '"' {
            let mut escaped = false;
            let end = rest[1..].find(|letter| {
                let ends = letter == '"' && !escaped;
                escaped = letter == '\\' && !escaped;
                ends
            });
            end.map_or(rest.len(), |at| at + 2)
        } else if first == '\'' {
            let mut letters = rest[1..].char_indices();
            match (letters.next(), letters.next()) {
                (Some((_, '\\')), Some((at, _))) => {
                    let from = at + 2;
                    rest[from..].find('\'').map_or(rest.len(), |end| from + end + 1)
                }
                (Some(_), Some((at, '\''))) => at + 2,
                _ => 1,
            }
        } else if part(first) {
            let length = rest.find(|letter| !part(letter)).unwrap_or(rest.len());
            found.push(&rest[..length]);
            length
        } else if rest.starts_with("::") {
            found.push("::");
            2
        } else {
            if !first.is_whitespace() {
                found.push(&rest[..first.len_utf8()]);
            }
            first.len_utf8()
        };
        rest = &rest[length..];
    }
    found
}

/// The place behind the bracket that closes the one at `open`.
fn behind(words: &[&str], open: usize) -> usize {
    let mut depth = 0_usize;
    for (at, word) in words.iter().enumerate().skip(open) {
        match *word {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return at + 1;
        }
    }
    words.len()
}

/// The words without what only tests have, and the modules among that.
fn built<'a>(words: &[&'a str]) -> (Vec<&'a str>, Vec<&'a str>) {
    let (mut kept, mut tests, mut at) = (Vec::new(), Vec::new(), 0);
    while at < words.len() {
        let attribute = words[at..].starts_with(&["#", "[", "cfg", "("]);
        let end = if attribute { behind(words, at + 1) } else { at };
        let inside = &words[at..end];
        if !inside.contains(&"test") || inside.contains(&"not") {
            let end = end.max(at + 1);
            kept.extend(&words[at..end]);
            at = end;
            continue;
        }
        at = end;
        while at < words.len() && words[at] != ";" && words[at] != "{" {
            if let ["mod", name, ";"] = words[at..(at + 3).min(words.len())] {
                tests.push(name);
            }
            at = if matches!(words[at], "(" | "[") { behind(words, at) } else { at + 1 };
        }
        at = if words.get(at) == Some(&"{") { behind(words, at) } else { at + 1 };
    }
    (kept, tests)
}

/// Reads the tree of a `use` from `at` on: each leaf with the name that it brings; gives the
/// place behind it.
fn tree(words: &[&str], at: usize, before: &Names, leaves: &mut Vec<(String, Names)>) -> usize {
    let (mut at, mut path) = (at, before.clone());
    loop {
        match words.get(at) {
            Some(&"{") => {
                let end = behind(words, at);
                at += 1;
                while at + 1 < end {
                    at = tree(words, at, &path, leaves);
                    at += usize::from(words.get(at) == Some(&","));
                }
                return end;
            }
            Some(&"::") => at += 1,
            Some(&"as") => {
                leaves.push((words[at + 1].to_owned(), path));
                return at + 2;
            }
            Some(&"self") if !path.is_empty() => at += 1,
            Some(&word) if word != "," && word != "}" && word != ";" => {
                path.push(word.to_owned());
                at += 1;
            }
            _ => {
                let name = path.last().cloned().unwrap_or_default();
                leaves.push((name, path));
                return at;
            }
        }
    }
}

impl Source {
    fn new(words: &[&str]) -> Self {
        let mut source = Self::default();
        let (mut at, mut public) = (0, false);
        let mut again = Vec::new();
        while at < words.len() {
            let word = words[at];
            if word == "use" {
                let mut leaves = Vec::new();
                let start = at + 1 + usize::from(words.get(at + 1) == Some(&"::"));
                at = tree(words, start, &Names::new(), &mut leaves);
                for (name, path) in leaves {
                    // What is only handed on is no need of this file's.
                    if public {
                        again.push((name.clone(), path.clone()))
                    } else {
                        source.paths.push(path.clone())
                    }
                    source.brought.insert(name, path);
                }
                continue;
            }
            public =
                word == "pub" || public && matches!(word, "(" | ")" | "crate" | "super" | "in");
            let is_name = word.starts_with(|letter: char| letter.is_alphabetic() || letter == '_');
            let begins = at == 0 || words[at - 1] != "::";
            if is_name && begins {
                let mut path = vec![word.to_owned()];
                while let ["::", next, ..] = words[at + 1..] {
                    if !next.starts_with(|letter: char| letter.is_alphabetic() || letter == '_') {
                        break;
                    }
                    path.push(next.to_owned());
                    at += 2;
                }
                source.paths.push(path);
            }
            at += 1;
        }
        let said: BTreeSet<&String> = source.paths.iter().filter_map(|path| path.first()).collect();
        let used = again.into_iter().filter(|(name, _)| said.contains(name));
        let used: Vec<Names> = used.map(|(_, path)| path).collect();
        source.paths.extend(used);
        source
    }
}

/// A crate's modules, by their places; the root has none.
struct Modules(BTreeMap<Names, Source>);

impl Modules {
    fn of(folder: &str, texts: &[(String, String)]) -> Self {
        let place = |name: &str| -> Names {
            let name = name.trim_start_matches(folder).trim_matches('/').trim_end_matches(".rs");
            name.split('/')
                .filter(|part| !matches!(*part, "mod" | "lib"))
                .map(str::to_owned)
                .collect()
        };
        let (mut modules, mut tests) = (BTreeMap::new(), Vec::new());
        for (name, text) in texts {
            let (place, all) = (place(name), words(text));
            let (kept, hidden) = built(&all);
            tests.extend(hidden.iter().map(|&name| [&place[..], &[name.to_owned()]].concat()));
            modules.insert(place, Source::new(&kept));
        }
        modules.retain(|place, _| !tests.iter().any(|test| place.starts_with(test)));
        Self(modules)
    }

    /// The file that has what a module's path names; `None` for another crate's.
    fn home(&self, module: &Names, path: &Names, depth: usize) -> Option<Names> {
        let mut at = module.clone();
        let mut rest = &path[..];
        let mut local = true;
        while let Some((first, after)) = rest.split_first() {
            let child = [&at[..], std::slice::from_ref(first)].concat();
            match first.as_str() {
                "crate" => at.clear(),
                "self" => {}
                "super" => drop(at.pop()),
                _ if self.0.contains_key(&child) => at = child,
                name => {
                    // A name that the module has from elsewhere, or its own.
                    let brought = self.0.get(&at).and_then(|source| source.brought.get(name));
                    return match brought {
                        Some(path)
                            if depth < 8 && path.first().map(String::as_str) != Some(name) =>
                        {
                            self.home(&at, path, depth + 1)
                        }
                        _ if local => None,
                        _ => Some(at),
                    };
                }
            }
            (rest, local) = (after, false);
        }
        Some(at)
    }

    /// Which file needs which, by their places; the root, where all meet, has none.
    fn needs(&self) -> BTreeMap<Names, BTreeSet<Names>> {
        let mut needs = BTreeMap::new();
        for (module, source) in &self.0 {
            let homes = source.paths.iter().filter_map(|path| self.home(module, path, 0));
            // What its folder declares for its files is no need of another file.
            let others = homes.filter(|home| !module.starts_with(home));
            if !module.is_empty() {
                needs.insert(module.clone(), others.collect());
            }
        }
        needs
    }
}

/// Sets of two and more that need one another, the largest first.
fn circles<T: Ord + Clone>(needs: &BTreeMap<T, BTreeSet<T>>) -> Vec<Vec<T>> {
    let reached = |from: &T| {
        let (mut seen, mut open) = (BTreeSet::new(), vec![from]);
        while let Some(at) = open.pop() {
            let next = needs.get(at).into_iter().flatten();
            open.extend(next.filter(|&next| seen.insert(next.clone())));
        }
        seen
    };
    let all: BTreeMap<&T, BTreeSet<T>> = needs.keys().map(|at| (at, reached(at))).collect();
    let mut found = BTreeSet::new();
    for (&at, seen) in &all {
        let back = |other: &&T| all.get(other).is_some_and(|seen| seen.contains(at));
        let circle: Vec<T> = seen.iter().filter(back).cloned().collect();
        if circle.len() > 1 {
            found.insert(circle);
        }
    }
    let mut found: Vec<Vec<T>> = found.into_iter().collect();
    found.sort_by_key(|circle| std::cmp::Reverse(circle.len()));
    found
}

/// The rooms' needs, out of the files'.
fn of_rooms(needs: &BTreeMap<Names, BTreeSet<Names>>) -> BTreeMap<Names, BTreeSet<Names>> {
    let mut rooms: BTreeMap<Names, BTreeSet<Names>> = BTreeMap::new();
    for (from, to) in needs {
        let others = to.iter().map(|to| to[..1].to_vec()).filter(|to| to[..] != from[..1]);
        rooms.entry(from[..1].to_vec()).or_default().extend(others);
    }
    rooms
}

/// A circle in words.
fn text(circle: &[Names]) -> String {
    let names: Vec<String> = circle.iter().map(|names| names.join("/")).collect();
    names.join(", ")
}

/// Crates of so few files that these hardly need one another.
const FEW: &[&str] = &["tpu-emu/layout/src", "tpu-emu/placement/src"];

#[test]
fn rooms_and_files_need_one_another_in_no_circle() {
    let mut broken = Vec::new();
    for &folder in MACHINE {
        let needs = Modules::of(folder, &files(&[folder])).needs();
        let least = if FEW.contains(&folder) { 1 } else { 3 };
        let found = needs.values().map(BTreeSet::len).sum::<usize>();
        assert!(found >= least, "{folder} needs too little: what is read here misses most of it");
        let wide = circles(&needs).into_iter().filter(|circle| circle.len() > CIRCLE);
        let found = circles(&of_rooms(&needs)).into_iter().chain(wide);
        broken.extend(found.map(|circle| format!("{folder}: {} need one another", text(&circle))));
    }
    assert_none(&broken);
}

#[test]
fn what_code_needs_is_read_from_it() {
    let lib = "pub mod a; mod b; #[cfg(test)] mod proof;";
    let a = "/// Of [`crate::b::Nothing`].\npub(crate) use deep::{Handed, Used as Known};\npub mod deep;\n\
             fn f(one: Known) -> char { let text = \"crate::b::Text\"; '\\'' }\n\
             #[cfg(test)] mod tests { use crate::b::Thing; }";
    let deep =
        "use super::super::b; pub struct Handed; pub struct Used; fn g() { b::f::<'_>(\"\\\"\") }";
    let b = "#[cfg(not(test))] use crate::{a::{self as other, Handed}, std::sync::Arc};\n\
             use std::fmt; mod inner { use crate::proof::Thing; }";
    let file = |name: &str, text: &str| (format!("x/src/{name}.rs"), text.to_owned());
    let files =
        [file("lib", lib), file("a/mod", a), file("a/deep", deep), file("b", b), file("proof", b)];
    let needs = Modules::of("x/src", &files).needs();
    let needs: Vec<String> = needs
        .iter()
        .map(|(from, to)| {
            let to: Vec<Names> = to.iter().cloned().collect();
            format!("{}: {}", from.join("/"), text(&to))
        })
        .collect();
    assert_eq!(needs, ["a: a/deep", "a/deep: b", "b: a, a/deep"]);
}

#[test]
fn circles_are_found_and_what_only_leads_to_them_is_not_in_them() {
    let needs = [("a", vec!["b"]), ("b", vec!["c"]), ("c", vec!["b"]), ("d", vec!["d"])];
    let needs = needs.map(|(from, to)| (from, to.into_iter().collect::<BTreeSet<_>>()));
    assert_eq!(circles(&BTreeMap::from(needs)), [["b", "c"]]);
}
