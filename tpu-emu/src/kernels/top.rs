//! The first few of each row in a known order.
use super::order::{Encode, Key, encoder};
use super::walk::{carve, carved};
use crate::tensor::Shape;

/// Rows along one axis, of which the first elements in order are wanted.
#[derive(Debug)]
pub struct Top {
    outer: usize,
    length: usize,
    inner: usize,
    wanted: usize,
    key: Key,
    encode: Encode,
}

/// One row: where it starts in the array and among the results, and what was found.
#[derive(Debug)]
pub struct Row<'a> {
    /// First element of the row.
    pub from: usize,
    /// First result of the row.
    pub to: usize,
    /// Elements, and results, from one of a row to the next.
    pub step: usize,
    /// Indices along the row, first in order first.
    pub indices: &'a [u128],
}

impl Row<'_> {
    /// The indices along the row.
    pub fn indices(&self) -> impl Iterator<Item = usize> {
        let low = |&packed: &u128| usize::try_from(packed & u128::from(u32::MAX)).unwrap_or(0);
        self.indices.iter().map(low)
    }
}

impl Top {
    /// The first `wanted` along `axis`. `None` for types without an order, and for rows of more
    /// than 2³² elements.
    pub fn new(shape: &Shape, axis: usize, wanted: usize, key: Key) -> Option<Self> {
        let length = shape.dims[axis];
        u32::try_from(length).ok()?;
        Some(Self {
            outer: shape.dims[..axis].iter().product(),
            length,
            inner: shape.dims[axis + 1..].iter().product(),
            wanted,
            key,
            encode: encoder(key.dtype)?,
        })
    }

    /// Elements of all rows.
    pub fn elements(&self) -> usize {
        self.outer * self.length * self.inner
    }

    /// Scratch bytes of [`Top::run`].
    pub fn scratch(&self) -> usize {
        carved(self.parts())
    }

    fn parts(&self) -> [usize; 2] {
        [self.length * size_of::<u64>(), self.length * size_of::<u128>()]
    }

    /// Finds the first elements of each row of `operand`; equal ones in the order of the row.
    pub fn run(&self, operand: &[u8], scratch: &mut [u8], row: &mut dyn FnMut(&Row<'_>)) {
        let mut parts = carve(scratch, self.parts());
        let packed: &mut [u128] = bytemuck::cast_slice_mut(parts.remove(1));
        let codes: &mut [u64] = bytemuck::cast_slice_mut(parts.remove(0));
        let found = self.wanted.min(self.length);
        for outer in 0..self.outer {
            for inner in 0..self.inner {
                let from = outer * self.length * self.inner + inner;
                let to = outer * self.wanted * self.inner + inner;
                if found > 0 {
                    (self.encode)(&self.key, operand, from, self.inner, codes);
                    for ((packed, &code), index) in packed.iter_mut().zip(&*codes).zip(0_u32..) {
                        *packed = u128::from(code) << 32 | u128::from(index);
                    }
                    if found < self.length {
                        packed.select_nth_unstable(found - 1);
                    }
                    packed[..found].sort_unstable();
                }
                row(&Row { from, to, step: self.inner, indices: &packed[..found] });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor::DType;

    #[test]
    fn the_largest_come_first_and_equal_ones_in_order() {
        let key = Key {
            operand: 0,
            dtype: DType::F32,
            descending: true,
            total: true,
            nan_is_largest: true,
        };
        let shape = Shape::new(DType::F32, [4, 2]);
        let x = [1.0_f32, -0.0, 3.0, 0.0, 3.0, f32::NAN, 2.0, -1.0];
        let top = Top::new(&shape, 0, 2, key).unwrap();
        let mut scratch = vec![0_u128; top.scratch() / 16];
        let mut found = Vec::new();
        top.run(bytemuck::cast_slice(&x), bytemuck::cast_slice_mut(&mut scratch), &mut |row| {
            found.push((row.from, row.to, row.indices().collect::<Vec<_>>()));
        });
        assert_eq!(found, [(0, 0, vec![1, 2]), (1, 1, vec![2, 1])]);
    }
}
