//! The table of strings.
use crate::cursor::Cursor;
use crate::error::ReadError;
use std::sync::Arc;

/// All strings of the file; the shared ones are made on first use.
#[derive(Debug, Default)]
pub struct Strings<'a> {
    raw: Vec<&'a [u8]>,
    shared: Vec<Option<Arc<str>>>,
}

impl<'a> Strings<'a> {
    /// Reads the section: sizes in reverse order, then the bytes in order.
    pub fn read(mut section: Cursor<'a>) -> Result<Self, ReadError> {
        let count = section.count()?;
        let mut sizes = Vec::with_capacity(count);
        for _ in 0..count {
            sizes.push(section.index()?);
        }
        let mut raw = Vec::with_capacity(count);
        for &size in sizes.iter().rev() {
            let bytes = section.bytes(size)?;
            let Some((0, text)) = bytes.split_last() else {
                return Err(section.error("a string without a zero at its end"));
            };
            raw.push(text);
        }
        section.finish("the strings")?;
        Ok(Self { shared: vec![None; count], raw })
    }

    /// The bytes of the string whose index comes next.
    pub fn bytes(&self, cursor: &mut Cursor<'_>) -> Result<&'a [u8], ReadError> {
        let at = cursor.at();
        let index = cursor.index()?;
        self.bytes_at(at, index)
    }

    /// The bytes of a string.
    pub fn bytes_at(&self, at: usize, index: usize) -> Result<&'a [u8], ReadError> {
        self.raw
            .get(index)
            .copied()
            .ok_or_else(|| ReadError::at(at, format!("string {index} of {}", self.raw.len())))
    }

    /// The text of the string whose index comes next.
    pub fn text(&self, cursor: &mut Cursor<'_>) -> Result<&'a str, ReadError> {
        let at = cursor.at();
        let index = cursor.index()?;
        self.text_at(at, index)
    }

    /// The text of a string.
    pub fn text_at(&self, at: usize, index: usize) -> Result<&'a str, ReadError> {
        std::str::from_utf8(self.bytes_at(at, index)?)
            .map_err(|_| ReadError::at(at, format!("string {index} is not UTF-8")))
    }

    /// The text of the string whose index comes next, shared by all who ask for it. Bytes that
    /// are not UTF-8 are replaced: names of files may have them.
    pub fn shared(&mut self, cursor: &mut Cursor<'_>) -> Result<Arc<str>, ReadError> {
        let at = cursor.at();
        let index = cursor.index()?;
        let bytes = self.bytes_at(at, index)?;
        let slot = &mut self.shared[index];
        Ok(Arc::clone(slot.get_or_insert_with(|| String::from_utf8_lossy(bytes).into())))
    }
}
