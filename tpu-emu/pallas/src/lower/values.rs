//! What values of a kernel stand for while it is lowered.
use super::Lowering;
use super::code::{Refused, is_integer};
use crate::form::{Int, SlotId, ViewId};
use std::collections::BTreeMap;
use tpu_base::tensor::{DType, Shape};
use tpu_mosaic::ir::{Element, Elements, Memref};
use tpu_stablehlo::ir as stable;

/// What a value stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Val {
    /// A scalar integer.
    Int(Int),
    /// A vector, or a scalar of a piece.
    Vector(VectorId),
    /// A memref.
    Reference(ReferenceId),
    /// Nothing: it was refused.
    Missing,
}

/// A vector.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct VectorId(pub(super) usize);

/// A memref.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct ReferenceId(pub(super) usize);

/// A vector.
#[derive(Debug)]
pub(super) struct Vector {
    pub(super) element: Element,
    pub(super) dims: Vec<i64>,
    pub(super) home: Home,
    /// How often it is still read.
    pub(super) pending: u32,
    /// Regions around the place where it was made.
    pub(super) depth: usize,
}

/// Where a vector is.
#[derive(Debug, Clone)]
pub(super) enum Home {
    /// A value of the piece that is open.
    Open(stable::Value),
    /// A slot.
    Slot(SlotId),
    /// Known when the kernel is compiled.
    Known(Elements),
    /// Nowhere any more: nobody reads it.
    Gone,
}

/// A memref.
#[derive(Debug, Clone)]
pub(super) struct Reference {
    pub(super) view: ViewId,
    pub(super) memref: Memref,
    /// The number of the memory that it is a part of.
    pub(super) memory: usize,
}

/// Slots that are free, by their bytes.
#[derive(Debug, Default)]
pub(super) struct Slots {
    free: BTreeMap<usize, Vec<SlotId>>,
    /// Slots that are read by the piece that is open, to be free behind it.
    held: Vec<SlotId>,
    /// Slots that are free again behind each region.
    regions: Vec<Vec<SlotId>>,
}

/// The element type of the machine.
pub(super) fn dtype(element: Element) -> Refused<DType> {
    DTYPES
        .iter()
        .find(|(of, _)| *of == element)
        .map(|(_, dtype)| *dtype)
        .ok_or_else(|| format!("elements of {element:?}"))
}

const DTYPES: &[(Element, DType)] = &[
    (Element::Pred, DType::Pred),
    (Element::S2, DType::S2),
    (Element::S4, DType::S4),
    (Element::S8, DType::S8),
    (Element::S16, DType::S16),
    (Element::S32, DType::S32),
    (Element::S64, DType::S64),
    (Element::Index, DType::S64),
    (Element::U2, DType::U2),
    (Element::U4, DType::U4),
    (Element::U8, DType::U8),
    (Element::U16, DType::U16),
    (Element::U32, DType::U32),
    (Element::U64, DType::U64),
    (Element::F4E2M1FN, DType::F4E2M1FN),
    (Element::F8E3M4, DType::F8E3M4),
    (Element::F8E4M3, DType::F8E4M3),
    (Element::F8E4M3B11FNUZ, DType::F8E4M3B11FNUZ),
    (Element::F8E4M3FN, DType::F8E4M3FN),
    (Element::F8E4M3FNUZ, DType::F8E4M3FNUZ),
    (Element::F8E5M2, DType::F8E5M2),
    (Element::F8E5M2FNUZ, DType::F8E5M2FNUZ),
    (Element::F8E8M0FNU, DType::F8E8M0FNU),
    (Element::Bf16, DType::Bf16),
    (Element::F16, DType::F16),
    (Element::F32, DType::F32),
    (Element::F64, DType::F64),
];

/// Extents as the machine has them.
pub(crate) fn extents(dims: &[i64]) -> Refused<Vec<usize>> {
    let of = |&dim: &i64| usize::try_from(dim).map_err(|_| format!("an extent of {dim}"));
    dims.iter().map(of).collect()
}

