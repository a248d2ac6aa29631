//! Arrays one after another along an axis.
use super::{Cost, Cx, Entry, Kernel, Lowered, Relayout, ShardingRule, Site, factors};
use std::sync::Arc;
use tpu_base::error::Result;
use tpu_base::tensor::Shape;
use tpu_kernels::movement::block_copy::{BlockCopy, in_turn};
use tpu_kernels::movement::index::Outside;
use tpu_kernels::movement::move_list::{Move, Moves};
use tpu_kernels::movement::strided_block::StridedBlock;
use tpu_kernels::movement::strided_view::AccessMap;

/// The operands side by side along `dimension`.
///
/// Shapes: operands equal but for axis `dimension`; there the result has the sum.
/// Errors: `Constraint` C1 to C4.
/// Source: StableHLO specification, "concatenate", C1-C6.
pub const OP: Entry = Entry {
    sharding: ShardingRule::Pieces,
    factors: factors::joined,
    relayout: Relayout::Joined,
    ..Entry::new("concatenate", infer, lower)
};

fn infer(site: &Site<'_>) -> Result<Vec<Shape>> {
    let Some((first, rest)) = site.operands.split_first() else {
        return Err(site.violates("C3", "no operand"));
    };
    let axis = site.index("dimension")?;
    if axis >= first.rank() {
        return Err(site.violates("C4", format!("axis {axis} of {first}")));
    }
    let mut dims = first.dims.clone();
    for shape in rest {
        if shape.dtype != first.dtype {
            return Err(site.violates("C1", format!("{shape} after {first}")));
        }
        let same = |(at, (a, b)): (usize, (&usize, &usize))| at == axis || a == b;
        let mut sides = shape.dims.iter().zip(&first.dims).enumerate();
        if shape.rank() != first.rank() || !sides.all(same) {
            let what = format!("{shape} after {first} along axis {axis}");
            return Err(site.violates("C2", what));
        }
        dims[axis] = dims[axis].saturating_add(shape.dims[axis]);
    }
    Ok(vec![site.shape(first.dtype, dims)?])
}

fn lower(site: &Site<'_>) -> Result<Lowered> {
    if site.operands.len() == 1 {
        return Ok(Lowered::View);
    }
    Ok(Lowered::Kernel(Box::new(Concatenate::new(
        site.operands,
        site.index("dimension")?,
        &site.results[0],
    ))))
}

/// What puts operands of these shapes side by side along an axis, into a result of this shape.
pub fn side_by_side(operands: &[Shape], axis: usize, result: &Shape) -> Arc<dyn Kernel> {
    Arc::new(Concatenate::new(operands, axis, result))
}

/// What puts views of its operands side by side in each of so many rows, with elements of so many
/// bytes: of each, where its elements come from and how many a row has. `None` if some view goes
/// backwards, repeats elements, or has axes that end elsewhere than rows.
pub fn views_side_by_side(
    width: usize,
    rows: usize,
    views: &[(AccessMap, usize)],
) -> Option<Arc<dyn Kernel>> {
    let row: usize = views.iter().map(|(_, elements)| elements).sum();
    let mut start = 0;
    let mut parts = Vec::with_capacity(views.len());
    for &(ref map, elements) in views {
        let block = if elements > 0 { Some(map.in_rows(elements, row)?) } else { None };
        let part = block.map(|StridedBlock { offset, dims, from, to }| {
            let copy = BlockCopy::new(width, &dims, &from, &to);
            CopiedOperand { from: offset * width, to: start * width, copy }
        });
        parts.push(part);
        start += elements;
    }
    Some(Arc::new(Concatenate { width, rows, parts }))
}

/// Each operand into its part of the result.
#[derive(Debug)]
struct Concatenate {
    /// Bytes of an element.
    width: usize,
    /// Rows that have a part of each operand.
    rows: usize,
    /// Of each operand, `None` for an empty one.
    parts: Vec<Option<CopiedOperand>>,
}

/// What is copied of an operand.
#[derive(Debug)]
struct CopiedOperand {
    /// The first byte in the operand.
    from: usize,
    /// The first byte in the result.
    to: usize,
    copy: BlockCopy,
}

impl Concatenate {
    fn new(operands: &[Shape], axis: usize, result: &Shape) -> Self {
        let width = result.dtype.host_bytes();
        let to = result.strides();
        let mut parts = Vec::with_capacity(operands.len());
        let mut start = 0;
        for operand in operands {
            let copy = BlockCopy::new(width, &operand.dims, &operand.strides(), &to);
            // An operand without elements may begin past the end.
            if operand.elements() > 0 {
                parts.push(Some(CopiedOperand { from: 0, to: start * to[axis] * width, copy }));
            } else {
                parts.push(None);
            }
            start += operand.dims[axis];
        }
        Self { width, rows: result.dims[..axis].iter().product(), parts }
    }

