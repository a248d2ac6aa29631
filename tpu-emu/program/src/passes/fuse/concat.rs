//! Operands side by side along an axis, read where they are.
use tpu_kernels::movement::strided_view::Access;
use tpu_kernels::movement::strided_view::AccessMap;

/// Operands that follow each other in every row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pieces {
    /// Elements of a row.
    row: usize,
    pieces: Vec<Piece>,
}

/// An operand's part of the rows.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Piece {
    operand: usize,
    /// The elements that it has, row after row.
    map: AccessMap,
    /// Where in a row they begin.
    start: usize,
    /// How many of them a row has. They lie side by side in the operand.
    extent: usize,
}

impl Pieces {
    /// Operands with their elements and how many of them a row has; `None` where some of a row do
    /// not lie side by side.
    pub(crate) fn new(parts: Vec<(usize, AccessMap, usize)>) -> Option<Self> {
        let mut row = 0_usize;
        let mut pieces = Vec::with_capacity(parts.len());
        for (operand, map, extent) in parts.into_iter().filter(|(.., extent)| *extent > 0) {
            let beside = map.run().is_some() || map.innermost().1.is_multiple_of(extent);
            if !beside && extent > 1 {
                return None;
            }
            pieces.push(Piece { operand, map, start: row, extent });
            row = row.checked_add(extent)?;
        }
        (row > 0).then_some(Self { row, pieces })
    }

    /// The piece of an element, the element's row, and its place in the row.
    fn find(&self, element: usize) -> (&Piece, usize, usize) {
        let (row, column) = (element / self.row, element % self.row);
        let inside = self.pieces.partition_point(|piece| piece.start <= column);
        (&self.pieces[inside - 1], row, column)
    }

    /// The operand that has an element, and the element's number there.
    pub(crate) fn at(&self, element: usize) -> (usize, usize) {
        let (piece, row, column) = self.find(element);
        (piece.operand, piece.map.at(row * piece.extent + column - piece.start))
    }

    /// How many elements from this one on lie side by side.
    pub(crate) fn span(&self, element: usize) -> usize {
        let (piece, _, column) = self.find(element);
        piece.start + piece.extent - column
    }

    /// Whether an operand is one of them.
    pub(crate) fn reads(&self, operand: usize) -> bool {
        self.pieces.iter().any(|piece| piece.operand == operand)
    }

    /// This concatenation with other numbers of operands.
    #[must_use]
    pub(crate) fn renumbered(&self, mut number: impl FnMut(usize) -> usize) -> Self {
        let mut pieces = self.clone();
        pieces.pieces.iter_mut().for_each(|piece| piece.operand = number(piece.operand));
        pieces
    }

    /// Some of the elements, if they are of the first row.
    pub(crate) fn some(&self, first: usize, count: usize) -> Option<Self> {
        let end = first.checked_add(count).filter(|end| *end <= self.row)?;
        let cut = |piece: &Piece| {
            let from = first.max(piece.start);
            let to = end.min(piece.start + piece.extent);
            let offset = piece.map.at(from - piece.start);
            let count = to - from;
            let map = AccessMap::new(&Access { offset, strides: vec![1] }, &[count]);
            (piece.operand, map, count)
        };
        let inside = |piece: &&Piece| piece.start < end && first < piece.start + piece.extent;
        Self::new(self.pieces.iter().filter(inside).map(cut).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dense(offset: usize, count: usize) -> AccessMap {
        AccessMap::new(&Access { offset, strides: vec![1] }, &[count])
    }

    /// Two columns of operand 4 and three of operand 7, which has five, in each of two rows.
    fn columns() -> Pieces {
        let three = Access { offset: 1, strides: vec![5, 1] };
        let parts = vec![(4, dense(0, 4), 2), (7, AccessMap::new(&three, &[2, 3]), 3)];
        Pieces::new(parts).unwrap()
    }

    #[test]
    fn an_element_is_found_in_its_operand() {
        let all: Vec<(usize, usize)> = (0..10).map(|at| columns().at(at)).collect();
        let first = [(4, 0), (4, 1), (7, 1), (7, 2), (7, 3)];
        let second = [(4, 2), (4, 3), (7, 6), (7, 7), (7, 8)];
        assert_eq!(all, [first, second].concat());
        let spans: Vec<usize> = (0..6).map(|at| columns().span(at)).collect();
        assert_eq!(spans, [2, 1, 3, 2, 1, 2]);
    }

    #[test]
    fn some_of_a_single_row_are_pieces_too() {
        let parts = vec![(0, dense(5, 1), 1), (1, dense(0, 0), 0), (2, dense(3, 6), 6)];
        let row = Pieces::new(parts).unwrap();
        let some = row.some(0, 4).unwrap();
        let all: Vec<(usize, usize)> = (0..4).map(|at| some.at(at)).collect();
        assert_eq!(all, [(0, 5), (2, 3), (2, 4), (2, 5)]);
        assert_eq!(row.some(2, 5).unwrap().at(0), (2, 4));
        assert!(!row.some(2, 5).unwrap().reads(0));
        assert!(row.some(2, 6).is_none());
        assert_eq!(columns().some(1, 3).unwrap().at(2), (7, 2));
        assert!(columns().some(1, 5).is_none());
    }

    #[test]
    fn what_lies_apart_is_no_piece() {
        let apart = AccessMap::new(&Access { offset: 0, strides: vec![2] }, &[3]);
        assert!(Pieces::new(vec![(0, apart, 3)]).is_none());
        assert!(Pieces::new(vec![(0, dense(0, 0), 0)]).is_none());
    }
}
