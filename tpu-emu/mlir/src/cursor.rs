//! The only access to the bytes: a position in the file and an end that it cannot pass.
use crate::error::ReadError;

/// A part of the file and a position in it. Offsets count from the start of the file.
#[derive(Debug, Clone, Copy)]
pub struct Cursor<'a> {
    file: &'a [u8],
    at: usize,
    end: usize,
}

impl<'a> Cursor<'a> {
    /// The whole file.
    pub fn new(file: &'a [u8]) -> Self {
        Self { file, at: 0, end: file.len() }
    }

    /// Where the next byte is.
    pub fn at(&self) -> usize {
        self.at
    }

    /// How many bytes are left.
    pub fn left(&self) -> usize {
        self.end - self.at
    }

    /// Whether nothing is left.
    pub fn is_empty(&self) -> bool {
        self.at == self.end
    }

    /// An error at the position.
    pub fn error(&self, what: impl Into<String>) -> ReadError {
        ReadError::at(self.at, what)
    }

    /// One byte.
    pub fn byte(&mut self) -> Result<u8, ReadError> {
        Ok(self.bytes(1)?[0])
    }

    /// A number of bytes.
    pub fn bytes(&mut self, count: usize) -> Result<&'a [u8], ReadError> {
        let part = self.part(count)?;
        Ok(&self.file[part.at..part.end])
    }

    /// A number of bytes as a cursor of their own.
    pub fn part(&mut self, count: usize) -> Result<Self, ReadError> {
        if count > self.left() {
            return Err(self.error(format!("{count} bytes wanted, {} left", self.left())));
        }
        let part = Self { file: self.file, at: self.at, end: self.at + count };
        self.at += count;
        Ok(part)
    }

    /// All that is left.
    pub fn rest(&mut self) -> &'a [u8] {
        let rest = &self.file[self.at..self.end];
        self.at = self.end;
        rest
    }

    /// Bytes before a zero, which is skipped.
    pub fn until_zero(&mut self) -> Result<&'a [u8], ReadError> {
        let rest = &self.file[self.at..self.end];
        let Some(count) = rest.iter().position(|&byte| byte == 0) else {
            return Err(self.error("a text without a zero at its end"));
        };
        self.at += count + 1;
        Ok(&rest[..count])
    }

    /// An unsigned number whose first byte tells its length.
    pub fn varint(&mut self) -> Result<u64, ReadError> {
        let first = self.byte()?;
        let more = usize::try_from(first.trailing_zeros()).unwrap_or(8);
        let mut word = [0_u8; 8];
        if more == 8 {
            word.copy_from_slice(self.bytes(8)?);
            return Ok(u64::from_le_bytes(word));
        }
        word[0] = first;
        word[1..=more].copy_from_slice(self.bytes(more)?);
        Ok(u64::from_le_bytes(word) >> (more + 1))
    }

    /// A signed number: its sign is the lowest bit.
    pub fn signed(&mut self) -> Result<i64, ReadError> {
        let value = self.varint()?;
        Ok((value >> 1).cast_signed() ^ -((value & 1).cast_signed()))
    }

    /// A number whose lowest bit is a flag.
    pub fn flagged(&mut self) -> Result<(usize, bool), ReadError> {
        let at = self.at;
        let value = self.varint()?;
        Ok((index(at, value >> 1)?, value & 1 == 1))
    }

    /// A count or an index.
    pub fn index(&mut self) -> Result<usize, ReadError> {
        let at = self.at;
        index(at, self.varint()?)
    }

    /// A count of things that take one byte each at the least.
    pub fn count(&mut self) -> Result<usize, ReadError> {
        let at = self.at;
        let count = self.index()?;
        if count > self.left() {
            return Err(ReadError::at(
                at,
                format!("a count of {count}, but only {} bytes are left", self.left()),
            ));
        }
        Ok(count)
    }

    /// A list of signed numbers.
    pub fn signed_list(&mut self) -> Result<Vec<i64>, ReadError> {
        let count = self.count()?;
        (0..count).map(|_| self.signed()).collect()
    }

    /// A blob with its size before it.
    pub fn blob(&mut self) -> Result<&'a [u8], ReadError> {
        let count = self.index()?;
        self.bytes(count)
    }

    /// A section: its kind and its content.
    pub fn section(&mut self) -> Result<(u8, Self), ReadError> {
        let at = self.at;
        let kind = self.byte()?;
        let length = self.index()?;
        if kind & 0x80 != 0 {
            let alignment = self.index()?;
            if !alignment.is_power_of_two() {
                return Err(ReadError::at(
                    at,
                    format!("an alignment of {alignment} is no power of two"),
                ));
            }
            let padding = self.at.wrapping_neg() & (alignment - 1);
            self.bytes(padding)?;
        }
        Ok((kind & 0x7F, self.part(length)?))
    }

    /// An error unless everything was read.
    pub fn finish(&self, of: &str) -> Result<(), ReadError> {
        if self.is_empty() {
            return Ok(());
        }
        Err(self.error(format!("{} bytes too many in {of}", self.left())))
    }
}

fn index(at: usize, value: u64) -> Result<usize, ReadError> {
    usize::try_from(value).map_err(|_| ReadError::at(at, format!("{value} is too large")))
}

#[cfg(test)]
mod tests {
    use super::Cursor;

    #[test]
    fn numbers_of_every_length_are_read() {
        let mut short = Cursor::new(&[0x0B]);
        assert_eq!(short.varint(), Ok(5));
        let mut two = Cursor::new(&[0b10, 1]);
        assert_eq!(two.varint(), Ok(64));
        let mut nine = Cursor::new(&[0, 1, 0, 0, 0, 0, 0, 0, 0x80]);
        assert_eq!(nine.varint(), Ok((1 << 63) | 1));
        let mut minus = Cursor::new(&[0b111]);
        assert_eq!(minus.signed(), Ok(-2));
    }

    #[test]
    fn nothing_is_read_past_the_end() {
        let mut cursor = Cursor::new(&[0b10]);
        assert_eq!(cursor.varint().unwrap_err().what, "1 bytes wanted, 0 left");
        let mut cursor = Cursor::new(&[0b111, 1]);
        assert!(cursor.count().is_err());
        assert!(Cursor::new(&[1, 2]).until_zero().is_err());
        let mut part = Cursor::new(&[1, 2, 3]);
        let mut first = part.part(2).unwrap();
        assert!(first.bytes(3).is_err());
    }
}
