//! Reductions of a few elements, and what is done row by row with them, as operations on single
//! elements.
use super::{Builder, known};
use crate::graph::ValueId;
use crate::passes::fuse::FusedStep;
use crate::passes::fuse::row_step::{RowFusion, RowStage, StageKind, ValueSlot};
use crate::tuning::MAX_SCALAR_LOOP_ARRAY_ELEMENTS;
use tpu_base::tensor::DType;
use tpu_kernels::elementwise::program::{ElementwiseOp, Register};
use tpu_kernels::reduce::combiner::Combiner;
use tpu_kernels::reduce::dyn_combiner::Folder;
use tpu_kernels::reduce::tuning::BLOCK_PARTIALS;
use tpu_ops::{ADD, AND, FewReduced, MAXIMUM, MINIMUM, MULTIPLY, OR, XOR};

/// The operation that joins two elements of a type.
pub(super) fn joining((combiner, dtype): (Combiner, DType)) -> Option<ElementwiseOp> {
    let entry = match combiner {
        Combiner::Add => &ADD,
        Combiner::Multiply => &MULTIPLY,
        Combiner::Maximum => &MAXIMUM,
        Combiner::Minimum => &MINIMUM,
        Combiner::And => &AND,
        Combiner::Or => &OR,
        Combiner::Xor => &XOR,
    };
    known(entry, &[dtype; 2], dtype)
}

/// Whether an array of these extents has elements, few enough for as many values of a loop.
pub(in crate::passes::scalar_loops) fn is_few(extents: [usize; 3]) -> bool {
    let all = extents.iter().fold(1_usize, |all, &extent| all.saturating_mul(extent));
    (1..=MAX_SCALAR_LOOP_ARRAY_ELEMENTS).contains(&all)
}

impl Builder<'_> {
    /// A reduction of the middle one of three axes: elements are joined one after the other, and
    /// their total with the initial value. So the kernel does it with so few of them.
    pub(super) fn reduction(
        &mut self,
        fold: &dyn Folder,
        dims: [usize; 3],
        operands: &[ValueId],
        result: ValueId,
    ) -> Option<()> {
        let (&[operand, init], [outer, count, inner]) = (operands, dims) else { return None };
        let (combiner, dtype) = fold.of()?;
        // Partial results of 16-bit floats are wider, and those of more elements are several.
        let in_order = !matches!(dtype, DType::Bf16 | DType::F16) && count <= BLOCK_PARTIALS;
        if !in_order || !is_few(dims) {
            return None;
        }
        let (operation, width) = (joining((combiner, dtype))?, dtype.host_bytes());
        let init = self.element(init, 0, dtype)?;
        let mut registers = Vec::with_capacity(outer * inner);
        for first in (0..outer).flat_map(|row| (0..inner).map(move |at| row * count * inner + at)) {
            let mut total = self.element(operand, first * width, dtype)?;
            for at in 1..count {
                let next = self.element(operand, (first + at * inner) * width, dtype)?;
                total = self.operation(operation, vec![total, next]);
            }
            registers.push(self.operation(operation, vec![init, total]));
        }
        self.hold(result, width, registers)
    }

    /// A reduction by a body: element after element.
    pub(super) fn few_reduced(&mut self, few: &FewReduced<'_>, step: &FusedStep) -> Option<()> {
        let FewReduced { body, elements } = few;
        let count = step.results.len();
        let (inputs, initial) = step.operands.split_at_checked(count)?;
        if body.parameters.len() != 2 * count || body.results.len() != count {
            return None;
        }
        self.room_for(body, elements.iter().map(Vec::len).sum())?;
        let constants = self.constants_of(body);
        let mut results = vec![Vec::with_capacity(elements.len()); count];
        for places in elements {
            let mut held = self.all(initial, &body.parameters[..count], 0)?;
            for &at in places {
                let next = self.all(inputs, &body.parameters[count..], at)?;
                held.extend(next);
                held = self.run(body, constants, &held);
            }
            results.iter_mut().zip(held).for_each(|(result, held)| result.push(held));
        }
        for ((&value, registers), dtype) in step.results.iter().zip(results).zip(&body.parameters) {
            self.hold(value, dtype.host_bytes(), registers)?;
        }
        Some(())
    }

    /// The element with a number of each of some values.
    fn all(&mut self, values: &[ValueId], dtypes: &[DType], at: usize) -> Option<Vec<Register>> {
        let each = |(&value, dtype): (&ValueId, &DType)| {
            self.element(value, at * dtype.host_bytes(), *dtype)
        };
        values.iter().zip(dtypes).map(each).collect()
    }

    /// All stages of what is done row by row, each on all rows.
    pub(super) fn rows(&mut self, rows: &RowFusion, step: &FusedStep) -> Option<()> {
        let first = self.name_inside(rows.inner.iter().map(|&(_, row)| row * rows.rows))?;
        let named = |slots: &[ValueSlot]| -> Option<Vec<ValueId>> {
            let name = |slot: &ValueSlot| match *slot {
                ValueSlot::Operand(index) => step.operands.get(index).copied(),
                ValueSlot::Result(index) => step.results.get(index).copied(),
                ValueSlot::Inner(index) => Some(ValueId(first + u32::try_from(index).ok()?)),
            };
            slots.iter().map(name).collect()
        };
        for RowStage { kind, operands, results } in &rows.stages {
            let (operands, results) = (named(operands)?, named(results)?);
            let result = *results.first()?;
            match kind {
                StageKind::Loop(fused) => self.fused(fused, &operands, &results)?,
                StageKind::Copy(copy) => self.copy(copy, *operands.first()?, result)?,
                StageKind::Fold { fold, count, inner } => {
                    let each = count.checked_mul(*inner).filter(|each| *each > 0)?;
                    let (_, dtype) = fold.of()?;
                    let elements = self.bytes(*operands.first()?)? / dtype.host_bytes();
                    let dims = [elements / each, *count, *inner];
                    self.reduction(&**fold, dims, &operands, result)?;
                }
                // A single column is reduced in another order.
                StageKind::Total { columns: 1, .. } | StageKind::Gather(..) => return None,
                StageKind::Total { fold, rows, columns, .. }
                | StageKind::LateTotal { fold, rows, columns, .. } => {
                    self.reduction(&**fold, [1, *rows, *columns], &operands, result)?;
                }
            }
        }
        Some(())
    }
}
