//! A program's temporaries as a trace tells them: what lies where, and when.
use super::Executable;
use crate::trace::{PlannedValue, ProgramPlan};
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
        ProgramPlan {
            number,
            name: Arc::clone(&self.name),
            temporaries: padded(&self.arena),
            constants: padded(&self.pool),
            arguments: self.memory.arguments,
            results: self.memory.outputs,
            values: plan.slots.iter().map(|slot| self.planned_value(slot)).collect(),
            positions: to_u64(plan.positions),
            needed: self.memory.total(),
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
            dtype,
            dims,
            layout: format!("{{{}}}", axes.join(",")),
            operation: Arc::clone(&slot.name),
            line: line.unwrap_or_default(),
        }
    }
}
