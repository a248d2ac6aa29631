//! The one error type of the machine, and the one place where an error becomes a number.
use crate::units::Bytes;
use std::sync::Arc;
use thiserror::Error;

/// `Result` with the machine's error.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Canonical status codes. The numbers equal `PJRT_Error_Code`, `XLA_FFI_Error_Code` and
/// `TF_Code`, so a door casts and never maps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(i32)]
pub enum Code {
    /// The operation was cancelled by its caller.
    Cancelled = 1,
    /// No better code is known.
    Unknown = 2,
    /// The caller passed something wrong.
    InvalidArgument = 3,
    /// Time ran out.
    DeadlineExceeded = 4,
    /// The thing asked for does not exist.
    NotFound = 5,
    /// The thing to be made exists.
    AlreadyExists = 6,
    /// The caller may not do this.
    PermissionDenied = 7,
    /// Memory or another quota ran out.
    ResourceExhausted = 8,
    /// The object is in the wrong state.
    FailedPrecondition = 9,
    /// The operation was given up.
    Aborted = 10,
    /// An index is past the end.
    OutOfRange = 11,
    /// Not done here.
    Unimplemented = 12,
    /// A bug of ours.
    Internal = 13,
    /// Not available now.
    Unavailable = 14,
    /// Data was lost.
    DataLoss = 15,
    /// The caller is not known.
    Unauthenticated = 16,
}

impl Code {
    /// The code with this number; `None` for 0 (no error) and for numbers without a name.
    pub fn from_number(number: i32) -> Option<Self> {
        Self::ALL.into_iter().find(|&code| code as i32 == number)
    }

    const ALL: [Self; 16] = [
        Self::Cancelled,
        Self::Unknown,
        Self::InvalidArgument,
        Self::DeadlineExceeded,
        Self::NotFound,
        Self::AlreadyExists,
        Self::PermissionDenied,
        Self::ResourceExhausted,
        Self::FailedPrecondition,
        Self::Aborted,
        Self::OutOfRange,
        Self::Unimplemented,
        Self::Internal,
        Self::Unavailable,
        Self::DataLoss,
        Self::Unauthenticated,
    ];
}

/// What went wrong. The fields are the facts, `Display` is what the user reads.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Error {
    /// The caller broke the contract of a function.
    #[error("{0}")]
    BadArgument(String),
    /// A handle whose object is gone, or that never was one.
    #[error("{kind} handle {raw:#x} is stale or was never given out")]
    StaleHandle {
        /// What the handle should name.
        kind: &'static str,
        /// The bits.
        raw: u64,
    },
    /// A null pointer where an object or a result place is needed.
    #[error("null {0}")]
    Null(&'static str),
    /// A struct that ends before the last field the function touches.
    #[error("struct_size {given} is short of the {needed} bytes of {name}; an older header?")]
    ShortStruct {
        /// The struct's name in the header.
        name: &'static str,
        /// `struct_size` as passed.
        given: usize,
        /// The end of the last field that is needed.
        needed: usize,
    },
    /// The object is deleted, donated, or in another state than the call needs.
    #[error("{0}")]
    WrongState(String),
    /// Something named does not exist.
    #[error("{0}")]
    NotFound(String),
    /// A memory space cannot hold the request. The words are the real TPU's (E0100).
    #[error(
        "Error allocating device buffer: Attempting to allocate {}. That was not possible. \
         There are {} free.{}; ({place})",
        short(*asked), short(*free), fragmentation(*asked, *free, *hole)
    )]
    OutOfMemory {
        /// Size asked for, after padding to the device tile.
        asked: Bytes,
        /// Sum of all holes.
        free: Bytes,
        /// The largest single hole; `asked <= free` with `asked > hole` means fragmentation.
        hole: Bytes,
        /// Chip coordinates and memory, as `0x0x0_HBM0`.
        place: Arc<str>,
    },
    /// The host has no memory for something.
    #[error("the host has no room for {asked} of {what}: {why}")]
    HostMemory {
        /// How much was wanted.
        asked: Bytes,
        /// What for.
        what: &'static str,
        /// Why there is none, in the system's words.
        why: String,
    },
    /// An operation that breaks a constraint of its specification.
    #[error("{op} violates {constraint}: {what}")]
    Constraint {
        /// The operation, with its dialect.
        op: String,
        /// The constraint's label in the StableHLO specification: `C1`.
        constraint: &'static str,
        /// The facts that disagree.
        what: String,
    },
    /// A program that cannot be compiled: every reason, one a line, each with its source line.
    #[error("{}", reasons.join("\n"))]
    Program {
        /// The code of the first reason.
        code: Code,
        /// The reasons.
        reasons: Vec<String>,
    },
    /// Known, and not done here.
    #[error("{0}")]
    Unimplemented(String),
    /// Words that go out as they are: a client set them itself, or looks for them.
    #[error("{message}")]
    Verbatim {
        /// The code.
        code: Code,
        /// The words.
        message: Arc<str>,
    },
    /// A bug of ours, stopped at the door.
    #[error("{function} panicked: {message} ({place}): a fault of tpu-emu, please report it")]
    Panic {
        /// The entry point.
        function: &'static str,
        /// The panic's payload.
        message: String,
        /// File, line and column of ours.
        place: String,
    },
    /// The host refused something: memory, a file, a thread.
    #[error("{0}")]
    Host(String),
}

