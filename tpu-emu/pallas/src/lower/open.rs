//! The piece that is open: operations without effects, and the loads and stores around them.
//! Loads come before all else, stores behind it.
use super::code::{Code, Refused, storage};
use super::values::{Home, Val, VectorId, dtype, shape};
use super::{Lowering, name};
use crate::form::{Access, Input, Int, Output, Run, SlotId, Step};
use crate::rows::{Known, Site};
use std::collections::BTreeMap;
use tpu_base::tensor::{DType, Shape};
use tpu_mosaic::ir::{Element, LocationId, Operation, Type};
use tpu_stablehlo::ir as stable;

/// The piece that is open.
#[derive(Debug, Default)]
pub(super) struct Open {
    code: Code,
    inputs: Vec<(stable::Value, Input, LocationId)>,
    /// The memory of each load.
    loads: Vec<usize>,
    stores: Vec<Pending>,
    /// Vectors that are made here.
    made: Vec<VectorId>,
    slots: BTreeMap<SlotId, stable::Value>,
    scalars: BTreeMap<(Int, DType), stable::Value>,
    /// Vectors that are known, as constants of the piece.
    known: BTreeMap<VectorId, stable::Value>,
    /// Where it begins.
    place: Option<LocationId>,
}

/// A store at the end of the piece.
#[derive(Debug)]
struct Pending {
    access: Access,
    value: stable::Value,
    memory: usize,
    place: LocationId,
}

