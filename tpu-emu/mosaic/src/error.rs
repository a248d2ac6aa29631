//! Why a kernel could not be read.
use std::fmt;
use tpu_mlir::ReadError;

/// Why a kernel could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Error {
    /// The configuration of the call is not what JAX writes.
    Config(String),
    /// The bytes are damaged, or of a newer container.
    Damaged(ReadError),
    /// The module was written by a newer JAX than this reader knows.
    Newer {
        /// The version of the module's format.
        version: i64,
        /// The newest one that is known.
        newest: i64,
    },
    /// What the module has and this reader does not know or what contradicts itself: everything
    /// at once.
    Refused(Vec<Refusal>),
}

/// Something in a kernel that is not supported or not valid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// What, with its name.
    pub what: String,
    /// The innermost line of the kernel's source, `file:line:column`, if it is known.
    pub line: Option<String>,
    /// The whole location, as MLIR prints it: `loc("f"("file":1:2))`.
    pub location: String,
}

impl From<ReadError> for Error {
    fn from(error: ReadError) -> Self {
        Self::Damaged(error)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Config(what) => write!(f, "the configuration of a kernel: {what}"),
            Self::Damaged(error) => write!(f, "Mosaic module: {error}"),
            Self::Newer { version, newest } => write!(
                f,
                "Mosaic module of format {version}, the newest known one is {newest}: \
                 it was written by a newer JAX"
            ),
            Self::Refused(refusals) => {
                f.write_str("Mosaic module:")?;
                refusals.iter().try_for_each(|refusal| write!(f, "\n{refusal}"))
            }
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.line {
            Some(line) => write!(f, "{line}: {}", self.what),
            None => f.write_str(&self.what),
        }
    }
}

impl std::error::Error for Error {}
