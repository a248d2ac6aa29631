//! What decoding may cost: bytes that it makes, and levels that it goes down.
use crate::ReadError;

/// Bytes that decoding may make whatever the input.
const BASE: usize = 64 << 20;
/// Bytes that decoding may make a byte of input.
const RATE: usize = 256;
/// Attributes and types inside of each other that are read.
const DEPTH: usize = 64;

/// What may still be made, and how deep the decoding is.
#[derive(Debug)]
pub struct Budget {
    left: usize,
    /// How many of the bytes that were paid are shared by all uses of an entry.
    shared: usize,
    depth: usize,
}

/// Where the decoding of an entry began.
#[derive(Debug)]
#[must_use]
pub struct Mark(usize);

impl Budget {
    /// The budget of an input of this many bytes.
    pub fn new(size: usize) -> Self {
        Self { left: size.saturating_mul(RATE).saturating_add(BASE), shared: 0, depth: 0 }
    }

    /// Takes from the budget.
    ///
    /// # Errors
    /// More than is left.
    pub fn pay(&mut self, at: usize, bytes: usize) -> Result<(), ReadError> {
        self.left = self.left.checked_sub(bytes).ok_or_else(|| {
            ReadError::at(
                at,
                format!("{bytes} bytes more to decode, {} left of the budget", self.left),
            )
        })?;
        Ok(())
    }

    /// Takes from the budget what is made once, however often it is used.
    ///
    /// # Errors
    /// More than is left.
    pub fn pay_once(&mut self, at: usize, bytes: usize) -> Result<(), ReadError> {
        self.pay(at, bytes)?;
        self.shared += bytes;
        Ok(())
    }

    /// Goes one level down, to an entry whose decoded form takes `size` bytes by itself. An error
    /// ends the reading, so only success comes back up.
    ///
    /// # Errors
    /// Too deep, or more than is left.
    pub fn enter(&mut self, at: usize, size: usize) -> Result<Mark, ReadError> {
        let mark = Mark(self.left + self.shared);
        self.depth += 1;
        if self.depth > DEPTH {
            return Err(ReadError::at(
                at,
                format!("attributes or types nested {} deep, {DEPTH} are read", self.depth),
            ));
        }
        self.pay(at, size)?;
        Ok(mark)
    }

    /// Comes back up: what each further use of the entry costs.
    pub fn leave(&mut self, mark: &Mark) -> usize {
        self.depth -= 1;
        mark.0 - (self.left + self.shared)
    }
}
