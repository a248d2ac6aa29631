//! Damages programs and sees that each is refused or runs, in a child process that may die of it.
//!
//! `fuzz SECONDS [SEED] [PLANTED]` goes on for so long and ends with an error if anything was
//! found; `fuzz one FILE SEED REPLICAS PARTITIONS` repeats one program. What is found lies in
//! `target/fuzz/found`, with a text that says what happened and how to repeat it.
//! `fuzz seeds FOLDER` writes what the fuzzers of the readers begin with.
#![expect(clippy::print_stderr, clippy::print_stdout, reason = "a command for people and CI")]
#![expect(clippy::disallowed_methods, reason = "a command has a clock and waits")]

mod child;
mod parent;

use std::fs::{create_dir_all, write};
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use tpu_fuzz::readers::READERS;
use tpu_fuzz::seeds;

/// Where what is found lies, or another part of what a run leaves.
pub(crate) fn folder(part: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../target/fuzz").join(part)
}

/// Writes the seeds of every reader to a folder of its name.
fn write_seeds(folder: &Path) -> io::Result<()> {
    for (name, _) in READERS {
        let folder = folder.join(name);
        create_dir_all(&folder)?;
        for (number, seed) in seeds::of_reader(name)?.iter().enumerate() {
            write(folder.join(number.to_string()), seed)?;
        }
    }
    Ok(())
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let number =
        |at: usize, otherwise: u64| words.get(at).map_or(Some(otherwise), |word| word.parse().ok());
    let done = match (words.first(), number(1, 1)) {
        (Some(&"child"), Some(seed)) => child::work(seed, number(2, 0), words.get(3).copied()),
        (Some(&"one"), _) => child::one(&words[1..]),
        (Some(&"seeds"), _) => match words.get(1) {
            Some(folder) => write_seeds(Path::new(folder)).map_err(|why| why.to_string()),
            None => Err("usage: fuzz seeds FOLDER".to_owned()),
        },
        _ => match (number(0, 60), number(1, 1)) {
            (Some(seconds), Some(seed)) => parent::watch(seconds, seed, words.get(2).copied()),
            _ => Err("usage: fuzz SECONDS [SEED] [PLANTED] | fuzz one FILE …".to_owned()),
        },
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}
