//! The fields of one record: numbers of seven bits a byte, and texts.
use crate::reader::ReadError;

/// What is left of a record's payload.
#[derive(Debug)]
pub(crate) struct Fields<'a> {
    left: &'a [u8],
    /// Where in the input `left` ends.
    end: u64,
}

impl<'a> Fields<'a> {
    /// The fields of a payload that ends at `end` of the input.
    pub(crate) fn new(payload: &'a [u8], end: u64) -> Self {
        Self { left: payload, end }
    }

    /// Where in the input the next field begins.
    pub(crate) fn at(&self) -> u64 {
        self.end - self.left.len() as u64
    }

    /// Whether no field is left.
    pub(crate) fn is_empty(&self) -> bool {
        self.left.is_empty()
    }

    /// An error at the next field.
    pub(crate) fn damaged(&self, message: impl Into<String>) -> ReadError {
        ReadError::Damaged { message: message.into(), at: self.at() }
    }

    /// Seven bits a byte, lowest first, the top bit set on all but the last.
    ///
    /// # Errors
    /// `Damaged` for a number that ends with the payload, or has more than 64 bits.
    pub(crate) fn number(&mut self) -> Result<u64, ReadError> {
        if let Some((&byte, left)) = self.left.split_first()
            && byte < 0x80
        {
            self.left = left;
            return Ok(byte.into());
        }
        let mut value = 0_u64;
        for (place, &byte) in self.left.iter().take(10).enumerate() {
            let bits = u64::from(byte & 0x7f);
            if place == 9 && bits > 1 {
                break;
            }
            value |= bits << (7 * place);
            if byte < 0x80 {
                self.left = &self.left[place + 1..];
                return Ok(value);
            }
        }
        Err(self.damaged(match self.left.len() {
            0..10 => "a number is cut off",
            _ => "a number has more than 64 bits",
        }))
    }

    /// A number of 32 bits.
    ///
    /// # Errors
    /// `Damaged` for a larger one.
    pub(crate) fn small(&mut self) -> Result<u32, ReadError> {
        let at = self.at();
        let number = self.number()?;
        u32::try_from(number).map_err(|_| ReadError::Damaged {
            message: format!("the number {number} is larger than any of its kind"),
            at,
        })
    }

    /// Bytes in a memory, or an address there: two of them can be added.
    ///
    /// # Errors
    /// `Damaged` for more than any memory has.
    pub(crate) fn size(&mut self) -> Result<u64, ReadError> {
        let at = self.at();
        self.number().and_then(|size| match size >> 63 {
            0 => Ok(size),
            _ => {
                let message = format!("{size} bytes are more than any memory has");
                Err(ReadError::Damaged { message, at })
            }
        })
    }

    /// Nanoseconds, of which two can be added.
    ///
    /// # Errors
    /// `Damaged` for more than 292 years.
    pub(crate) fn nanos(&mut self) -> Result<u64, ReadError> {
        let at = self.at();
        self.number().and_then(|nanos| match nanos >> 63 {
            0 => Ok(nanos),
            _ => {
                let message = format!("{nanos} ns are longer than any process ran");
                Err(ReadError::Damaged { message, at })
            }
        })
    }

    /// Adds to a sum over all records.
    ///
    /// # Errors
    /// `Damaged` where the sum has more than 64 bits: nothing that is said of it would be true.
    pub(crate) fn add(&self, sum: &mut u64, more: u64, what: &str) -> Result<(), ReadError> {
        *sum = sum.checked_add(more).ok_or_else(|| {
            self.damaged(format!("all {what} of this trace together have more than 64 bits"))
        })?;
        Ok(())
    }

    /// Length, and as many bytes.
    ///
    /// # Errors
    /// `Damaged` where they are cut off.
    pub(crate) fn bytes(&mut self) -> Result<&'a [u8], ReadError> {
        let length = self.number()?;
        let Some((bytes, left)) =
            usize::try_from(length).ok().and_then(|n| self.left.split_at_checked(n))
        else {
            return Err(self.damaged(format!("a text of {length} bytes is cut off")));
        };
        self.left = left;
        Ok(bytes)
    }

    /// Length and UTF-8.
    ///
    /// # Errors
    /// `Damaged` where the text is cut off, or no UTF-8.
    pub(crate) fn text(&mut self) -> Result<&'a str, ReadError> {
        let at = self.at();
        text_of(self.bytes()?).map_err(|message| ReadError::Damaged { message, at })
    }

    /// As many elements as a number says. Each takes a byte at least, so the payload bounds them.
    ///
    /// # Errors
    /// Those of `element`.
    pub(crate) fn list<T>(
        &mut self,
        mut element: impl FnMut(&mut Self) -> Result<T, ReadError>,
    ) -> Result<Vec<T>, ReadError> {
        let count = self.number()?;
        let mut list = Vec::new();
        for _ in 0..count {
            list.push(element(self)?);
        }
        Ok(list)
    }
}

/// Bytes as a text, or why they are none.
pub(crate) fn text_of(bytes: &[u8]) -> Result<&str, String> {
    std::str::from_utf8(bytes).map_err(|why| format!("a text is not UTF-8: {why}"))
}