/// The shape of a vector, if it has a size that can be.
pub(super) fn shape(element: Element, dims: &[i64]) -> Refused<Shape> {
    let dtype = dtype(element)?;
    let dims = extents(dims)?;
    let size = dims.iter().try_fold(dtype.host_bytes(), |size, &dim| size.checked_mul(dim));
    size.filter(|&size| size < 1 << 40).ok_or_else(|| format!("a vector of {dims:?}"))?;
    Ok(Shape::new(dtype, dims))
}

impl<'m> Lowering<'m> {
    /// A new vector.
    pub(super) fn vector(&mut self, element: Element, dims: Vec<i64>, home: Home) -> VectorId {
        self.vectors.push(Vector { element, dims, home, pending: 0, depth: self.depth });
        VectorId(self.vectors.len() - 1)
    }

    /// A vector is read so often.
    pub(super) fn wanted(&mut self, id: VectorId, times: u32) {
        self.vectors[id.0].pending += times;
    }

    /// A vector was read once.
    pub(super) fn used(&mut self, id: VectorId) {
        let vector = &mut self.vectors[id.0];
        vector.pending = vector.pending.saturating_sub(1);
        let Home::Slot(slot) = vector.home else { return };
        if vector.pending > 0 {
            return;
        }
        let depth = vector.depth;
        // The next iteration may read it again.
        match self.slots.regions.get_mut(depth) {
            Some(behind) if depth < self.depth => behind.push(slot),
            _ => self.slots.held.push(slot),
        }
    }

    /// A slot for a shape.
    pub(super) fn slot(&mut self, shape: &Shape) -> SlotId {
        let bytes = shape.bytes();
        if let Some(slot) = self.slots.free.get_mut(&bytes).and_then(Vec::pop) {
            return slot;
        }
        self.program.slots.push(bytes);
        SlotId(u32::try_from(self.program.slots.len() - 1).unwrap_or(u32::MAX))
    }

    /// Gives a slot back, once the piece that is open is closed.
    pub(super) fn give(&mut self, slot: SlotId) {
        self.slots.held.push(slot);
    }

    /// What was read by the piece that was closed is free.
    pub(super) fn settle_slots(&mut self) {
        for slot in std::mem::take(&mut self.slots.held) {
            let bytes = self.program.slots[slot.0 as usize];
            self.slots.free.entry(bytes).or_default().push(slot);
        }
    }

    /// Begins code that may run never or again.
    pub(super) fn enter_region(&mut self) {
        self.slots.regions.truncate(self.depth);
        self.slots.regions.push(Vec::new());
        self.depth += 1;
    }

    /// Ends it.
    pub(super) fn leave_region(&mut self) {
        self.depth -= 1;
        let behind = self.slots.regions.pop().unwrap_or_default();
        self.slots.held.extend(behind);
    }

    /// A memref.
    pub(super) fn reference(&self, value: Val) -> Refused<&Reference> {
        match value {
            Val::Reference(id) => Ok(&self.references[id.0]),
            other => Err(format!("{other:?} where a memref is expected")),
        }
    }

    /// A new memref.
    pub(super) fn refer(&mut self, memref: Memref, memory: usize) -> (Val, ViewId) {
        self.program.views += 1;
        let view = ViewId(u32::try_from(self.program.views - 1).unwrap_or(u32::MAX));
        self.references.push(Reference { view, memref, memory });
        (Val::Reference(ReferenceId(self.references.len() - 1)), view)
    }

    /// A new memory.
    pub(super) fn new_memory(&mut self) -> usize {
        self.written.push(false);
        self.outside.push(false);
        self.named.push(0);
        self.covered.push(None);
        self.written.len() - 1
    }

    /// The integer that a known scalar is.
    pub(super) fn known_integer(elements: &Elements) -> Option<i64> {
        if !is_integer(elements.of.element) {
            return None;
        }
        let mut bytes = [0; 8];
        let width = elements.of.element.bytes()?;
        bytes[..width].copy_from_slice(elements.data.get(..width)?);
        Some(i64::from_le_bytes(bytes))
    }
}
