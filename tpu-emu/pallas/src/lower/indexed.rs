//! What SparseCores have besides: elements of a memory at places that lanes give, copies of rows
//! at such places, barriers of a core's subcores.
use super::code::{Refused, is_integer};
use super::memory::space;
use super::values::{Reference, Val, dtype, extents, shape};
use super::{Lowering, name};
use crate::form::{Access, Indirect, Int, Offsets, Output, Step, Sync};
use tpu_base::tensor::{DType, Shape};
use tpu_mosaic::ir::{DYNAMIC, Element, MemorySpace, Op, Operation, Type};
use tpu_stablehlo::ir::Value;

impl<'m> Lowering<'m> {
    /// An operation of this kind; whether it is one.
    pub(super) fn indexed(&mut self, operation: &'m Operation) -> Refused<bool> {
        match operation.op {
            Op::TpuVectorLoadIdx => self.load_at(operation)?,
            Op::TpuVectorStoreIdx => self.store_at(operation)?,
            Op::TpuEnqueueIndirectDma => self.enqueue_rows(operation)?,
            Op::TpuWaitIndirectDma => {
                let semaphore = self.reference_of(operation, "semaphore")?.view;
                let source = self.reference_of(operation, "src")?;
                let target = self.reference_of(operation, "dst")?;
                let size = if gathers(&source, &target) { target.view } else { source.view };
                self.close()?;
                self.step(Step::Sync(Box::new(Sync::WaitCopy { semaphore, size })));
            }
            Op::TpuBarrier => {
                let [barrier] = operation.operands[..] else {
                    return Err("tpu.barrier without a number".to_owned());
                };
                let barrier = self.int(barrier)?;
                self.close()?;
                self.step(Step::Sync(Box::new(Sync::Meet { barrier })));
            }
            Op::TpuFetchAndAddSync => self.fetch_and_add(operation)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// A whole memory as an access.
    fn whole(&self, of: &Reference) -> Refused<(Access, Vec<i64>)> {
        if of.memref.dims.contains(&DYNAMIC) {
            return Err("places in a memory of unknown extents".to_owned());
        }
        let dims = of.memref.dims.clone();
        let indices = vec![Int::Known(0); dims.len()].into();
        let whole = extents(&dims)?.into();
        Ok((Access { view: of.view, indices, dims: whole, strides: None }, dims))
    }

    fn vector_at(&mut self, value: Value) -> Refused<(Value, Element, Vec<i64>)> {
        let of = self.type_of(value)?;
        let (element, dims) = match of {
            Type::Vector(vector) => (vector.element, vector.dims.clone()),
            other => return Err(format!("{other:?} where a vector is expected")),
        };
        let val = self.peek(value)?;
        Ok((self.in_piece(val, of)?, element, dims))
    }

    /// Places along each dimension of a memory, one behind the other, and whether all of them that
    /// count are inside.
    fn places(
        &mut self,
        operation: &'m Operation,
        (of, dims): (&[i64], &[i64]),
        mask: Option<Value>,
    ) -> Refused<(Value, Value)> {
        let mut along = Vec::new();
        for &index in operation.group("indices") {
            let (value, element, had) = self.vector_at(index)?;
            if had != dims || !is_integer(element) {
                return Err(format!("{}: indices {had:?} for {dims:?}", name(operation.op)));
            }
            along.push(self.code().convert(value, Element::S32));
        }
        self.joined(&along, (of, dims), mask)
    }

    /// Columns of places behind each other, and whether all of them that count are inside.
    fn joined(
        &mut self,
        along: &[Value],
        (of, dims): (&[i64], &[i64]),
        mask: Option<Value>,
    ) -> Refused<(Value, Value)> {
        if along.len() != of.len() || along.is_empty() {
            return Err(format!("{} indices for {of:?}", along.len()));
        }
        let column: Vec<i64> = dims.iter().copied().chain([1]).collect();
        let code = self.code();
        let mut columns = Vec::new();
        let mut counts = code.integer(Element::Pred, dims, 1);
        for (&value, &extent) in along.iter().zip(of) {
            let (zero, end) =
                (code.integer(Element::S32, dims, 0), code.integer(Element::S32, dims, extent));
            let (low, high) = (code.compare("GE", value, zero), code.compare("LT", value, end));
            counts = code.map("stablehlo.and", &[counts, low]);
            counts = code.map("stablehlo.and", &[counts, high]);
            columns.push(code.reshape(value, &column));
        }
        let places = code.concatenate(&columns, dims.len());
        if let Some(mask) = mask {
            let left = code.map("stablehlo.not", &[mask]);
            counts = code.map("stablehlo.or", &[counts, left]);
        }
        let yes = code.integer(Element::Pred, &[], 1);
        let axes: Vec<usize> = (0..dims.len()).collect();
        Ok((places, code.reduce("stablehlo.and", counts, yes, &axes)))
    }

    /// Places side by side for the lanes that a mask has, from indices on.
    fn packed(
        &mut self,
        access: &Access,
        (of, dims): (&[i64], &[i64]),
        mask: Value,
    ) -> Refused<(Value, Value)> {
        let [lanes] = dims[..] else {
            return Err(format!("a mask over {dims:?} lanes"));
        };
        let mut along = Vec::new();
        for &index in &*access.indices {
            let index = self.scalar_in_piece(index, Element::S32)?;
            along.push(self.code().spread(index, dims));
        }
        let Some(last) = along.last_mut() else {
            return Err("lanes of a memory without dimensions".to_owned());
        };
        let code = self.code();
        let ones = code.convert(mask, Element::S32);
        let square = [lanes, lanes];
        let (rows, columns) =
            (code.iota(Element::S32, &square, 0), code.iota(Element::S32, &square, 1));
        let before = code.compare("LT", columns, rows);
        let ones = code.broadcast(ones, &square, &[1]);
        let none = code.integer(Element::S32, &square, 0);
        let ones = code.select(before, ones, none);
        let zero = code.integer(Element::S32, &[], 0);
        let rank = code.reduce("stablehlo.add", ones, zero, &[1]);
        *last = code.map("stablehlo.add", &[*last, rank]);
        self.joined(&along, (of, dims), Some(mask))
    }

    /// A load of which the lanes of a mask take what lies side by side.
    pub(super) fn load_lanes(
        &mut self,
        operation: &'m Operation,
        (of, access): (&Reference, &Access),
        (element, dims): (Element, Vec<i64>),
    ) -> Refused<()> {
        let [result] = operation.results[..] else {
            return Err("a load without result".to_owned());
        };
        let (whole, extents) = self.whole(of)?;
        let memory = self.load(whole, of.memory, (element, &extents))?;
        let Some(mask) = self.mask(operation)? else {
            return Err("a load without mask".to_owned());
        };
        let (places, inside) = self.packed(access, (&extents, &dims), mask)?;
        let found = self.code().gather(memory, places, (extents.len(), &dims));
        let id = self.made(found, element, dims);
        self.bind(result, Val::Vector(id))?;
        self.consume(operation, &["mask"])?;
        self.checked(inside, &extents)
    }

    /// A store of the lanes of a mask, side by side.
    pub(super) fn store_lanes(
        &mut self,
        operation: &'m Operation,
        (of, access): (&Reference, &Access),
    ) -> Refused<()> {
        let (whole, extents) = self.whole(of)?;
        if self.must_close_for_store(&whole, of.memory) {
            self.close()?;
        }
        let value = operation.operand("value").ok_or("a store without a value")?;
        let Type::Vector(vector) = self.type_of(value)? else {
            return Err("a store of no vector".to_owned());
        };
        let memory = self.load(whole.clone(), of.memory, (vector.element, &extents))?;
        let (value, _, dims) = self.vector_at(value)?;
        let Some(mask) = self.mask(operation)? else {
            return Err("a store without mask".to_owned());
        };
        let (places, inside) = self.packed(access, (&extents, &dims), mask)?;
        let places = self.masked_places(places, mask, dims.len());
        let body = operation.flag("add").then_some("stablehlo.add");
        let code = self.code();
        let made = code.scatter(memory, places, value, (extents.len(), dims.len()), body);
        self.store(whole, of.memory, made);
        self.consume(operation, &["value", "mask"])?;
        self.checked(inside, &extents)
    }

    /// Places of which those that are masked out lie outside, where nothing is written.
    fn masked_places(&mut self, places: Value, mask: Value, rank: usize) -> Value {
        let code = self.code();
        let of: Vec<i64> = code.dims(places);
        let axes: Vec<usize> = (0..rank).collect();
        let mask = code.broadcast(mask, &of, &axes);
        let outside = code.integer(Element::S32, &of, -1);
        code.select(mask, places, outside)
    }

    fn mask(&mut self, operation: &'m Operation) -> Refused<Option<Value>> {
        match operation.operand("mask") {
            Some(mask) => self.vector_at(mask).map(|(value, ..)| Some(value)),
            None => Ok(None),
        }
    }

    /// The end of a piece that fails where a place is outside.
    fn checked(&mut self, inside: Value, of: &[i64]) -> Refused<()> {
        let to = self.register();
        self.close_with(vec![(Output::Scalar(to, DType::Pred), inside)])?;
        let message = format!("out of bounds: a lane's place is outside of {of:?}").into();
        self.step(Step::Assert { condition: Int::In(to), message });
        Ok(())
    }

    fn load_at(&mut self, operation: &'m Operation) -> Refused<()> {
        let [result] = operation.results[..] else {
            return Err("a load without result".to_owned());
        };
        let Type::Vector(vector) = self.type_of(result)? else {
            return Err("a load of no vector".to_owned());
        };
        let (element, dims) = (vector.element, vector.dims.clone());
        let of = self.reference_of(operation, "base")?;
        let (access, extents) = self.whole(&of)?;
        let memory = self.load(access, of.memory, (element, &extents))?;
        let mask = self.mask(operation)?;
        let (places, inside) = self.places(operation, (&extents, &dims), mask)?;
        let found = self.code().gather(memory, places, (extents.len(), &dims));
        let id = self.made(found, element, dims);
        self.bind(result, Val::Vector(id))?;
        self.consume(operation, &["indices", "mask"])?;
        self.checked(inside, &extents)
    }

    fn store_at(&mut self, operation: &'m Operation) -> Refused<()> {
        let of = self.reference_of(operation, "base")?;
        let (access, extents) = self.whole(&of)?;
        if self.must_close_for_store(&access, of.memory) {
            self.close()?;
        }
        let value = operation.operand("value").ok_or("a store without a value")?;
        let element = match self.type_of(value)? {
            Type::Vector(vector) => vector.element,
            other => return Err(format!("a store of {other:?}")),
        };
        let memory = self.load(access.clone(), of.memory, (element, &extents))?;
        let (value_here, _, dims) = self.vector_at(value)?;
        let mask = self.mask(operation)?;
        let (mut places, inside) = self.places(operation, (&extents, &dims), mask)?;
        if let Some(mask) = mask {
            places = self.masked_places(places, mask, dims.len());
        }
        let code = self.code();
        let body = operation.flag("add").then_some("stablehlo.add");
        let scattered = code.scatter(memory, places, value_here, (extents.len(), dims.len()), body);
        self.store(access, of.memory, scattered);
        self.consume(operation, &["value", "indices", "mask"])?;
        self.checked(inside, &extents)
    }

    /// Reads of all values of groups, which were seen already.
    fn consume(&mut self, operation: &'m Operation, groups: &[&str]) -> Refused<()> {
        for group in groups {
            for &value in operation.group(group) {
                self.read(value)?;
            }
        }
        Ok(())
    }

    fn enqueue_rows(&mut self, operation: &'m Operation) -> Refused<()> {
        let source = self.reference_of(operation, "source")?;
        let target = self.reference_of(operation, "target")?;
        let semaphore = self.reference_of(operation, "semaphore")?.view;
        let filter = match operation.operand("offset_filter") {
            Some(filter) => Some(self.int(filter)?),
            None => None,
        };
        let offsets = operation.operand("offsets").ok_or("a copy without offsets")?;
        let offsets = match self.type_of(offsets)? {
            Type::Vector(vector) => {
                let of = shape(vector.element, &vector.dims)?;
                let Val::Vector(id) = self.peek(offsets)? else {
                    return Err("offsets that are no vector".to_owned());
                };
                let slot = self.slot_of(id)?;
                self.read(offsets)?;
                Offsets::Slot(slot, of)
            }
            _ => Offsets::View(self.reference_of(operation, "offsets")?.view),
        };
        let gathers = gathers(&source, &target);
        let add = match operation.flag("add") {
            true => Some(self.sum_of(&target)?),
            false => None,
        };
        self.close()?;
        self.written[target.memory] = true;
        let (source, target) = (source.view, target.view);
        let copy = Indirect { source, target, offsets, filter, semaphore, gathers, add };
        self.step(Step::Sync(Box::new(Sync::Indirect(Box::new(copy)))));
        Ok(())
    }

    /// A piece that adds two elements of a memory's type.
    fn sum_of(&mut self, of: &Reference) -> Refused<std::sync::Arc<crate::piece::Piece>> {
        let tpu_mosaic::ir::Cell::Element(element) = of.memref.cell else {
            return Err("sums of semaphores".to_owned());
        };
        let inner = of.memref.dims.get(1..).unwrap_or(&[]).to_vec();
        let mut code = super::code::Code::default();
        let (a, b) = (code.value(element, &inner), code.value(element, &inner));
        let sum = code.map("stablehlo.add", &[a, b]);
        let row = Shape::new(dtype(element)?, extents(&inner)?);
        let module = code.module(vec![a, b], &[sum]);
        self.planner.plan(module, vec![row.clone(), row.clone()], vec![row], vec![None, None])
    }

    fn fetch_and_add(&mut self, operation: &'m Operation) -> Refused<()> {
        let [result] = operation.results[..] else {
            return Err("tpu.fetch_and_add_sync without a result".to_owned());
        };
        let of = self.reference_of(operation, "base")?;
        let indices = self.ints(operation.group("indices"))?;
        if indices.len() != of.memref.dims.len() {
            return Err(format!("{} indices for {:?}", indices.len(), of.memref.dims));
        }
        let value = self.int(operation.operand("value").ok_or("a sum without a value")?)?;
        let core = self.int(operation.operand("core_id").ok_or("a sum without a core")?)?;
        self.close()?;
        self.written[of.memory] = true;
        let to = self.register();
        let (view, indices) = (of.view, indices.into());
        self.step(Step::Sync(Box::new(Sync::FetchAdd { view, indices, value, core, to })));
        self.bind(result, Val::Int(Int::In(to)))
    }
}

/// Whether rows of the source are selected, and not those of the target.
fn gathers(source: &Reference, target: &Reference) -> bool {
    let far = |of: &Reference| space(&of.memref) != MemorySpace::Vmem;
    far(source) && !far(target)
}
