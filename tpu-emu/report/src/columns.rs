//! Columns of numbers as compressed text.
use crate::base64::encoded;
use flate2::Compression;
use flate2::write::ZlibEncoder;
use serde::Serialize;
use std::io::{self, Write};

/// How the script reads a column.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Column {
    pub(crate) name: &'static str,
    /// How many numbers there are.
    pub(crate) count: usize,
    /// How many bytes each has. The lowest bytes of all stand first, then the next ones.
    pub(crate) width: usize,
    /// How many zero bits were cut off at the low end of each.
    pub(crate) shift: u32,
    /// Whether each is what is added to the one before.
    pub(crate) is_difference: bool,
}

/// Writes what the page keeps: an element of text for each column, and what they are at the end.
#[derive(Debug)]
pub(crate) struct Columns<W> {
    out: W,
    written: Vec<Column>,
}

impl<W: Write> Columns<W> {
    pub(crate) fn new(out: W) -> Self {
        Self { out, written: Vec::new() }
    }

    /// Writes numbers as they are.
    pub(crate) fn numbers(
        &mut self,
        name: &'static str,
        numbers: impl Iterator<Item = u64> + Clone,
    ) -> io::Result<()> {
        self.column(name, numbers, false)
    }

    /// Writes numbers that do not fall.
    pub(crate) fn rising(
        &mut self,
        name: &'static str,
        numbers: impl Iterator<Item = u64> + Clone,
    ) -> io::Result<()> {
        let differences = numbers.scan(0_u64, |before, number| {
            let difference = number.saturating_sub(*before);
            *before = number;
            Some(difference)
        });
        self.column(name, differences, true)
    }

    /// Writes a text, such as the tables in JSON.
    pub(crate) fn text(&mut self, name: &'static str, text: &[u8]) -> io::Result<()> {
        self.element(name, text)
    }

    /// Writes what the columns are, and gives back where it all went.
    pub(crate) fn finish(mut self) -> io::Result<W> {
        let columns = serde_json::to_vec(&self.written).map_err(io::Error::other)?;
        self.element("columns", &columns)?;
        Ok(self.out)
    }

    fn column(
        &mut self,
        name: &'static str,
        numbers: impl Iterator<Item = u64> + Clone,
        is_difference: bool,
    ) -> io::Result<()> {
        let (count, bits) =
            numbers.clone().fold((0, 0), |(count, bits), number| (count + 1, bits | number));
        let shift = if bits == 0 { 0 } else { bits.trailing_zeros() };
        let width = (64 - (bits >> shift).leading_zeros()).div_ceil(8).max(1) as usize;
        let mut planes = vec![0; count * width];
        for (place, number) in numbers.enumerate() {
            let bytes = (number >> shift).to_le_bytes();
            for (plane, byte) in bytes.iter().take(width).enumerate() {
                planes[plane * count + place] = *byte;
            }
        }
        self.written.push(Column { name, count, width, shift, is_difference });
        self.element(name, &planes)
    }

    fn element(&mut self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let mut packed = ZlibEncoder::new(Vec::new(), Compression::new(5));
        packed.write_all(bytes)?;
        let packed = packed.finish()?;
        write!(self.out, "<script type=\"text/plain\" id=\"data-{name}\">")?;
        self.out.write_all(&encoded(&packed))?;
        writeln!(self.out, "</script>")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_has_as_many_bytes_as_its_largest_number_needs() {
        let mut columns = Columns::new(Vec::new());
        columns.numbers("sizes", [512, 1024, 512 * 300].into_iter()).unwrap();
        columns.rising("times", [7, 7, 300].into_iter()).unwrap();
        columns.numbers("none", std::iter::empty()).unwrap();
        let of = |place: usize| {
            let column = &columns.written[place];
            (column.count, column.width, column.shift, column.is_difference)
        };
        assert_eq!(of(0), (3, 2, 9, false));
        assert_eq!(of(1), (3, 2, 0, true));
        assert_eq!(of(2), (0, 1, 0, false));
    }
}
