//! Why a program could not be read.
use std::fmt;

/// Why a program could not be read: the instruction, if it is one's fault, and what is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadError {
    /// Computation, instruction and opcode.
    pub place: Option<(String, String, String)>,
    /// What, without the place.
    pub what: String,
}

impl ReadError {
    /// An error of the module, or of an instruction that is not known yet.
    pub fn new(what: impl Into<String>) -> Self {
        Self { place: None, what: what.into() }
    }

    /// The error with its place, unless it has one.
    pub(crate) fn within(mut self, computation: &str, instruction: &str, opcode: &str) -> Self {
        self.place.get_or_insert_with(|| (computation.into(), instruction.into(), opcode.into()));
        self
    }
}

impl From<String> for ReadError {
    fn from(what: String) -> Self {
        Self::new(what)
    }
}

impl From<&str> for ReadError {
    fn from(what: &str) -> Self {
        Self::new(what)
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            Some((computation, instruction, opcode)) => {
                write!(f, "{opcode} '{instruction}' of '{computation}': {}", self.what)
            }
            None => f.write_str(&self.what),
        }
    }
}

impl std::error::Error for ReadError {}