/// Ends what the thread works on with an error, where no result has a place for it: the machine's
/// door, or the event of a task, has the error then, and nothing is printed.
pub fn end_work(error: Error) -> ! {
    std::panic::resume_unwind(Box::new(error))
}

impl Error {
    /// A broken contract, in words.
    pub fn bad(message: impl Into<String>) -> Self {
        Self::BadArgument(message.into())
    }

    /// The only place where an error becomes a number.
    pub fn code(&self) -> Code {
        match self {
            Self::BadArgument(_)
            | Self::StaleHandle { .. }
            | Self::Null(_)
            | Self::ShortStruct { .. }
            | Self::Constraint { .. } => Code::InvalidArgument,
            Self::Program { code, .. } => *code,
            Self::WrongState(_) => Code::FailedPrecondition,
            Self::NotFound(_) => Code::NotFound,
            Self::OutOfMemory { .. } | Self::HostMemory { .. } => Code::ResourceExhausted,
            Self::Unimplemented(_) => Code::Unimplemented,
            Self::Verbatim { code, .. } => *code,
            Self::Panic { .. } | Self::Host(_) => Code::Internal,
        }
    }
}

/// A size as the real library writes it: `8.00M`, `6.43M`, `512B`.
///
/// Source: the texts of XLA's error pages E0100 and E0101.
pub fn short(size: Bytes) -> String {
    let n = size.0;
    let units = [(1_u64 << 40, "T"), (1 << 30, "G"), (1 << 20, "M"), (1 << 10, "K")];
    match units.into_iter().find(|(unit, _)| n >= *unit) {
        // Hundredths, cut off and not rounded, in integers so that large sizes stay exact.
        Some((unit, letter)) => {
            let hundredths = u128::from(n) * 100 / u128::from(unit);
            format!("{}.{:02}{letter}", hundredths / 100, hundredths % 100)
        }
        None => format!("{n}B"),
    }
}

fn fragmentation(asked: Bytes, free: Bytes, hole: Bytes) -> String {
    if asked > free {
        return String::new();
    }
    let hole = short(hole);
    format!(" Due to fragmentation, the largest contiguous region of free memory is {hole}.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn out_of_memory_speaks_as_the_real_library_does() {
        let full = Error::OutOfMemory {
            asked: Bytes::mib(8),
            free: Bytes(6_742_344),
            hole: Bytes(6_742_344),
            place: "0x0x1_HBM0".into(),
        };
        assert_eq!(
            full.to_string(),
            "Error allocating device buffer: Attempting to allocate 8.00M. \
             That was not possible. There are 6.43M free.; (0x0x1_HBM0)"
        );
        assert_eq!(full.code(), Code::ResourceExhausted);
    }

    #[test]
    fn fragmentation_is_named_only_when_the_sum_would_do() {
        let holes = Error::OutOfMemory {
            asked: Bytes::mib(8),
            free: Bytes::mib(9),
            hole: Bytes::mib(5),
            place: "0x0x0_HBM0".into(),
        };
        let text = holes.to_string();
        assert!(text.contains("largest contiguous region of free memory is 5.00M."), "{text}");
    }

    #[test]
    fn every_code_is_found_by_its_number_and_zero_is_none() {
        for number in 1..=16 {
            assert_eq!(Code::from_number(number).map(|code| code as i32), Some(number));
        }
        assert_eq!(Code::from_number(0), None);
        assert_eq!(Code::from_number(17), None);
    }
}