impl<'m> Lowering<'m> {
    /// An operation that has a row.
    pub(super) fn piece_operation(
        &mut self,
        operation: &'m Operation,
        row: impl FnOnce(&mut Site<'_>) -> Refused<Vec<stable::Value>>,
    ) -> Refused<()> {
        let mut results = Vec::with_capacity(operation.results.len());
        for &result in &operation.results {
            let (element, dims) = match self.type_of(result)? {
                Type::Scalar(element) => (storage(*element), Vec::new()),
                Type::Vector(vector) => (storage(vector.element), vector.dims.clone()),
                other => return Err(format!("{} gives {other:?}", name(operation.op))),
            };
            shape(element, &dims)?;
            results.push((element, dims));
        }
        let Some((element, dims)) = results.first().cloned() else {
            return Err(format!("{} without results", name(operation.op)));
        };
        let mut operands = Vec::with_capacity(operation.operands.len());
        let mut known = Vec::with_capacity(operation.operands.len());
        for &operand in &operation.operands {
            let of = self.type_of(operand)?;
            let val = self.peek(operand)?;
            known.push(self.known(val));
            operands.push(self.in_piece(val, of)?);
        }
        self.open.place.get_or_insert(operation.location);
        let core = self.core;
        let code = &mut self.open.code;
        let declared = results.clone();
        let mut site =
            Site { code, operation, operands, known, element, dims, results: declared, core };
        let made = row(&mut site)?;
        if made.len() != results.len() {
            let (had, what) = (made.len(), name(operation.op));
            return Err(format!("{what} gives {had} results of {}", results.len()));
        }
        for (&value, (element, dims)) in made.iter().zip(&results) {
            let (had, is) = (self.open.code.dims(value), self.open.code.element(value));
            if had != *dims || is != *element {
                let what = name(operation.op);
                return Err(format!(
                    "{what} gives {is:?}{had:?} where {element:?}{dims:?} is declared"
                ));
            }
        }
        for &operand in &operation.operands {
            self.read(operand)?;
        }
        for ((value, (element, dims)), &result) in
            made.into_iter().zip(results).zip(&operation.results)
        {
            let id = self.made(value, element, dims);
            self.bind(result, Val::Vector(id))?;
        }
        Ok(())
    }

    /// A vector that the open piece makes.
    pub(super) fn made(
        &mut self,
        value: stable::Value,
        element: Element,
        dims: Vec<i64>,
    ) -> VectorId {
        let id = self.vector(element, dims, Home::Open(value));
        self.open.made.push(id);
        id
    }

    fn known(&self, val: Val) -> Known {
        match val {
            Val::Int(Int::Known(value)) => Known::Integer(value),
            Val::Vector(id) => match &self.vectors[id.0].home {
                Home::Known(elements) if elements.splat || elements.of.dims.is_empty() => {
                    let mut bytes = [0; 8];
                    let width = elements.data.len().min(8);
                    bytes[..width].copy_from_slice(&elements.data[..width]);
                    let bits = super::code::width(elements.of.element).unwrap_or(64);
                    let all = if bits >= 64 { u64::MAX } else { (1 << bits) - 1 };
                    Known::Splat(u64::from_le_bytes(bytes) & all)
                }
                _ => Known::No,
            },
            _ => Known::No,
        }
    }

    /// A value as one of the open piece.
    pub(super) fn in_piece(&mut self, val: Val, of: &Type) -> Refused<stable::Value> {
        match val {
            Val::Int(int) => {
                let Type::Scalar(element) = of else {
                    return Err(format!("a scalar where {of:?} is expected"));
                };
                self.scalar_in_piece(int, storage(*element))
            }
            Val::Vector(id) => self.vector_in_piece(id),
            Val::Reference(_) => Err("a memref where a vector is expected".to_owned()),
            Val::Missing => Err(String::new()),
        }
    }

    /// A scalar integer as a value of the open piece.
    pub(super) fn scalar_in_piece(&mut self, int: Int, element: Element) -> Refused<stable::Value> {
        if let Int::Known(value) = int {
            return Ok(self.open.code.integer(element, &[], value));
        }
        let dtype = dtype(element)?;
        if let Some(&value) = self.open.scalars.get(&(int, dtype)) {
            return Ok(value);
        }
        let value = self.open.code.value(element, &[]);
        self.open.inputs.push((value, Input::Scalar(int, dtype), self.place));
        self.open.scalars.insert((int, dtype), value);
        Ok(value)
    }

    pub(super) fn vector_in_piece(&mut self, id: VectorId) -> Refused<stable::Value> {
        let vector = &self.vectors[id.0];
        let (element, dims) = (vector.element, vector.dims.clone());
        match vector.home.clone() {
            Home::Open(value) => Ok(value),
            Home::Slot(slot) => {
                if let Some(&value) = self.open.slots.get(&slot) {
                    return Ok(value);
                }
                let value = self.open.code.value(element, &dims);
                self.open.inputs.push((value, Input::Slot(slot), self.place));
                self.open.slots.insert(slot, value);
                Ok(value)
            }
            Home::Known(elements) => {
                if let Some(&value) = self.open.known.get(&id) {
                    return Ok(value);
                }
                let value = self.open.code.elements(&elements);
                self.open.known.insert(id, value);
                Ok(value)
            }
            Home::Gone => Err("a vector that was given up".to_owned()),
        }
    }

    /// The code of the open piece.
    pub(super) fn code(&mut self) -> &mut Code {
        &mut self.open.code
    }

    /// A load, as a value of the open piece.
    pub(super) fn load(
        &mut self,
        access: Access,
        memory: usize,
        (element, dims): (Element, &[i64]),
    ) -> Refused<stable::Value> {
        // What was stored there just now is what is loaded.
        let overlaps = |store: &&Pending| self.overlap(store.memory, memory);
        let mut stored = self.open.stores.iter().filter(overlaps);
        match (stored.next(), stored.next()) {
            (None, _) => {}
            (Some(store), None) if store.access == access => return Ok(store.value),
            _ => self.close()?,
        }
        let known = self.open.inputs.iter().find_map(|(value, input, _)| match input {
            Input::Load(other) if *other == access => Some(*value),
            _ => None,
        });
        if let Some(value) = known
            && self.open.code.element(value) == element
            && self.open.code.dims(value) == dims
        {
            return Ok(value);
        }
        shape(element, dims)?;
        let value = self.open.code.value(element, dims);
        self.open.place.get_or_insert(self.place);
        self.open.inputs.push((value, Input::Load(access), self.place));
        self.open.loads.push(memory);
        Ok(value)
    }

    /// A store of a value of the open piece.
    pub(super) fn store(&mut self, access: Access, memory: usize, value: stable::Value) {
        self.written[memory] = true;
        // What nobody could read in between is not written.
        self.open.stores.retain(|store| store.access != access);
        self.open.place.get_or_insert(self.place);
        let place = self.place;
        self.open.stores.push(Pending { access, value, memory, place });
    }

    /// Whether a store would overlap one that waits, in another place of the same memory.
    pub(super) fn must_close_for_store(&self, access: &Access, memory: usize) -> bool {
        self.open
            .stores
            .iter()
            .any(|store| self.overlap(store.memory, memory) && store.access != *access)
    }

    /// Whether two memories may be the same.
    fn overlap(&self, a: usize, b: usize) -> bool {
        a == b || (self.is_outside(a) && self.is_outside(b))
    }

    /// Whether the open piece loads from or stores to a memory.
    pub(super) fn touches(&self, memory: usize) -> bool {
        let mut touched = self
            .open
            .loads
            .iter()
            .copied()
            .chain(self.open.stores.iter().map(|store| store.memory));
        touched.any(|other| self.overlap(other, memory))
    }

    /// Whether the open piece stores to a memory.
    pub(super) fn writes(&self, memory: usize) -> bool {
        self.open.stores.iter().any(|store| self.overlap(store.memory, memory))
    }

    /// A scalar integer that a piece computes, in a register.
    pub(super) fn scalar_of(&mut self, id: VectorId) -> Refused<Int> {
        let vector = &self.vectors[id.0];
        if let Home::Known(elements) = &vector.home
            && let Some(value) = Self::known_integer(elements)
        {
            return Ok(Int::Known(value));
        }
        if !vector.dims.is_empty() {
            return Err(format!("a vector {:?} where a scalar is expected", vector.dims));
        }
        let of = dtype(vector.element)?;
        if !super::code::is_integer(vector.element) {
            return Err(format!("{:?} where an integer is expected", vector.element));
        }
        let value = self.vector_in_piece(id)?;
        let to = self.register();
        self.close_with(vec![(Output::Scalar(to, of), value)])?;
        Ok(Int::In(to))
    }

    /// The slot of a vector.
    pub(super) fn slot_of(&mut self, id: VectorId) -> Refused<SlotId> {
        if let Home::Slot(slot) = self.vectors[id.0].home {
            return Ok(slot);
        }
        let vector = &self.vectors[id.0];
        let shape = shape(vector.element, &vector.dims)?;
        let value = self.vector_in_piece(id)?;
        let slot = self.slot(&shape);
        let kept = matches!(self.vectors[id.0].home, Home::Open(_));
        self.close_with(vec![(Output::Slot(slot), value)])?;
        if kept {
            self.vectors[id.0].home = Home::Slot(slot);
        }
        Ok(slot)
    }

    /// Ends the open piece.
    pub(super) fn close(&mut self) -> Refused<()> {
        self.close_with(Vec::new())
    }

    /// Ends the open piece, with more that it gives.
    pub(super) fn close_with(&mut self, more: Vec<(Output, stable::Value)>) -> Refused<()> {
        let open = std::mem::take(&mut self.open);
        let here = open.place.unwrap_or(self.place);
        let asked: Vec<stable::Value> = more.iter().map(|(_, value)| *value).collect();
        let mut outputs: Vec<(Output, stable::Value, LocationId)> =
            more.into_iter().map(|(output, value)| (output, value, here)).collect();
        for id in open.made {
            let vector = &self.vectors[id.0];
            let Home::Open(value) = vector.home else { continue };
            if vector.pending == 0 {
                // Somebody may have asked for it by name just now.
                if !asked.contains(&value) {
                    self.vectors[id.0].home = Home::Gone;
                }
                continue;
            }
            let shape = shape(vector.element, &vector.dims)?;
            let slot = self.slot(&shape);
            self.vectors[id.0].home = Home::Slot(slot);
            outputs.push((Output::Slot(slot), value, here));
        }
        for store in open.stores {
            outputs.push((Output::Store(store.access), store.value, store.place));
        }
        if outputs.is_empty() {
            self.settle_slots();
            return Ok(());
        }
        let of = |value: stable::Value| shape(open.code.element(value), &open.code.dims(value));
        let parameters: Vec<Shape> =
            open.inputs.iter().map(|(value, ..)| of(*value)).collect::<Refused<_>>()?;
        let results: Vec<Shape> =
            outputs.iter().map(|(_, value, _)| of(*value)).collect::<Refused<_>>()?;
        let donated = in_place(&open.inputs, &outputs);
        let values = open.inputs.iter().map(|(value, ..)| *value).collect();
        let given: Vec<stable::Value> = outputs.iter().map(|(_, value, _)| *value).collect();
        let module = open.code.module(values, &given);
        let piece = self.planner.plan(module, parameters, results, donated)?;
        let inputs = open.inputs.into_iter().map(|(_, input, place)| (input, place)).collect();
        let outputs = outputs.into_iter().map(|(output, _, place)| (output, place)).collect();
        let before = std::mem::replace(&mut self.place, here);
        self.step(Step::Run(Box::new(Run { piece, inputs, outputs })));
        self.place = before;
        self.settle_slots();
        Ok(())
    }
}

/// The result that takes each parameter's memory over: what is stored where it was loaded from.
fn in_place(
    inputs: &[(stable::Value, Input, LocationId)],
    outputs: &[(Output, stable::Value, LocationId)],
) -> Vec<Option<usize>> {
    let of = |(_, input, _): &(stable::Value, Input, LocationId)| match input {
        Input::Load(access) => outputs
            .iter()
            .position(|(output, ..)| matches!(output, Output::Store(other) if other == access)),
        _ => None,
    };
    inputs.iter().map(of).collect()
}
