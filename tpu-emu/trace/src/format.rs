//! What the first bytes and the kinds of records are. `docs/trace-format.md` is the page of it.

/// The first bytes of every trace.
pub const MAGIC: [u8; 8] = *b"TPUEMUTR";
/// The one major version of the format that is read.
pub const FORMAT_MAJOR: u16 = 1;
/// The last minor version all of which is read.
pub(crate) const FORMAT_MINOR: u16 = 7;

/// Kinds of records, the first byte of each. A later minor version may add some.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RecordKind {
    Nothing,
    Process,
    Space,
    Spec,
    Frame,
    Stack,
    Allocate,
    Free,
    Refused,
    Usage,
    Label,
    Dispatch,
    Fault,
    Loss,
    Calls,
    Call,
    Mark,
    Program,
    Holes,
    ClientEnd,
    Launch,
    RefusedProgram,
    Name,
    Check,
}

impl RecordKind {
    /// The kind of a first byte; `None` for one of a later version.
    pub(crate) fn of(byte: u8) -> Option<Self> {
        Some(match byte {
            0 => Self::Nothing,
            1 => Self::Process,
            2 => Self::Space,
            3 => Self::Spec,
            4 => Self::Frame,
            5 => Self::Stack,
            6 => Self::Allocate,
            7 => Self::Free,
            8 => Self::Refused,
            9 => Self::Usage,
            10 => Self::Label,
            11 => Self::Dispatch,
            12 => Self::Fault,
            13 => Self::Loss,
            14 => Self::Calls,
            15 => Self::Call,
            16 => Self::Mark,
            17 => Self::Program,
            18 => Self::Holes,
            19 => Self::ClientEnd,
            20 => Self::Launch,
            21 => Self::RefusedProgram,
            22 => Self::Name,
            23 => Self::Check,
            _ => return None,
        })
    }
}
