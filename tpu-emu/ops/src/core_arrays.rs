//! Arrays in memories that each core of a device has for itself.

/// Which arrays of a kernel lie in memories that each core of a device has for itself, and last
/// longer than the kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CoreArrays {
    /// How many cores the kernel runs on.
    pub cores: usize,
    /// Whether each operand is one.
    pub operands: Vec<bool>,
    /// Whether each result is one.
    pub results: Vec<bool>,
}
