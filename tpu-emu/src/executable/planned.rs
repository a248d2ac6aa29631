//! A program's temporaries as a trace tells them: what lies where, and when.
use super::Executable;
use super::charge::{Charged, LaidAnew};
use crate::trace::{OtherPlanned, PlannedValue, ProgramPlan};
use std::sync::Arc;
use tpu_base::units::{Bytes, to_u64};
use tpu_program::plan::ArenaSlot;

impl Executable {
    /// The plan of its temporaries, under a number of a trace.
    pub(crate) fn planned(&self, number: u64) -> ProgramPlan {
        let padded = |spec: &Option<_>| {
            spec.as_ref().map_or(Bytes::ZERO, |spec: &Arc<crate::hbm::spec::ArraySpec>| spec.padded)
        };
        let plan = self.own.as_ref().map_or(&self.plan, |own| &own.plan);
        let mut values: Vec<PlannedValue> =
            plan.slots.iter().map(|slot| self.planned_value(slot)).collect();
        // It has no step of its own here: what is alone stands behind all of them.
        let behind = self.laid_anew.as_ref().is_some_and(|of| of.place == Charged::Alone);
        let positions = plan.positions + usize::from(behind);
        values.extend(self.laid_anew.iter().map(|of| match of.place {
            Charged::Alone => self.planned_relayout(of, (0, to_u64(plan.positions))),
            Charged::Beside(position) => self.planned_relayout(of, (to_u64(plan.arena), position)),
        }));
        ProgramPlan {
            number,
            name: Arc::clone(&self.name),
            temporaries: padded(&self.arena),
            constants: padded(&self.pool),
            arguments: self.memory.arguments,
            results: self.memory.outputs,
            values,
            positions: to_u64(positions),
            needed: self.memory.total(),
            other: self.other.as_ref().map(|other| OtherPlanned {
                planner: Arc::clone(&other.compiler),
                values: Arc::clone(&other.values),
                positions: other.positions,
            }),
        }
    }

    fn planned_relayout(&self, of: &LaidAnew, (offset, position): (u64, u64)) -> PlannedValue {
        let elements = of.dims.iter().fold(1_u64, |all, &dim| all.saturating_mul(dim));
        let bits = elements.saturating_mul(of.dtype.element().bits.into());
        let lines = self.module.locations.stack(of.location);
        let line = lines.first().map(|line| format!("{}:{}", line.file, line.line));
        PlannedValue {
            offset,
            size: of.bytes.0,
            logical: bits.div_ceil(8),
            first: position,
            last: position,
            dtype: of.dtype.name().into(),
            dims: of.dims.clone(),
            layout: of.layout.to_string(),
            operation: Arc::clone(&of.name),
            line: line.unwrap_or_default(),
        }
    }

    fn planned_value(&self, slot: &ArenaSlot) -> PlannedValue {
        let lines = self.module.locations.stack(slot.location);
        let line = lines.first().map(|line| format!("{}:{}", line.file, line.line));
        let size = to_u64(slot.bytes);
        let (dtype, dims, logical) = match &slot.shape {
            None => ("u8", vec![size], size),
            Some(shape) => {
                let elements = to_u64(shape.elements());
                let bits = elements.saturating_mul(shape.dtype.element().bits.into());
                let dims = shape.dims.iter().map(|&dim| to_u64(dim)).collect();
                (shape.dtype.name(), dims, bits.div_ceil(8))
            }
        };
        let axes: Vec<String> = (0..dims.len()).rev().map(|axis| axis.to_string()).collect();
        PlannedValue {
            offset: to_u64(slot.offset),
            size,
            logical,
            first: to_u64(slot.first),
            last: to_u64(slot.last),
            dtype: dtype.into(),
            dims,
            layout: format!("{{{}}}", axes.join(",")),
            operation: Arc::clone(&slot.name),
            line: line.unwrap_or_default(),
        }
    }
}
