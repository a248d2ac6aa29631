//! What is done for speed. Tests run programs with and without.

/// Choices that change how fast a program runs and never what it gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tactics {
    /// Elementwise operations share loops, and cheap values are made where they are read.
    pub(crate) fuse: bool,
    /// Values take over the memory of those that nobody needs any more.
    pub(crate) join: bool,
}

impl Tactics {
    /// Everything.
    pub const FAST: Self = Self { fuse: true, join: true };
}
