//! The line of an instruction, from a code object's location table (CPython 3.11 and later).

/// The line of code unit `at`, 0 where the table gives none.
///
/// Source: CPython, "Description of the location table format", and PEP 657.
pub(super) fn line_at(table: &[u8], first_line: u32, at: u32) -> u32 {
    let mut line = i64::from(first_line);
    let mut bytes = table.iter().copied().peekable();
    let mut start = 0_u32;
    while let Some(head) = bytes.next() {
        let kind = head >> 3 & 15;
        match kind {
            10..=12 => line += i64::from(kind - 10),
            13 | 14 => line += signed(&mut bytes),
            _ => {}
        }
        // What is left of the entry is columns; the next entry has its top bit set.
        while bytes.next_if(|byte| byte & 0x80 == 0).is_some() {}
        let end = start + u32::from(head & 7) + 1;
        if (start..end).contains(&at) {
            return if kind == 15 { 0 } else { u32::try_from(line).unwrap_or(0) };
        }
        start = end;
    }
    0
}

/// A signed number: six bits a byte, low first, bit 6 goes on; the lowest bit is the sign.
fn signed(bytes: &mut impl Iterator<Item = u8>) -> i64 {
    let mut value = 0_u64;
    for shift in (0..60).step_by(6) {
        let byte = bytes.next().unwrap_or(0);
        value |= u64::from(byte & 63) << shift;
        if byte & 64 == 0 {
            break;
        }
    }
    let size = (value >> 1).cast_signed();
    if value & 1 == 0 { size } else { -size }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(kind: u8, units: u8) -> u8 {
        0x80 | kind << 3 | (units - 1)
    }

    #[test]
    fn entries_move_the_line_and_cover_units() {
        let table = [
            [head(13, 1), 0].as_slice(),
            &[head(0, 2), 0x11],
            &[head(11, 3), 5, 9],
            &[head(14, 1), 0b10_0100, 0, 1, 1],
            &[head(13, 8), 0b111],
        ]
        .concat();
        let lines: Vec<u32> = (0..16).map(|at| line_at(&table, 10, at)).collect();
        assert_eq!(lines, [10, 10, 10, 11, 11, 11, 29, 26, 26, 26, 26, 26, 26, 26, 26, 0]);
    }

    #[test]
    fn a_long_number_takes_several_bytes() {
        let table = [head(13, 1), 64 | 2, 64 | 1, 1];
        assert_eq!(line_at(&table, 1, 0), 1 + (2 + 64 + 4096) / 2);
    }

    #[test]
    fn an_entry_without_location_has_no_line() {
        assert_eq!(line_at(&[head(15, 4)], 7, 2), 0);
    }

    #[test]
    fn a_broken_table_gives_no_line() {
        assert_eq!(line_at(&[], 7, 0), 0);
        assert_eq!(line_at(&[head(13, 1)], 7, 3), 0);
        assert_eq!(line_at(&[head(14, 8); 40], 0, 10_000), 0);
    }
}
