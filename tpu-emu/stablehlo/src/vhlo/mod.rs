//! VHLO, the versioned form of StableHLO: its encodings, its operations, and how older ones
//! become the newest.
mod attributes;
mod operations;
mod types;
mod upgrade;
pub(crate) mod words;

pub(crate) use operations::{ROWS, VersionRow};
pub(crate) use upgrade::upgrade;

/// The StableHLO release whose operations are all known.
const NEWEST: &str = "1.20";

/// The operation with this name, as `dot_general_v2`.
pub(crate) fn find(name: &str) -> Option<&'static VersionRow> {
    let (mnemonic, version) = parts(name)?;
    let found =
        ROWS.binary_search_by(|row| (row.mnemonic(), row.version).cmp(&(mnemonic, version)));
    found.ok().map(|at| &ROWS[at])
}

/// Why there is no operation with this name, in the program of this producer.
pub(crate) fn why_unknown(name: &str, producer: &str) -> String {
    let why = match parts(name) {
        None => "a name without a version".into(),
        Some((mnemonic, version)) => match versions(mnemonic).last() {
            Some(row) => format!("version {version}, the newest known is {}", row.version),
            None => "no known operation".into(),
        },
    };
    format!(
        "operation vhlo.{name}: {why}; StableHLO {NEWEST} is the newest known, the program is \
         {producer}"
    )
}

/// Mnemonic and version.
fn parts(name: &str) -> Option<(&str, u32)> {
    let (mnemonic, version) = name.rsplit_once("_v")?;
    Some((mnemonic, version.parse().ok()?))
}

/// All versions of an operation.
fn versions(mnemonic: &str) -> &'static [VersionRow] {
    let first = ROWS.partition_point(|row| row.mnemonic() < mnemonic);
    let end = ROWS.partition_point(|row| row.mnemonic() <= mnemonic);
    &ROWS[first..end]
}

#[cfg(test)]
mod tests {
    use super::{find, why_unknown};

    #[test]
    fn names_with_versions_are_found_and_newer_ones_refused() {
        let row = find("dot_general_v2").unwrap();
        assert_eq!((row.name, row.version), ("stablehlo.dot_general", 2));
        assert!(find("constant_v99").is_none());
        let why = why_unknown("constant_v99", "StableHLO_v2.0.0");
        assert!(why.contains("version 99, the newest known is 1"), "{why}");
        assert!(why_unknown("nothing_v1", "").contains("no known operation"));
        assert!(find("add").is_none());
    }
}