    /// The bytes of every operand in each row, where there are equally many of each, and rows lie
    /// side by side in all operands.
    fn in_each_row(&self) -> Option<usize> {
        let turns = self.parts.len();
        let bytes = self.parts.first()?.as_ref()?.copy.each_of(turns)?.1;
        let fits = |(index, part): (usize, &Option<CopiedOperand>)| {
            part.as_ref().is_some_and(|CopiedOperand { from, to, copy }| {
                (*from, *to) == (0, index * bytes)
                    && copy.each_of(turns).is_some_and(|(_, other)| other == bytes)
            })
        };
        self.parts.iter().enumerate().all(fits).then_some(bytes)
    }
}

impl Kernel for Concatenate {
    fn run(&self, _: &mut Cx<'_>, operands: &[&[u8]], results: &mut [&mut [u8]]) -> Result<()> {
        if let Some(bytes) = self.in_each_row()
            && in_turn(bytes, operands, results[0]).is_some()
        {
            return Ok(());
        }
        for (operand, part) in operands.iter().zip(&self.parts) {
            if let Some(CopiedOperand { from, to, copy }) = part {
                copy.run_shared(&operand[*from..], &mut results[0][*to..]);
            }
        }
        Ok(())
    }

    fn joins(&self) -> Option<usize> {
        Some(self.rows)
    }

    fn moves(&self, most: usize) -> Option<Moves> {
        let mut moves = Vec::new();
        for (operand, part) in self.parts.iter().enumerate() {
            let Some(CopiedOperand { from: first, to: start, copy }) = part else { continue };
            let (runs, bytes) = copy.runs(most - moves.len())?;
            let of = |(from, to)| Move { operand, from: first + from, to: start + to, bytes };
            moves.extend(runs.into_iter().map(of));
        }
        Some(Moves {
            width: self.width,
            moves,
            starts: Vec::new(),
            outside: Outside::Clamp,
            into: false,
        })
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

    fn case(axis: i64) -> Case {
        Case::new("stablehlo.concatenate").integer("dimension", axis)
    }

    #[test]
    fn operands_follow_each_other_along_either_axis() {
        let rows = case(0).value(DType::S16, &[2, 2], &[1_i16, 2, 3, 4]);
        let rows = rows.operand(DType::S16, &[0, 2]).value(DType::S16, &[1, 2], &[5_i16, 6]);
        assert_eq!(rows.eval::<i16>(&OP), [1, 2, 3, 4, 5, 6]);
        let columns = case(1).value(DType::S16, &[2, 2], &[1_i16, 2, 3, 4]);
        let columns = columns.value(DType::S16, &[2, 1], &[5_i16, 6]);
        assert_eq!(columns.shapes(&OP), "s16[2,3]");
        assert_eq!(columns.eval::<i16>(&OP), [1, 2, 5, 3, 4, 6]);
    }

    #[test]
    fn columns_of_every_width_lie_in_turn() {
        fn check<T: bytemuck::Pod + PartialEq + std::fmt::Debug>(dtype: DType, of: fn(u8) -> T) {
            let part = |from: u8| (from..from + 5).map(of).collect::<Vec<T>>();
            for count in 2..=9 {
                let mut columns = case(1);
                for column in 1..=count {
                    columns = columns.value(dtype, &[5, 1], &part(10 * column));
                }
                let row = |at: u8| (1..=count).map(move |column| of(10 * column + at));
                let expected: Vec<T> = (0..5).flat_map(row).collect();
                assert_eq!(columns.eval::<T>(&OP), expected);
            }
        }
        check(DType::U8, |value| value);
        check(DType::U16, u16::from);
        check(DType::F32, f32::from);
        check(DType::S64, i64::from);
        check(DType::C128, |value| u128::from(value) << 70);
    }

    #[test]
    fn every_broken_constraint_is_named() {
        let two = |dtype, dims: &[usize], axis| {
            case(axis).operand(DType::U8, &[2, 2]).operand(dtype, dims).shapes(&OP)
        };
        assert!(two(DType::S8, &[2, 2], 0).contains("violates C1"));
        assert!(two(DType::U8, &[2, 3], 0).contains("violates C2"));
        assert!(two(DType::U8, &[2], 0).contains("violates C2"));
        assert!(case(0).shapes(&OP).contains("violates C3"));
        assert!(two(DType::U8, &[2, 2], 2).contains("violates C4"));
    }
}
