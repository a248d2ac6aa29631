//! What a kernel does that only moves elements.
use super::index::Outside;
use crate::tensor::DType;

/// Elements that lie side by side, from an operand to the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Move {
    /// The operand.
    pub operand: usize,
    /// Its first byte there.
    pub from: usize,
    /// Its first byte in the result.
    pub to: usize,
    /// How many bytes.
    pub bytes: usize,
}

/// An index along an axis that an operand tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Start {
    /// The operand.
    pub operand: usize,
    /// The index's first byte there.
    pub at: usize,
    /// Its type.
    pub dtype: DType,
    /// The largest index that is inside.
    pub room: usize,
    /// Bytes from one index to the next.
    pub step: usize,
}

/// All that a kernel with one result does, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Moves {
    /// Bytes of an element.
    pub width: usize,
    /// What is moved.
    pub moves: Vec<Move>,
    /// What is added to the places in the array.
    pub starts: Vec<Start>,
    /// What becomes of an index that is not inside: the nearest one, or nothing is moved.
    pub outside: Outside,
    /// Whether the array is the result; otherwise it is operand 0.
    pub into: bool,
}
