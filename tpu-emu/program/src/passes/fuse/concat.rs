//! Operands side by side along an axis, read where they are.
use tpu_kernels::movement::strided_view::Access;
use tpu_kernels::movement::strided_view::AccessMap;

/// Operands that follow each other in every row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ConcatView {
    /// Elements of a row.
    row: usize,
    parts: Vec<ConcatPart>,
}

/// An operand's part of the rows.
#[derive(Debug, Clone, PartialEq, Eq)]
struct ConcatPart {
    operand: usize,
    /// The elements that it has, row after row.
    map: AccessMap,
    /// Where in a row they begin.
    start: usize,
    /// How many of them a row has. They lie side by side in the operand.
    extent: usize,
}

impl ConcatView {
    /// Operands with their elements and how many of them a row has; `None` where some of a row do
    /// not lie side by side.
    pub(crate) fn new(operands: Vec<(usize, AccessMap, usize)>) -> Option<Self> {
        let mut row = 0_usize;
        let mut parts = Vec::with_capacity(operands.len());
        for (operand, map, extent) in operands.into_iter().filter(|(.., extent)| *extent > 0) {
            let beside = map.run().is_some() || map.innermost().1.is_multiple_of(extent);
            if !beside && extent > 1 {
                return None;
            }
            parts.push(ConcatPart { operand, map, start: row, extent });
            row = row.checked_add(extent)?;
        }
        (row > 0).then_some(Self { row, parts })
    }

    /// The part of an element, the element's row, and its column.
    fn find(&self, element: usize) -> (&ConcatPart, usize, usize) {
        let (row, column) = (element / self.row, element % self.row);
        let inside = self.parts.partition_point(|part| part.start <= column);
        (&self.parts[inside - 1], row, column)
    }

    /// The operand that has an element, and the element's number there.
    pub(crate) fn at(&self, element: usize) -> (usize, usize) {
        let (part, row, column) = self.find(element);
        (part.operand, part.map.at(row * part.extent + column - part.start))
    }

    /// How many elements from this one on lie side by side.
    pub(crate) fn span(&self, element: usize) -> usize {
        let (part, _, column) = self.find(element);
        part.start + part.extent - column
    }

    /// Whether an operand is one of them.
    pub(crate) fn reads(&self, operand: usize) -> bool {
        self.parts.iter().any(|part| part.operand == operand)
    }

    /// This concatenation with other numbers of operands.
    #[must_use]
    pub(crate) fn renumbered(&self, mut number: impl FnMut(usize) -> usize) -> Self {
        let mut view = self.clone();
        view.parts.iter_mut().for_each(|part| part.operand = number(part.operand));
        view
    }

    /// Some of the elements, if they are of the first row.
    pub(crate) fn some(&self, first: usize, count: usize) -> Option<Self> {
        let end = first.checked_add(count).filter(|end| *end <= self.row)?;
        let cut = |part: &ConcatPart| {
            let from = first.max(part.start);
            let to = end.min(part.start + part.extent);
            let offset = part.map.at(from - part.start);
            let count = to - from;
            let map = AccessMap::new(&Access { offset, strides: vec![1] }, &[count]);
            (part.operand, map, count)
        };
        let inside = |part: &&ConcatPart| part.start < end && first < part.start + part.extent;
        Self::new(self.parts.iter().filter(inside).map(cut).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dense(offset: usize, count: usize) -> AccessMap {
        AccessMap::new(&Access { offset, strides: vec![1] }, &[count])
    }

    /// Two columns of operand 4 and three of operand 7, which has five, in each of two rows.
    fn columns() -> ConcatView {
        let three = Access { offset: 1, strides: vec![5, 1] };
        let parts = vec![(4, dense(0, 4), 2), (7, AccessMap::new(&three, &[2, 3]), 3)];
        ConcatView::new(parts).unwrap()
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
        let row = ConcatView::new(parts).unwrap();
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
        assert!(ConcatView::new(vec![(0, apart, 3)]).is_none());
        assert!(ConcatView::new(vec![(0, dense(0, 0), 0)]).is_none());
    }
}
