//! Whether a program would run on the emulated TPU here, and what mends it where it would not.
use crate::paint::Paint;
use crate::text::{json, one_line};
use clap::Args;
use serde::Serialize;
use std::path::PathBuf;

mod checks;
mod python;

/// The oldest JAX that is tested, and the newest.
const OLDEST: [u64; 3] = [0, 4, 38];
const NEWEST: [u64; 3] = [0, 12, 0];

/// Looks at Python, JAX, the library, the environment and the machine, and tries a program.
#[derive(Debug, Args)]
pub(crate) struct Doctor {
    /// The Python that is looked at, if not the one beside this command or on the path.
    #[arg(long, value_name = "PROGRAM")]
    python: Option<PathBuf>,
    /// Prints the findings as JSON, for programs.
    #[arg(long)]
    json: bool,
}

/// How a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
enum State {
    Good,
    Doubtful,
    Bad,
}

/// One thing that was looked at.
#[derive(Debug, Serialize)]
struct Finding {
    /// As `jaxlib`.
    about: &'static str,
    state: State,
    /// What is there.
    found: String,
    /// A command or a sentence that mends it.
    mend: Option<String>,
}

impl Finding {
    fn good(about: &'static str, found: String) -> Self {
        Self { about, state: State::Good, found, mend: None }
    }

    fn doubtful(about: &'static str, found: String, mend: impl Into<String>) -> Self {
        Self { about, state: State::Doubtful, found, mend: Some(mend.into()) }
    }

    fn bad(about: &'static str, found: String, mend: impl Into<String>) -> Self {
        Self { about, state: State::Bad, found, mend: Some(mend.into()) }
    }
}

impl Doctor {
    /// The findings, and whether a program would run.
    pub(crate) fn look(&self, paint: &Paint) -> (String, bool) {
        let findings = checks::all(self.python.as_deref());
        let is_well = findings.iter().all(|finding| finding.state != State::Bad);
        match self.json {
            true => (json(&findings), is_well),
            false => (text(&findings, paint, is_well), is_well),
        }
    }
}

fn text(findings: &[Finding], paint: &Paint, is_well: bool) -> String {
    let mut text = String::new();
    for Finding { about, state, found, mend } in findings {
        let state = match state {
            State::Good => paint.good("ok   "),
            State::Doubtful => paint.doubtful("look "),
            State::Bad => paint.bad("wrong"),
        };
        text += &format!("{state}  {about:<12} {}\n", one_line(found));
        if let Some(mend) = mend {
            text += &format!("                    → {}\n", one_line(mend));
        }
    }
    text += match is_well {
        true => "Programs run: tpu-emu run SCRIPT\n",
        false => "Programs do not run yet.\n",
    };
    text
}

/// The numbers of a version.
fn numbers(version: &str) -> Vec<u64> {
    let digits = |part: &str| part.chars().take_while(char::is_ascii_digit).collect::<String>();
    version.split('.').map_while(|part| digits(part).parse().ok()).collect()
}

/// Whether a JAX is older than what is tested.
pub(crate) fn is_too_old(version: &str) -> bool {
    numbers(version)[..] < OLDEST[..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_by_their_numbers() {
        let old = ["0.4.13", "0.4.37.dev1", "0.3"];
        assert!(old.iter().all(|version| is_too_old(version)));
        let fine = ["0.4.38", "0.10.2", "0.12.0.1", "1.0"];
        assert!(!fine.iter().any(|version| is_too_old(version)));
        assert!(numbers("0.12.1")[..3] > NEWEST[..] && numbers("0.12.0.1")[..3] == NEWEST[..]);
    }

    #[test]
    fn what_is_wrong_stands_with_what_mends_it() {
        let findings = [
            Finding::good("Python", "3.11".to_owned()),
            Finding::bad("JAX", "not\ninstalled".to_owned(), "pip install jax"),
        ];
        let text = text(&findings, &Paint::plain(), false);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[1], "wrong  JAX          not installed");
        assert_eq!(lines[2].trim(), "→ pip install jax");
        assert_eq!(lines[3], "Programs do not run yet.");
    }
}
