//! Sizes, times and counts for people.

/// A number of bytes in the largest unit of which there is one: `1.50 GiB`.
pub fn bytes(count: u64) -> String {
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

/// Nanoseconds as `12.345678 s`.
pub fn seconds(nanos: u64) -> String {
    format!("{}.{:06} s", nanos / 1_000_000_000, nanos % 1_000_000_000 / 1000)
}

/// Digits in groups of three: `1,003,786`.
pub fn grouped(number: u64) -> String {
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
pub fn counted(number: u64, what: &str) -> String {
    format!("{} {what}{}", grouped(number), if number == 1 { "" } else { "s" })
}

/// A text without what would break a line or speak to a terminal.
pub fn one_line(text: &str) -> String {
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
