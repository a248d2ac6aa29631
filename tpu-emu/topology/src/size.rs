//! Sizes of HBM as people write them.
use tpu_base::units::Bytes;

/// A number of bytes with a unit, if it has one: `2GiB`, `512 MiB`, `1gb`, `1000000`.
///
/// # Errors
/// What is wanted, for other texts, for no bytes and for more than 64 TiB.
pub fn hbm_size(text: &str) -> Result<Bytes, String> {
    const UNITS: [(&str, u64); 9] = [
        ("", 1),
        ("B", 1),
        ("KiB", 1 << 10),
        ("MiB", 1 << 20),
        ("GiB", 1 << 30),
        ("TiB", 1 << 40),
        ("KB", 1_000),
        ("MB", 1_000_000),
        ("GB", 1_000_000_000),
    ];
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let unit = UNITS.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit.trim()));
    let bytes = number.parse::<u64>().ok().zip(unit);
    let bytes = bytes.and_then(|(number, (_, unit))| number.checked_mul(*unit));
    match bytes.filter(|bytes| (1..=1 << 46).contains(bytes)) {
        Some(bytes) => Ok(Bytes(bytes)),
        None => Err("bytes from 1 to 64TiB, as 2GiB, 512MiB or 1000000".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_take_units_and_refuse_nonsense() {
        assert_eq!(hbm_size("512MiB"), Ok(Bytes::mib(512)));
        assert_eq!(hbm_size("1gb"), Ok(Bytes(1_000_000_000)));
        assert_eq!(hbm_size("77"), Ok(Bytes(77)));
        assert_eq!(hbm_size("2 GiB"), Ok(Bytes::gib(2)));
        for wrong in ["", "GiB", "-1", "1.5GiB", "0", "99999999999GiB", "65TiB"] {
            assert!(hbm_size(wrong).is_err(), "{wrong}");
        }
    }
}
