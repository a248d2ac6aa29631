//! What is kept of a change in memory: who made it, and what it was.
use super::{LabelId, StackId};
use tpu_base::entry::FunctionName;
use tpu_base::units::{Bytes, DevAddr, Nanos};

/// What happened to a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeKind {
    /// It was taken.
    Allocate,
    /// It was given back.
    Free,
    /// There was no room for it; the address means nothing.
    Refused,
}

/// Who did something: taken on the caller's thread, before any lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Origin {
    /// The API function, empty where none was on the stack.
    pub entry: FunctionName,
    /// When.
    pub time: Nanos,
    /// The stack of that thread.
    pub stack: StackId,
    /// The operating system's number of the thread.
    pub thread: u32,
}

/// What the ledger keeps with each live block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record {
    /// Who took it.
    pub origin: Origin,
    /// Number of the description of the array that lies in it.
    pub spec: u32,
    /// What the block is for, where a program took it.
    pub label: LabelId,
}

/// One line of the history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Past {
    /// What happened.
    pub kind: ChangeKind,
    /// Memory space.
    pub space: u32,
    /// Position in the order of changes of that space.
    pub sequence: u64,
    /// Where the block starts.
    pub address: DevAddr,
    /// The size, padded.
    pub size: Bytes,
    /// Who did it, and what lies in the block.
    pub record: Record,
}

// `docs/environment.md` says what a kept change costs.
const _: () = assert!(size_of::<Past>() == 64);
