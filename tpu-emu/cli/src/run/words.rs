//! Which words of a command line are for `run`, and which for the program.
use std::ffi::{OsStr, OsString};

/// Options of `run` that take a value, and stand before or behind the script.
pub(crate) const OPTIONS: [&str; 7] =
    ["--topology", "--hbm", "--trace", "--report", "--json", "--limit", "--python"];

/// What kind of program the words name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub(crate) enum Kind {
    /// A file of Python.
    #[default]
    Script,
    /// A module of Python.
    Module,
    /// Any program.
    Command,
}

/// The command line with the options of `run` first, and the program behind `--`, for clap.
///
/// Options of `run` may stand behind the script, up to a `--`, which then hands on all that follows.
/// Behind a leading `--` all words are those of a command.
pub(crate) fn sorted(words: Vec<OsString>) -> Vec<OsString> {
    let is_run = words.get(1).is_some_and(|word| word == "run");
    if !is_run {
        return words;
    }
    let mut words = words.into_iter();
    let mut ours: Vec<OsString> = words.by_ref().take(2).collect();
    let mut program: Vec<OsString> = Vec::new();
    let mut kind = None;
    while let Some(word) = words.next() {
        if word == "--" {
            kind.get_or_insert(Kind::Command);
            program.extend(words.by_ref());
        } else if let Some(has_value) = option(&word) {
            ours.push(word);
            ours.extend(words.by_ref().take(usize::from(!has_value)));
        } else if kind.is_none() && word == "-m" {
            kind = Some(Kind::Module);
            program.extend(words.by_ref().take(1));
        } else if kind.is_some() {
            program.push(word);
        } else if word.as_encoded_bytes().starts_with(b"-") && word != "-" {
            // clap says what it is, or that it is nothing.
            ours.push(word);
        } else {
            kind = Some(Kind::Script);
            program.push(word);
        }
    }
    if let Some(kind) = kind {
        let name = match kind {
            Kind::Script => "script",
            Kind::Module => "module",
            Kind::Command => "command",
        };
        ours.extend(["--kind", name, "--"].map(OsString::from));
        ours.append(&mut program);
    }
    ours
}

/// Whether a word is an option of `run`, and has its value in it.
fn option(word: &OsStr) -> Option<bool> {
    let word = word.to_str()?;
    OPTIONS.iter().find_map(|option| match word.strip_prefix(option)? {
        "" => Some(false),
        rest => rest.starts_with('=').then_some(true),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(line: &str) -> String {
        let words = sorted(line.split(' ').map(OsString::from).collect());
        words.iter().map(|word| word.to_str().unwrap()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn options_of_run_may_stand_behind_the_script() {
        let told = "t run --report r.html --hbm=1GiB --kind script -- train.py --steps 3";
        assert_eq!(split("t run train.py --report r.html --steps 3 --hbm=1GiB"), told);
        assert_eq!(split("t run --report r.html --hbm=1GiB train.py --steps 3"), told);
    }

    #[test]
    fn words_behind_two_dashes_are_the_program_s() {
        assert_eq!(
            split("t run --hbm 1GiB a.py -- --hbm 2GiB"),
            "t run --hbm 1GiB --kind script -- a.py --hbm 2GiB"
        );
        assert_eq!(
            split("t run -- make -C x --trace"),
            "t run --kind command -- make -C x --trace"
        );
        assert_eq!(
            split("t run -m pytest -q --report r.html"),
            "t run --report r.html --kind module -- pytest -q"
        );
    }

    #[test]
    fn what_is_no_program_is_left_to_clap() {
        for line in ["t run", "t run --help", "t run --hbm", "t summary --trace x"] {
            assert_eq!(split(line), line);
        }
        assert_eq!(split("t run --wrong a.py"), "t run --wrong --kind script -- a.py");
    }
}
