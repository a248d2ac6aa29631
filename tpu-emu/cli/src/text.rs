//! Sizes, times and tables for people.
use serde::Serialize;
use std::fmt::Write as _;
use tpu_trace::Row;

/// A number of bytes in the largest unit of which there is one: `1.50 GiB`.
pub(crate) fn bytes(count: u64) -> String {
    let units = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let shift = |place: usize| 10 * (place + 1);
    let Some(place) = (0..units.len()).rev().find(|&place| count >> shift(place) != 0) else {
        return format!("{count} B");
    };
    // Three digits: hundredths of the unit below ten, tenths below a hundred, else whole ones.
    let unit = 1_u128 << shift(place);
    let scaled = |factor: u128| (u128::from(count) * factor + unit / 2) / unit;
    let unit = units[place];
    match scaled(100) {
        hundredths @ 0..1000 => format!("{}.{:02} {unit}", hundredths / 100, hundredths % 100),
        _ => match scaled(10) {
            tenths @ 0..1000 => format!("{}.{} {unit}", tenths / 10, tenths % 10),
            _ => format!("{} {unit}", scaled(1)),
        },
    }
}

/// A number of bytes that may be negative, with its sign.
pub(crate) fn signed_bytes(count: i128) -> String {
    let size = bytes(u64::try_from(count.unsigned_abs()).unwrap_or(u64::MAX));
    match count {
        0 => size,
        1.. => format!("+{size}"),
        _ => format!("-{size}"),
    }
}

/// Nanoseconds as `12.345678 s`.
pub(crate) fn seconds(nanos: u64) -> String {
    format!("{}.{:06} s", nanos / 1_000_000_000, nanos % 1_000_000_000 / 1000)
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
    reasons.iter().map(|why| format!("Careful: {why}.\n")).collect()
}

/// Digits in groups of three: `1,003,786`.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place != 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1 block`, `20 blocks`.
pub(crate) fn counted(number: u64, what: &str) -> String {
    format!("{} {what}{}", grouped(number), if number == 1 { "" } else { "s" })
}

/// One line a row: size, blocks, origin; then how much the others take.
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

/// A text without what would break a line or speak to a terminal.
pub(crate) fn one_line(text: &str) -> String {
    text.trim_end().chars().map(|char| if char.is_control() { ' ' } else { char }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_three_digits() {
        let of = [
            (0, "0 B"),
            (1023, "1023 B"),
            (1024, "1.00 KiB"),
            (10 * 1024 - 1, "10.0 KiB"),
            (1536, "1.50 KiB"),
            (150 << 20, "150 MiB"),
            ((1 << 30) - 1, "1024 MiB"),
            (16 << 30, "16.0 GiB"),
            (u64::MAX, "16.0 EiB"),
        ];
        of.iter().for_each(|&(count, text)| assert_eq!(bytes(count), text));
        assert_eq!(signed_bytes(-2048), "-2.00 KiB");
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

    #[test]
    fn digits_stand_in_threes() {
        let of = [(0, "0"), (999, "999"), (1000, "1,000"), (1_003_786, "1,003,786")];
        of.iter().for_each(|&(number, text)| assert_eq!(grouped(number), text));
        assert_eq!(
            (counted(1, "block"), counted(2, "block")),
            ("1 block".into(), "2 blocks".into())
        );
    }

    #[test]
    fn what_breaks_lines_is_left_out() {
        assert_eq!(one_line("a\nb\u{1b}[31m\n"), "a b [31m");
    }
}
