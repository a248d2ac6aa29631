//! Thresholds stand together: a `tuning.rs` in each family, with units in their names.
use super::{assert_none, code, files};

/// The crates whose loops and passes are tuned.
const TUNED: &[&str] = &["tpu-emu/kernels/src", "tpu-emu/ops/src", "tpu-emu/program/src"];

/// What a threshold counts: the last word of its name.
const UNITS: &[&str] = &[
    "ADDS",
    "ARRAYS",
    "BLOCKS",
    "BYTES",
    "CALLS",
    "CHUNKS",
    "COLUMNS",
    "COMPONENTS",
    "COUNTERS",
    "DEPTH",
    "DEVICES",
    "ELEMENTS",
    "FEATURES",
    "GROUPS",
    "ITERATIONS",
    "LANES",
    "LOADS",
    "NODES",
    "OFFSETS",
    "OPERANDS",
    "OPERATIONS",
    "OUTPUTS",
    "PARTIALS",
    "PARTS",
    "PLACES",
    "REASONS",
    "REFLECTORS",
    "ROWS",
    "STEPS",
    "SUMS",
    "SWEEPS",
    "WINDOWS",
];

/// Numbers that no one can tune, though they are as large: how many values a byte has.
const FIXED: &[(&str, &str)] = &[("tpu-emu/kernels/src/sort/radix.rs", "VALUES")];

/// The name and the value of a constant that counts something.
fn constant(line: &str) -> Option<(&str, &str)> {
    let (before, rest) = line.split_once("const ")?;
    let (name, rest) = rest.split_once(": usize = ")?;
    let declares = before.trim().is_empty() || before.trim().starts_with("pub");
    (declares && !name.contains(['<', '('])).then_some((name, rest.trim_end_matches(';')))
}

/// A number as it is written: digits, and shifts of digits.
fn number(value: &str) -> Option<usize> {
    let digits = |text: &str| text.trim().replace('_', "").parse::<usize>().ok();
    match value.split_once("<<") {
        Some((number, shift)) => Some(digits(number)? << digits(shift)?),
        None => digits(value),
    }
}

/// Whether a constant looks like something that was tuned: by its name, or by its size.
fn is_threshold(name: &str, value: &str) -> bool {
    let named = name.split('_').any(|word| matches!(word, "MIN" | "MAX" | "CHUNK" | "PIECE"));
    named || number(value).is_some_and(|number| number >= 256)
}

#[test]
fn thresholds_stand_in_tuning() {
    let (mut broken, mut found) = (Vec::new(), 0);
    for (file, text) in files(TUNED) {
        let tuning = file.ends_with("/tuning.rs");
        let mut documented = false;
        for (at, line) in text.lines().enumerate() {
            if let Some((name, _)) = constant(line).filter(|_| tuning) {
                found += 1;
                if !UNITS.iter().any(|unit| name.ends_with(unit)) {
                    broken.push(format!("{file}:{} {name} ends with no unit", at + 1));
                }
                if !documented {
                    broken.push(format!("{file}:{} {name} says nothing of itself", at + 1));
                }
            }
            documented = line.trim().starts_with("///");
        }
        for (at, line) in code(&text).filter(|_| !tuning) {
            let Some((name, value)) = constant(line) else { continue };
            if is_threshold(name, value) && !FIXED.contains(&(&*file, name)) {
                broken.push(format!("{file}:{at} {name} belongs to its family's tuning.rs"));
            }
        }
    }
    assert!(found > 80, "{found} thresholds are too few to be all");
    assert_none(&broken);
}

#[test]
fn thresholds_are_recognised() {
    let of = |line| constant(line).map(|(name, value)| is_threshold(name, value));
    assert_eq!(of("const PIECE: usize = 8;"), Some(true));
    assert_eq!(of("    pub(super) const LEAST: usize = 1 << 20;"), Some(true));
    assert_eq!(of("const CELL: usize = 64;"), Some(false));
    assert_eq!(of("fn run<const N: usize>(n: usize) {"), None);
    assert_eq!(number("4_096"), Some(4096));
}
