//! Sizes, times and tables for people.
use serde::Serialize;
use std::fmt::Write as _;
use tpu_trace::Row;
pub(crate) use tpu_trace::words::{bytes, counted, grouped, one_line, seconds};

/// A number of bytes that may be negative, with its sign.
pub(crate) fn signed_bytes(count: i128) -> String {
    let size = bytes(u64::try_from(count.unsigned_abs()).unwrap_or(u64::MAX));
    match count {
        0 => size,
        1.. => format!("+{size}"),
        _ => format!("-{size}"),
    }
}

/// Nanoseconds in the largest unit of which there is one: `1.50 ms`.
pub(crate) fn duration(nanos: u64) -> String {
    let units = [(1_000_000_000, "s"), (1_000_000, "ms"), (1000, "µs")];
    let Some((unit, name)) = units.into_iter().find(|&(unit, _)| nanos >= unit) else {
        return format!("{nanos} ns");
    };
    let hundredths = u128::from(nanos) * 100 / u128::from(unit);
    format!("{}.{:02} {name}", hundredths / 100, hundredths % 100)
}

/// What a command prints for programs.
pub(crate) fn json(answer: &impl Serialize) -> String {
    // Numbers, texts and lists are all that there is, and those cannot fail.
    serde_json::to_string_pretty(answer).unwrap_or_default() + "\n"
}

/// A line for each reason why a trace may say less than its process did.
pub(crate) fn careful(reasons: &[String]) -> String {
    reasons.iter().map(|why| format!("Careful: {}.\n", one_line(why))).collect()
}

/// Names of Python that a row has in a text.
const NAMES: usize = 3;

/// One line a row: size, blocks, origin, and beneath it what keeps them, where that is known; then
/// how much the others take.
pub(crate) fn rows(rows: &[Row], top: usize, into: &mut String) {
    for row in rows.iter().take(top) {
        // Writing to a text does not fail.
        let _ = writeln!(
            into,
            "  {:>9}  {:>12}  {}",
            bytes(row.size.in_memory),
            counted(row.blocks, "block"),
            one_line(&row.key)
        );
        for name in row.names.iter().take(NAMES) {
            let _ = writeln!(into, "  {:>9}  {:>12}    kept by {}", "", "", one_line(name));
        }
        if let Some(left) = row.names.len().checked_sub(NAMES).filter(|&left| left > 0) {
            let more = if row.names.len() == tpu_trace::NAMES { " or more" } else { "" };
            let left = counted(left as u64, "other name");
            let _ = writeln!(into, "  {:>9}  {:>12}    and by {left}{more}", "", "");
        }
    }
    if let Some(others) = rows.get(top..).filter(|others| !others.is_empty()) {
        let size = others.iter().map(|row| row.size.in_memory).sum();
        let blocks = others.iter().map(|row| row.blocks).sum();
        let _ = writeln!(
            into,
            "  {:>9}  {:>12}  {}",
            bytes(size),
            counted(blocks, "block"),
            counted(others.len() as u64, "other")
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_less_has_its_sign() {
        assert_eq!(signed_bytes(-2048), "-2.00 KiB");
        assert_eq!(signed_bytes(1), "+1 B");
        assert_eq!(signed_bytes(0), "0 B");
    }

    #[test]
    fn durations_have_the_unit_that_fits() {
        let of = [
            (999, "999 ns"),
            (1500, "1.50 µs"),
            (2_000_000, "2.00 ms"),
            (61_000_000_000, "61.00 s"),
        ];
        of.iter().for_each(|&(nanos, text)| assert_eq!(duration(nanos), text));
    }
}
