//! A part of an array from a start that the program computes.
use super::{Cost, Cx, Entry, Kernel, Lowered, Site, factors};
use std::sync::Arc;
use tpu_base::error::Result;
use tpu_base::tensor::{DType, Shape};
use tpu_kernels::movement::block_copy::BlockCopy;
use tpu_kernels::movement::index::{IndexReader, Outside, clamped, reader};
use tpu_kernels::movement::move_list::{Move, Moves, Start};
use tpu_kernels::movement::strided_view::Access;

/// The part of extents `slice_sizes` at the start indices, moved so far that it lies inside.
///
/// Shapes: `operand [o..]`; as many scalars of one integer type; result `[slice_sizes..]`.
/// Errors: `Constraint` C2 to C4.
/// Source: StableHLO specification, "dynamic_slice", C1-C5.
pub const OP: Entry =
    Entry { factors: factors::dynamic_slice, ..Entry::new("dynamic_slice", infer, lower) };

fn infer(site: &Site<'_>) -> Result<Vec<Shape>> {
    let Some((operand, starts)) = site.operands.split_first() else {
        return Err(site.violates("C2", "no operand"));
    };
    let sizes = site.indices("slice_sizes")?;
    if sizes.len() != operand.rank() || starts.len() != operand.rank() {
        let what = format!("{} starts, {} sizes for {operand}", starts.len(), sizes.len());
        return Err(site.violates("C2", what));
    }
    for start in starts {
        if start.rank() != 0 || start.dtype != starts[0].dtype || reader(start.dtype).is_none() {
            return Err(site.violates("C3", format!("start indices {starts:?}")));
        }
    }
    if sizes.iter().zip(&operand.dims).any(|(size, dim)| size > dim) {
        return Err(site.violates("C4", format!("slice_sizes {sizes:?} of {operand}")));
    }
    Ok(vec![Shape::new(operand.dtype, sizes)])
}

fn lower(site: &Site<'_>) -> Result<Lowered> {
    let operand = &site.operands[0];
    let result = &site.results[0];
    let rooms: Vec<usize> =
        operand.dims.iter().zip(&result.dims).map(|(dim, size)| dim - size).collect();
    if rooms.iter().all(|&room| room == 0) {
        return Ok(Lowered::View);
    }
    let known: Option<Vec<usize>> = (1..site.operands.len())
        .zip(&rooms)
        .map(|(at, &room)| Some(clamped(*site.known_integers(at)?.first()?, room)))
        .collect();
    if let Some(starts) = known {
        let steps = vec![1; starts.len()];
        return Ok(Lowered::Access(Access::window(operand, &starts, &steps)));
    }
    let dtype = site.operands[1].dtype;
    let read =
        reader(dtype).ok_or_else(|| site.unimplemented(format!("{} index", dtype.name())))?;
    Ok(Lowered::Kernel(Box::new(DynamicSlice::new(operand, result, (dtype, read)))))
}

#[derive(Debug)]
struct DynamicSlice {
    read: IndexReader,
    /// Per axis.
    steps: Vec<Start>,
    /// Bytes of an element.
    width: usize,
    copy: BlockCopy,
}

impl DynamicSlice {
    fn new(operand: &Shape, result: &Shape, (dtype, read): (DType, IndexReader)) -> Self {
        let width = operand.dtype.host_bytes();
        let strides = operand.strides();
        let copy = BlockCopy::new(width, &result.dims, &strides, &result.strides());
        let extents = operand.dims.iter().zip(&result.dims).zip(&strides);
        let steps = extents.enumerate().map(|(axis, ((dim, size), &stride))| Start {
            operand: axis + 1,
            at: 0,
            dtype,
            room: dim - size,
            step: stride * width,
        });
        Self { read, steps: steps.collect(), width, copy }
    }
}

impl Kernel for DynamicSlice {
    fn run(&self, _: &mut Cx<'_>, operands: &[&[u8]], results: &mut [&mut [u8]]) -> Result<()> {
        let at =
            |step: &Start| clamped((self.read)(operands[step.operand], 0), step.room) * step.step;
        let offset: usize = self.steps.iter().map(at).sum();
        if !results[0].is_empty() {
            self.copy.run_shared(&operands[0][offset..], results[0]);
        }
        Ok(())
    }

    fn moves(&self, most: usize) -> Option<Moves> {
        let (runs, bytes) = self.copy.runs(most)?;
        let moves = runs.into_iter().map(|(from, to)| Move { operand: 0, from, to, bytes });
        let (width, starts) = (self.width, self.steps.clone());
        let outside = Outside::Clamp;
        Some(Moves { width, moves: moves.collect(), starts, outside, into: false })
    }

    fn of_elements(&self, operands: &[Shape], result: &Shape) -> Option<Arc<dyn Kernel>> {
        let [operand, start, ..] = operands else { return None };
        Some(Arc::new(Self::new(operand, result, (start.dtype, self.read))))
    }

    fn cost(&self) -> Cost {
        Cost::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Case;

    fn case(sizes: &[i64]) -> Case {
        Case::new("stablehlo.dynamic_slice")
            .value(DType::S32, &[3, 3], &[1, 2, 3, 4, 5, 6, 7, 8, 9])
            .integers("slice_sizes", sizes)
    }

    #[test]
    fn starts_outside_are_moved_inside() {
        let at = |row: i64, column: i64| {
            let starts = case(&[2, 2]).value(DType::S64, &[], &[row]);
            starts.value(DType::S64, &[], &[column]).eval::<i32>(&OP)
        };
        assert_eq!(at(0, 1), [2, 3, 5, 6]);
        assert_eq!(at(-7, 7), [2, 3, 5, 6]);
        assert_eq!(at(9, -1), [4, 5, 7, 8]);
    }

    #[test]
    fn unsigned_starts_have_no_sign() {
        let starts = case(&[1, 1]).value(DType::U32, &[], &[u32::MAX]);
        assert_eq!(starts.value(DType::U32, &[], &[1_u32]).eval::<i32>(&OP), [8]);
    }

    #[test]
    fn known_starts_make_a_plain_slice() {
        let starts = case(&[2, 2]).known(DType::S8, &[], &[9_i8]).known(DType::S8, &[], &[-1_i8]);
        assert!(matches!(starts.lower(&OP).unwrap(), Lowered::Access(_)));
        assert_eq!(starts.eval::<i32>(&OP), [4, 5, 7, 8]);
    }

    #[test]
    fn every_broken_constraint_is_named() {
        let one = |sizes: &[i64]| case(sizes).operand(DType::S32, &[]);
        assert!(one(&[2, 2]).shapes(&OP).contains("violates C2"));
        let mixed = one(&[2, 2]).operand(DType::S64, &[]);
        assert!(mixed.shapes(&OP).contains("violates C3"));
        let large = one(&[2, 4]).operand(DType::S32, &[]);
        assert!(large.shapes(&OP).contains("violates C4"));
    }
}
