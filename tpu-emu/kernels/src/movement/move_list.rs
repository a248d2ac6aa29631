//! What a kernel does that only moves elements.
use super::index::Outside;
use tpu_base::tensor::DType;

/// Elements that lie side by side, from an operand to the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Move {
    /// The operand.
    pub operand: usize,
    /// The first byte there.
    pub from: usize,
    /// The first byte in the result.
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
    /// The type.
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

#[cfg(any(test, feature = "testing"))]
impl Moves {
    /// Does what is moved, on operands of which the one that is updated in place is not read.
    pub fn follow(&self, operands: &[&[u8]], result: &mut [u8]) {
        use super::index::{clamped, reader};
        let mut shift = 0;
        for start in &self.starts {
            let bytes = &operands[start.operand][start.at..];
            let index = reader(start.dtype).expect("an integer type")(bytes, 0);
            let near = clamped(index, start.room);
            if self.outside == Outside::Skip && i64::try_from(near) != Ok(index) {
                return;
            }
            shift += near * start.step;
        }
        let (read, written) = if self.into { (0, shift) } else { (shift, 0) };
        for run in &self.moves {
            assert!(run.bytes.is_multiple_of(self.width));
            let from = &operands[run.operand][run.from + read..][..run.bytes];
            result[run.to + written..][..run.bytes].copy_from_slice(from);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_index_outside_is_moved_or_skips_everything() {
        let start = Start { operand: 1, at: 1, dtype: DType::S8, room: 2, step: 2 };
        let run = Move { operand: 0, from: 0, to: 0, bytes: 2 };
        let of = |outside, index: i8| {
            let (moves, starts) = (vec![run], vec![start]);
            let moves = Moves { width: 1, moves, starts, outside, into: true };
            let mut result = [0; 6];
            moves.follow(&[&[7, 8], &[0, index.cast_unsigned()]], &mut result);
            result
        };
        assert_eq!(of(Outside::Clamp, 1), [0, 0, 7, 8, 0, 0]);
        assert_eq!(of(Outside::Clamp, 9), [0, 0, 0, 0, 7, 8]);
        assert_eq!(of(Outside::Clamp, -9), [7, 8, 0, 0, 0, 0]);
        assert_eq!(of(Outside::Skip, 2), [0, 0, 0, 0, 7, 8]);
        assert_eq!([3, -1].map(|index| of(Outside::Skip, index)), [[0; 6]; 2]);
    }
}
