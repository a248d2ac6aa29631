//! Copies of blocks between arrays, and fills: bytes of any element width.

/// One loop of a copy: how often, and how many bytes further on each side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Axis {
    count: usize,
    from: usize,
    to: usize,
}

/// A copy of a block with any strides, reduced to as few loops and as long runs as it allows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockCopy {
    /// Outer loops first.
    axes: Vec<Axis>,
    /// Bytes that lie side by side on both sides; 0 for an empty block.
    run: usize,
}

impl BlockCopy {
    /// A block of `dims` elements of `width` bytes; `from` and `to` are the elements from one
    /// index to the next, per axis, in the source and in the destination.
    pub fn new(width: usize, dims: &[usize], from: &[usize], to: &[usize]) -> Self {
        if width == 0 || dims.contains(&0) {
            return Self { axes: Vec::new(), run: 0 };
        }
        let mut run = width;
        // Inner loops first while they are collected.
        let mut axes: Vec<Axis> = Vec::with_capacity(dims.len());
        for ((&count, &from), &to) in dims.iter().zip(from).zip(to).rev() {
            let axis = Axis { count, from: from * width, to: to * width };
            match axes.last_mut() {
                _ if count == 1 => {}
                None if axis.from == run && axis.to == run => run *= count,
                Some(inner)
                    if axis.from == inner.from * inner.count
                        && axis.to == inner.to * inner.count =>
                {
                    inner.count *= count;
                }
                _ => axes.push(axis),
            }
        }
        axes.reverse();
        Self { axes, run }
    }

    /// Copies the block; both slices begin at its first element.
    pub fn run(&self, from: &[u8], to: &mut [u8]) {
        if self.run > 0 {
            level(&self.axes, self.run, from, to);
        }
    }

    /// Its bytes, if the block is one run on both sides.
    pub fn one_run(&self) -> Option<usize> {
        self.axes.is_empty().then_some(self.run)
    }
}

fn level(axes: &[Axis], run: usize, from: &[u8], to: &mut [u8]) {
    match axes {
        [] => to[..run].copy_from_slice(&from[..run]),
        &[axis] => match run {
            1 => elements::<1>(axis, from, to),
            2 => elements::<2>(axis, from, to),
            4 => elements::<4>(axis, from, to),
            8 => elements::<8>(axis, from, to),
            16 => elements::<16>(axis, from, to),
            _ => {
                for index in 0..axis.count {
                    let from = &from[index * axis.from..][..run];
                    to[index * axis.to..][..run].copy_from_slice(from);
                }
            }
        },
        [axis, inner @ ..] => {
            for index in 0..axis.count {
                level(inner, run, &from[index * axis.from..], &mut to[index * axis.to..]);
            }
        }
    }
}

/// One loop over runs of `N` bytes: the length is known to the compiler.
fn elements<const N: usize>(axis: Axis, from: &[u8], to: &mut [u8]) {
    let Axis { count, from: from_step, to: to_step } = axis;
    if to_step == N {
        for (index, to) in to[..count * N].chunks_exact_mut(N).enumerate() {
            to.copy_from_slice(&from[index * from_step..][..N]);
        }
    } else {
        for index in 0..count {
            to[index * to_step..][..N].copy_from_slice(&from[index * from_step..][..N]);
        }
    }
}

/// Fills `to` with copies of one element.
pub fn fill(to: &mut [u8], element: &[u8]) {
    let Some(&first) = element.first() else { return };
    if element.iter().all(|&byte| byte == first) {
        to.fill(first);
        return;
    }
    // Blocks of many elements: the copies are long whatever the width.
    const BLOCK: usize = 4096;
    let head = BLOCK.min(to.len());
    let (block, rest) = to.split_at_mut(head - head % element.len());
    for part in block.chunks_exact_mut(element.len()) {
        part.copy_from_slice(element);
    }
    if block.is_empty() {
        return;
    }
    for part in rest.chunks_mut(block.len()) {
        part.copy_from_slice(&block[..part.len()]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loops_that_continue_each_other_become_one() {
        let whole = BlockCopy::new(4, &[2, 3, 4], &[12, 4, 1], &[12, 4, 1]);
        assert_eq!(whole, BlockCopy { axes: Vec::new(), run: 96 });
        assert_eq!(whole.one_run(), Some(96));
        // The columns of a slice: two loops over rows are one, each a run of two elements.
        let slice = BlockCopy::new(4, &[2, 3, 2], &[12, 4, 1], &[6, 2, 1]);
        assert_eq!(slice, BlockCopy { axes: vec![Axis { count: 6, from: 16, to: 8 }], run: 8 });
        assert_eq!(BlockCopy::new(4, &[2, 0], &[0, 1], &[0, 1]).run, 0);
    }

    #[test]
    fn a_transposition_is_copied_for_every_width() {
        for width in [1, 2, 4, 8, 16, 3] {
            let from: Vec<u8> = (0..6 * width).map(|byte| u8::try_from(byte).unwrap()).collect();
            let mut to = vec![0; 6 * width];
            BlockCopy::new(width, &[3, 2], &[1, 3], &[2, 1]).run(&from, &mut to);
            let order: Vec<usize> =
                to.chunks(width).map(|element| usize::from(element[0]) / width).collect();
            assert_eq!(order, [0, 3, 1, 4, 2, 5], "{width}");
        }
    }

    #[test]
    fn a_fill_repeats_the_element_past_the_first_block() {
        let mut to = vec![0; 3 * 4099];
        fill(&mut to, &[1, 2, 3]);
        assert!(to.chunks(3).all(|element| element == [1, 2, 3]));
        let mut bytes = vec![0; 5];
        fill(&mut bytes, &[7]);
        assert_eq!(bytes, [7; 5]);
        fill(&mut [], &[1, 2]);
    }
}
