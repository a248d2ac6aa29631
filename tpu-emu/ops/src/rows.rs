//! Kernels over arrays that have a row for each device, or for each set of devices that have the
//! same: collectives move and combine rows.
use super::decision::Decision;
use super::{Cost, Cx, Kernel};
use tpu_base::error::Result;
use tpu_base::tensor::Shape;
use tpu_kernels::movement::block_copy::BlockCopy;
use tpu_kernels::parallel;

/// Another kernel over some rows of the operand, for each row of the result.
///
/// `members` are the rows that it takes for each row of the result, in the kernel's order.
pub fn of_rows(
    kernel: Box<dyn Kernel>,
    (row, result): (&Shape, &Shape),
    members: Vec<Vec<usize>>,
) -> Box<dyn Kernel> {
    let (row, result) = (row.bytes(), result.bytes());
    Box::new(OfRows { kernel, row, result, members })
}

/// The rows of the operand with these numbers, and rows of zeros.
pub fn picked(row: &Shape, picks: Vec<Option<usize>>) -> Box<dyn Kernel> {
    Box::new(Picked { row: row.bytes(), picks })
}

/// Each member of a group sends its part of `split` to each, which puts what it receives side by
/// side along `concat`. `members` are the rows of each group's members; the results' rows are
/// those of the groups' members in that order.
pub fn exchanged(
    row: &Shape,
    (split, concat): (usize, usize),
    members: Vec<Vec<usize>>,
) -> Box<dyn Kernel> {
    let count = members.first().map_or(1, Vec::len);
    let mut part = row.clone();
    part.dims[split] /= count;
    let mut result = part.clone();
    result.dims[concat] *= count;
    let (from, to, width) = (row.strides(), result.strides(), row.dtype.host_bytes());
    Box::new(Exchanged {
        copy: BlockCopy::new(width, &part.dims, &from, &to),
        row: row.bytes(),
        sent: part.dims[split] * from[split] * width,
        received: part.dims[concat] * to[concat] * width,
        members,
    })
}

/// The first row, which all the others must equal; with the devices that have each row.
pub fn agreed(decision: Decision, devices: Vec<Vec<usize>>) -> Box<dyn Kernel> {
    Box::new(Agreed { decision, devices })
}

#[derive(Debug)]
struct OfRows {
    kernel: Box<dyn Kernel>,
    row: usize,
    result: usize,
    members: Vec<Vec<usize>>,
}

impl Kernel for OfRows {
    fn run(&self, cx: &mut Cx<'_>, operands: &[&[u8]], results: &mut [&mut [u8]]) -> Result<()> {
        for (number, members) in self.members.iter().enumerate() {
            let row = |&row: &usize| &operands[0][row * self.row..][..self.row];
            let rows: Vec<&[u8]> = members.iter().map(row).collect();
            let result = &mut results[0][number * self.result..][..self.result];
            self.kernel.run(cx, &rows, &mut [result])?;
        }
        Ok(())
    }

    fn scratch(&self) -> usize {
        self.kernel.scratch()
    }

    fn cost(&self) -> Cost {
        let one = self.kernel.cost();
        #[expect(clippy::cast_precision_loss, reason = "an estimate")]
        let count = self.members.len() as f64;
        Cost { flops: one.flops * count, transcendentals: one.transcendentals * count }
    }
}

#[derive(Debug)]
struct Picked {
    row: usize,
    picks: Vec<Option<usize>>,
}

impl Kernel for Picked {
    fn run(&self, _: &mut Cx<'_>, operands: &[&[u8]], results: &mut [&mut [u8]]) -> Result<()> {
        if self.row == 0 {
            return Ok(());
        }
        for (result, pick) in results[0].chunks_exact_mut(self.row).zip(&self.picks) {
            match pick {
                Some(row) => result.copy_from_slice(&operands[0][row * self.row..][..self.row]),
                None => result.fill(0),
            }
        }
        Ok(())
    }

    fn cost(&self) -> Cost {
        Cost::default()
    }
}

#[derive(Debug)]
struct Exchanged {
    copy: BlockCopy,
    row: usize,
    /// Bytes from one part that is sent to the next.
    sent: usize,
    /// Bytes from one part that is received to the next.
    received: usize,
    members: Vec<Vec<usize>>,
}

impl Kernel for Exchanged {
    fn run(&self, _: &mut Cx<'_>, operands: &[&[u8]], results: &mut [&mut [u8]]) -> Result<()> {
        if self.row == 0 {
            return Ok(());
        }
        let receivers = self.members.iter().flat_map(|all| (0..all.len()).map(move |at| (all, at)));
        let receivers: Vec<(&Vec<usize>, usize)> = receivers.collect();
        parallel::chunks_mut(&mut *results[0], self.row, |number, result| {
            let Some((members, place)) = receivers.get(number) else { return };
            for (at, sender) in members.iter().enumerate() {
                let from = &operands[0][sender * self.row..][..self.row];
                self.copy.run(&from[place * self.sent..], &mut result[at * self.received..]);
            }
        });
        Ok(())
    }

    fn cost(&self) -> Cost {
        Cost::default()
    }
}

#[derive(Debug)]
struct Agreed {
    decision: Decision,
    devices: Vec<Vec<usize>>,
}

impl Kernel for Agreed {
    fn run(&self, _: &mut Cx<'_>, operands: &[&[u8]], results: &mut [&mut [u8]]) -> Result<()> {
        let width = results[0].len().max(1);
        self.decision.agreed(operands[0].chunks_exact(width), &self.devices, &mut *results[0])
    }

    fn cost(&self) -> Cost {
        Cost::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::across;
    use tpu_base::tensor::DType;

    fn run(kernel: &dyn Kernel, operand: &[u8], bytes: usize) -> Result<Vec<u8>> {
        let (mut scratch, mut result) = (vec![0; kernel.scratch()], vec![7; bytes]);
        let mut seed = 0;
        let mut cx = Cx::alone(&mut scratch, &mut seed);
        kernel.run(&mut cx, &[operand], &mut [&mut result])?;
        Ok(result)
    }

    #[test]
    fn a_kernel_is_run_over_some_rows_for_each_row_of_the_result() {
        let (row, pair) = (Shape::new(DType::U8, [2]), Shape::new(DType::U8, [4]));
        let join = across::join(&row, &pair, &[2]);
        let kernel = of_rows(join, (&row, &pair), vec![vec![2, 0], vec![1, 1]]);
        assert_eq!(run(&*kernel, &[1, 2, 3, 4, 5, 6], 8).unwrap(), [5, 6, 1, 2, 3, 4, 3, 4]);
    }

    #[test]
    fn rows_are_picked_and_who_receives_nothing_has_zeros() {
        let kernel = picked(&Shape::new(DType::U8, [2]), vec![Some(1), None, Some(0)]);
        assert_eq!(run(&*kernel, &[1, 2, 3, 4], 6).unwrap(), [3, 4, 0, 0, 1, 2]);
    }

    #[test]
    fn parts_are_exchanged_among_the_members_of_each_group() {
        // Rows of 2 × 2: the first axis is split, the second grows.
        let row = Shape::new(DType::U8, [2, 2]);
        let kernel = exchanged(&row, (0, 1), vec![vec![0, 1]]);
        let made = run(&*kernel, &[1, 2, 3, 4, 5, 6, 7, 8], 8).unwrap();
        assert_eq!(made, [1, 2, 5, 6, 3, 4, 7, 8]);
    }
}
