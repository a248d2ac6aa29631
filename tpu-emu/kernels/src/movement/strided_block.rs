//! Views as blocks that are copied to their places among rows.
use super::strided_view::AccessMap;

/// Elements of an operand that are put elsewhere, in elements.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StridedBlock {
    /// The first one's place in the operand.
    pub offset: usize,
    /// Extents, major first.
    pub dims: Vec<usize>,
    /// From one index to the next in the operand, per axis.
    pub from: Vec<usize>,
    /// From one index to the next in what they are put into, per axis.
    pub to: Vec<usize>,
}

impl AccessMap {
    /// The block that it is where its elements are cut into rows of so many, `pitch` elements apart in
    /// what they are put into; `None` if it goes backwards, repeats elements, or rows end elsewhere
    /// than its axes.
    pub fn in_rows(&self, elements: usize, pitch: usize) -> Option<StridedBlock> {
        let mut axes = Vec::new();
        // Elements of what lies within the axes so far.
        let mut inner = 1_usize;
        for &(extent, stride) in self.axes.iter().rev() {
            let stride =
                usize::try_from(stride).ok().filter(|&stride| stride > 0 || extent == 1)?;
            if inner >= elements {
                axes.push((extent, stride, inner / elements * pitch));
            } else {
                if !elements.is_multiple_of(inner) {
                    return None;
                }
                let within = extent.min(elements / inner);
                if !extent.is_multiple_of(within) {
                    return None;
                }
                axes.push((within, stride, inner));
                axes.push((extent / within, stride * within, pitch));
            }
            inner *= extent;
        }
        axes.retain(|&(extent, ..)| extent > 1);
        let all = || axes.iter().rev();
        let (dims, from) = (all().map(|of| of.0).collect(), all().map(|of| of.1).collect());
        let to = all().map(|of| of.2).collect();
        Some(StridedBlock { offset: self.offset, dims, from, to })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::movement::strided_view::Access;

    #[test]
    fn a_map_in_rows_is_the_block_that_its_elements_are() {
        // Rows of so many elements, 50 apart: each element comes from where the map says.
        let maps = [
            (3, vec![40, 1], vec![4, 12], vec![12, 6, 48, 24]),
            (0, vec![1], vec![48], vec![48, 12, 6]),
            (1, vec![100, 10, 2], vec![2, 4, 5], vec![20, 10, 5, 40]),
            (0, vec![7, 1], vec![5, 1], vec![5, 1]),
        ];
        for (offset, strides, dims, rows) in maps {
            let map = AccessMap::new(&Access { offset, strides }, &dims);
            for row in rows {
                let block = map.in_rows(row, 50).unwrap_or_else(|| panic!("rows of {row}"));
                let count: usize = block.dims.iter().product();
                assert_eq!(count, dims.iter().product::<usize>());
                for index in 0..count {
                    let (mut from, mut to, mut rest) = (block.offset, 0, index);
                    for axis in (0..block.dims.len()).rev() {
                        from += rest % block.dims[axis] * block.from[axis];
                        to += rest % block.dims[axis] * block.to[axis];
                        rest /= block.dims[axis];
                    }
                    assert_eq!((from, to), (map.at(index), index / row * 50 + index % row));
                }
            }
        }
        let map = |strides: &[isize], dims: &[usize]| {
            AccessMap::new(&Access { offset: 20, strides: strides.to_vec() }, dims)
        };
        assert_eq!(map(&[-10, 1], &[2, 5]).in_rows(5, 50), None, "backwards");
        assert_eq!(map(&[0, 1], &[2, 5]).in_rows(5, 50), None, "repeated");
        assert_eq!(map(&[10, 1], &[4, 6]).in_rows(8, 50), None, "rows end within an axis");
    }
}
