//! An array with a part replaced, from a start that the program computes.
use super::{Cost, Cx, Entry, Kernel, Lowered, Site, factors};
use std::sync::Arc;
use tpu_base::error::{Error, Result};
use tpu_base::tensor::Shape;
use tpu_kernels::movement::block_copy::BlockCopy;
use tpu_kernels::movement::index::{IndexReader, Outside, clamped, reader};
use tpu_kernels::movement::move_list::{Move, Moves, Start};

/// The operand with `update` at the start indices, moved so far that it lies inside.
///
/// Shapes: `operand [o..]`; `update [u..]`, `u <= o`; as many scalars of one integer type;
/// result `[o..]`.
/// Errors: `Constraint` C2 to C6.
/// Source: StableHLO specification, "dynamic_update_slice", C1-C6.
pub const OP: Entry =
    Entry { factors: factors::dynamic_update, ..Entry::new("dynamic_update_slice", infer, lower) };

fn infer(site: &Site<'_>) -> Result<Vec<Shape>> {
    let [operand, update, starts @ ..] = site.operands else {
        let what = format!("{} has {} operands", site.name, site.operands.len());
        return Err(Error::bad(what));
    };
    if update.dtype != operand.dtype {
        return Err(site.violates("C2", format!("{update} into {operand}")));
    }
    if update.rank() != operand.rank() {
        return Err(site.violates("C3", format!("{update} into {operand}")));
    }
    if starts.len() != operand.rank() {
        return Err(site.violates("C4", format!("{} starts for {operand}", starts.len())));
    }
    for start in starts {
        if start.rank() != 0 || start.dtype != starts[0].dtype || reader(start.dtype).is_none() {
            return Err(site.violates("C5", format!("start indices {starts:?}")));
        }
    }
    if update.dims.iter().zip(&operand.dims).any(|(size, dim)| size > dim) {
        return Err(site.violates("C6", format!("{update} into {operand}")));
    }
    Ok(vec![operand.clone()])
}

fn lower(site: &Site<'_>) -> Result<Lowered> {
    let [operand, update, starts @ ..] = site.operands else {
        return Err(Error::bad(format!("{} has {} operands", site.name, site.operands.len())));
    };
    let plan = DynamicUpdateSlice::new(operand, update, starts);
    let index = || starts.first().map_or("no", |start| start.dtype.name());
    let plan = plan.ok_or_else(|| site.unimplemented(format!("{} index", index())))?;
    Ok(Lowered::Kernel(Box::new(plan)))
}

#[derive(Debug)]
struct DynamicUpdateSlice {
    /// How the start along each axis is read and counts.
    steps: Vec<(IndexReader, Start)>,
    /// Bytes of an element.
    width: usize,
    copy: BlockCopy,
}

impl DynamicUpdateSlice {
    /// `None` where the starts are no integers.
    fn new(operand: &Shape, update: &Shape, starts: &[Shape]) -> Option<Self> {
        let width = operand.dtype.host_bytes();
        let strides = operand.strides();
        let copy = BlockCopy::new(width, &update.dims, &update.strides(), &strides);
        let step = |(axis, start): (usize, &Shape)| {
            let room = operand.dims[axis] - update.dims[axis];
            let (operand, step) = (axis + 2, strides[axis] * width);
            let start = Start { operand, at: 0, dtype: start.dtype, room, step };
            Some((reader(start.dtype)?, start))
        };
        let steps = starts.iter().enumerate().map(step).collect::<Option<_>>()?;
        Some(Self { steps, width, copy })
    }
}

impl Kernel for DynamicUpdateSlice {
    fn run(&self, _: &mut Cx<'_>, operands: &[&[u8]], results: &mut [&mut [u8]]) -> Result<()> {
        let at = |(read, start): &(IndexReader, Start)| {
            clamped(read(operands[start.operand], 0), start.room) * start.step
        };
        let offset: usize = self.steps.iter().map(at).sum();
        if !operands[1].is_empty() {
            self.copy.run_shared(operands[1], &mut results[0][offset..]);
        }
        Ok(())
    }

    fn starts_from(&self, result: usize) -> Option<usize> {
        (result == 0).then_some(0)
    }

    fn moves(&self, most: usize) -> Option<Moves> {
        let (runs, bytes) = self.copy.runs(most)?;
        let moves = runs.into_iter().map(|(from, to)| Move { operand: 1, from, to, bytes });
        let starts = self.steps.iter().map(|(_, start)| *start).collect();
        let (width, outside) = (self.width, Outside::Clamp);
        Some(Moves { width, moves: moves.collect(), starts, outside, into: true })
    }

    fn of_elements(&self, operands: &[Shape], _: &Shape) -> Option<Arc<dyn Kernel>> {
        let [operand, update, starts @ ..] = operands else { return None };
        Some(Arc::new(Self::new(operand, update, starts)?))
    }

    fn cost(&self) -> Cost {
        Cost::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Case;
    use tpu_base::tensor::DType;

    fn case(dims: &[usize]) -> Case {
        let operand = Case::new("stablehlo.dynamic_update_slice").value(
            DType::U8,
            &[3, 3],
            &[1_u8, 2, 3, 4, 5, 6, 7, 8, 9],
        );
        operand.value(DType::U8, dims, &vec![0_u8; dims.iter().product()])
    }

    #[test]
    fn the_update_is_moved_inside_and_the_rest_stays() {
        let at = |row: i32, column: i32| {
            let starts = case(&[2, 1]).value(DType::S32, &[], &[row]);
            starts.value(DType::S32, &[], &[column]).eval::<u8>(&OP)
        };
        assert_eq!(at(0, 1), [1, 0, 3, 4, 0, 6, 7, 8, 9]);
        assert_eq!(at(5, -5), [1, 2, 3, 0, 5, 6, 0, 8, 9]);
    }

    #[test]
    fn an_empty_update_changes_nothing() {
        let starts = case(&[3, 0]).operand(DType::S32, &[]).value(DType::S32, &[], &[9]);
        assert_eq!(starts.eval::<u8>(&OP), [1, 2, 3, 4, 5, 6, 7, 8, 9]);
    }

    #[test]
    fn every_broken_constraint_is_named() {
        let start = DType::S32;
        let update = case(&[3]).operand(start, &[]).operand(start, &[]);
        assert!(update.shapes(&OP).contains("violates C3"));
        assert!(case(&[1, 1]).operand(start, &[]).shapes(&OP).contains("violates C4"));
        let vector = case(&[1, 1]).operand(start, &[1]).operand(start, &[]);
        assert!(vector.shapes(&OP).contains("violates C5"));
        let large = case(&[4, 1]).operand(start, &[]).operand(start, &[]);
        assert!(large.shapes(&OP).contains("violates C6"));
    }
}
