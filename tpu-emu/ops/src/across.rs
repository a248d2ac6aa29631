//! Kernels over the values of several devices, which lie side by side as operands.
use super::decision::Decision;
use super::{Cost, Cx, Kernel, RegionCode};
use std::sync::Arc;
use tpu_base::error::Result;
use tpu_base::tensor::Shape;
use tpu_kernels::movement::block_copy::BlockCopy;

/// The computation over equal arrays, pairwise in their order.
pub fn reduction(body: Arc<dyn RegionCode>, operand: &Shape, count: usize) -> Box<dyn Kernel> {
    Box::new(Reduction { body, elements: operand.elements(), bytes: operand.bytes(), count })
}

/// Tiles, row-major by their place, as one array.
pub fn join(tile: &Shape, whole: &Shape, tiles: &[usize]) -> Box<dyn Kernel> {
    let width = whole.dtype.host_bytes();
    let strides = whole.strides();
    let copy = BlockCopy::new(width, &tile.dims, &tile.strides(), &strides);
    let mut starts = vec![0];
    for ((&count, &size), &stride) in tiles.iter().zip(&tile.dims).zip(&strides) {
        let step = size * stride * width;
        starts =
            starts.iter().flat_map(|start| (0..count).map(move |at| start + at * step)).collect();
    }
    Box::new(Join { copy, starts: if tile.elements() == 0 { Vec::new() } else { starts } })
}

/// The first operand, which all the others must equal; with the devices that have each.
pub fn agreement(decision: Decision, devices: Vec<Vec<usize>>) -> Box<dyn Kernel> {
    Box::new(Agreement { decision, devices })
}

#[derive(Debug)]
struct Reduction {
    body: Arc<dyn RegionCode>,
    elements: usize,
    bytes: usize,
    count: usize,
}

impl Kernel for Reduction {
    fn run(&self, cx: &mut Cx<'_>, operands: &[&[u8]], results: &mut [&mut [u8]]) -> Result<()> {
        let result = &mut *results[0];
        let Some((first, rest)) = operands.split_first() else { return Ok(()) };
        if rest.is_empty() {
            result.copy_from_slice(first);
        }
        let held = &mut cx.scratch[..self.bytes];
        for (number, operand) in rest.iter().enumerate() {
            // By turns in one place and in the other, in the result at last.
            let last = (rest.len() - number) % 2 == 1;
            let (from, to) = if last { (&*held, &mut *result) } else { (&*result, &mut *held) };
            let from = if number == 0 { first } else { from };
            self.body.apply(self.elements, &[from, operand], &mut [to])?;
        }
        Ok(())
    }

    fn scratch(&self) -> usize {
        self.bytes
    }

    fn cost(&self) -> Cost {
        #[expect(clippy::cast_precision_loss, reason = "an estimate")]
        let flops = self.elements as f64 * self.count.saturating_sub(1) as f64;
        Cost { flops, transcendentals: 0.0 }
    }
}

#[derive(Debug)]
struct Join {
    copy: BlockCopy,
    /// Where each tile's first byte lies in the whole.
    starts: Vec<usize>,
}

impl Kernel for Join {
    fn run(&self, _: &mut Cx<'_>, operands: &[&[u8]], results: &mut [&mut [u8]]) -> Result<()> {
        for (tile, &start) in operands.iter().zip(&self.starts) {
            self.copy.run(tile, &mut results[0][start..]);
        }
        Ok(())
    }

    fn cost(&self) -> Cost {
        Cost::default()
    }
}

#[derive(Debug)]
struct Agreement {
    decision: Decision,
    devices: Vec<Vec<usize>>,
}

impl Kernel for Agreement {
    fn run(&self, _: &mut Cx<'_>, operands: &[&[u8]], results: &mut [&mut [u8]]) -> Result<()> {
        self.decision.agreed(operands.iter().copied(), &self.devices, &mut *results[0])
    }

    fn cost(&self) -> Cost {
        Cost::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{TestRegion, lane};
    use tpu_base::tensor::DType;

    fn run(kernel: &dyn Kernel, operands: &[&[u8]], bytes: usize) -> Result<Vec<u8>> {
        let (mut scratch, mut result) = (vec![0; kernel.scratch()], vec![0; bytes]);
        let mut seed = 0;
        let mut cx = Cx::alone(&mut scratch, &mut seed);
        kernel.run(&mut cx, operands, &mut [&mut result])?;
        Ok(result)
    }

    #[test]
    fn arrays_are_reduced_in_their_order() {
        let body = TestRegion::binary(lane!("subtract", U8 u8 => U8 u8, |a, b| a.wrapping_sub(b)));
        let kernel = reduction(body, &Shape::new(DType::U8, [2]), 3);
        let arrays: [&[u8]; 4] = [&[9, 8], &[1, 2], &[3, 4], &[1, 1]];
        assert_eq!(run(&*kernel, &arrays[..3], 2).unwrap(), [5, 2]);
        assert_eq!(run(&*kernel, &arrays, 2).unwrap(), [4, 1]);
        assert_eq!(run(&*kernel, &arrays[..2], 2).unwrap(), [8, 6]);
        assert_eq!(run(&*kernel, &arrays[..1], 2).unwrap(), [9, 8]);
    }

    #[test]
    fn tiles_become_one_array() {
        let tile = Shape::new(DType::U8, [1, 2]);
        let kernel = join(&tile, &Shape::new(DType::U8, [2, 4]), &[2, 2]);
        let tiles: [&[u8]; 4] = [&[1, 2], &[3, 4], &[5, 6], &[7, 8]];
        assert_eq!(run(&*kernel, &tiles, 8).unwrap(), [1, 2, 3, 4, 5, 6, 7, 8]);
    }

    #[test]
    fn those_who_decide_together_must_agree() {
        let kernel = agreement(Decision::default(), vec![vec![0], vec![1]]);
        assert_eq!(run(&*kernel, &[&[1], &[1]], 1).unwrap(), [1]);
        let error = run(&*kernel, &[&[1], &[0]], 1).unwrap_err().to_string();
        assert!(error.contains("device 0 decides true, device 1 decides false"), "{error}");
    }
}
