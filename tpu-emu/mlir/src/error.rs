//! Why a program could not be read.
use std::fmt;

/// Where in the input it went wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// Bytes from the start of the bytecode or the message.
    Offset(usize),
    /// Line and column of a text, from 1.
    Line(usize, usize),
}

/// Why a program could not be read: the place and what is wrong there, both numbers that
/// disagree in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadError {
    /// Where.
    pub place: Place,
    /// What, without the place.
    pub what: String,
}

impl ReadError {
    /// An error at an offset.
    pub fn at(offset: usize, what: impl Into<String>) -> Self {
        Self { place: Place::Offset(offset), what: what.into() }
    }

    /// An error in a text.
    pub fn line(line: usize, column: usize, what: impl Into<String>) -> Self {
        Self { place: Place::Line(line, column), what: what.into() }
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.place {
            Place::Offset(offset) => write!(f, "at byte {offset}: {}", self.what),
            Place::Line(line, column) => write!(f, "line {line}:{column}: {}", self.what),
        }
    }
}

impl std::error::Error for ReadError {}
