//! Custom calls that the emulator knows itself, by target.
mod functions;

use super::Entry;

/// The targets, by file.
const TARGETS: &[&[Entry]] = &[functions::TARGETS];

/// The row of a target.
pub fn find(target: &str) -> Option<&'static Entry> {
    TARGETS.iter().copied().flatten().find(|entry| entry.mnemonic == target)
}

#[cfg(test)]
mod tests {
    use super::find;

    #[test]
    fn functions_of_older_versions_are_found_under_both_dialects() {
        for target in ["mhlo.erf", "mhlo.asin", "chlo.acosh", "mhlo.tan"] {
            assert_eq!(find(target).map(|entry| entry.mnemonic), Some(target));
        }
        assert!(find("erf").is_none());
    }
}
