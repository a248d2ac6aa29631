//! VHLO, the versioned form of StableHLO: its encodings, its operations, and how older ones
//! become the newest.
mod attributes;
mod operations;
mod types;
mod upgrade;
pub(crate) mod words;

pub(crate) use operations::{ROWS, Row};
pub(crate) use upgrade::upgrade;

/// The StableHLO release whose operations are all known.
const NEWEST: &str = "1.20";

/// The operation with this name, as `dot_general_v2`.
///
/// # Errors
///
/// Which operation is unknown, and whether that is because it is newer.
pub(crate) fn operation(name: &str, producer: &str) -> Result<&'static Row, String> {
    let unknown = |why: String| {
        let known = format!("StableHLO {NEWEST} is the newest known, the program is {producer}");
        format!("operation vhlo.{name}: {why}; {known}")
    };
    let parts = name.rsplit_once("_v");
    let Some((mnemonic, Ok(version))) = parts.map(|(name, version)| (name, version.parse::<u32>()))
    else {
        return Err(unknown("a name without a version".into()));
    };
    let first = ROWS.partition_point(|row| row.mnemonic() < mnemonic);
    let versions = ROWS[first..].iter().take_while(|row| row.mnemonic() == mnemonic);
    let mut newest = None;
    for row in versions {
        if row.version == version {
            return Ok(row);
        }
        newest = Some(row.version);
    }
    Err(unknown(match newest {
        Some(newest) => format!("version {version}, the newest known is {newest}"),
        None => "no known operation".into(),
    }))
}

#[cfg(test)]
mod tests {
    use super::operation;

    #[test]
    fn names_with_versions_are_found_and_newer_ones_refused() {
        let row = operation("dot_general_v2", "").unwrap();
        assert_eq!((row.name, row.version), ("stablehlo.dot_general", 2));
        let error = operation("constant_v99", "StableHLO_v2.0.0").unwrap_err();
        assert!(error.contains("version 99, the newest known is 1"), "{error}");
        assert!(operation("nothing_v1", "").unwrap_err().contains("no known operation"));
        assert!(operation("add", "").is_err());
    }
}
