//! What SparseCores have besides: elements of a memory at places that lanes give, copies of rows
//! at such places, barriers of a core's subcores.
use super::code::{Refused, attributes, integers, is_integer, signed};
use super::memory::space;
use super::values::{Reference, Val, dtype, extents, shape};
use super::{Lowering, name};
use crate::form::{Access, Indirect, Int, Offsets, Output, Step, Sync};
use tpu_base::tensor::{DType, Shape};
use tpu_mosaic::ir::{DYNAMIC, Element, MemorySpace, Op, Operation, Type};
use tpu_stablehlo::ir::{Attribute, Value};

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
        let mut columns = Vec::new();
        let mut inside: Option<Value> = None;
        let column: Vec<i64> = dims.iter().copied().chain([1]).collect();
        for (&index, &extent) in operation.group("indices").iter().zip(of) {
            let (value, element, had) = self.vector_at(index)?;
            if had != dims || !is_integer(element) {
                return Err(format!("{}: indices {had:?} for {dims:?}", name(operation.op)));
            }
            let code = self.code();
            let value = code.convert(value, Element::S32);
            let (zero, end) =
                (code.integer(Element::S32, dims, 0), code.integer(Element::S32, dims, extent));
            let (low, high) = (code.compare("GE", value, zero), code.compare("LT", value, end));
            let both = code.map("stablehlo.and", &[low, high]);
            inside = Some(match inside {
                Some(inside) => code.map("stablehlo.and", &[inside, both]),
                None => both,
            });
            columns.push(code.reshape(value, &column));
        }
        if columns.len() != of.len() || columns.is_empty() {
            return Err(format!("{} indices for {of:?}", columns.len()));
        }
        let code = self.code();
        let places = code.concatenate(&columns, dims.len());
        let mut counts = inside.unwrap_or(places);
        if let Some(mask) = mask {
            let left = code.map("stablehlo.not", &[mask]);
            counts = code.map("stablehlo.or", &[counts, left]);
        }
        let yes = code.integer(Element::Pred, &[], 1);
        let axes: Vec<usize> = (0..dims.len()).collect();
        Ok((places, code.reduce("stablehlo.and", counts, yes, &axes)))
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
        let (rank, vector) = (extents.len(), dims.len());
        let all = || integers((0..rank).map(signed));
        let gather = attributes([
            ("offset_dims", integers([])),
            ("collapsed_slice_dims", all()),
            ("operand_batching_dims", integers([])),
            ("start_indices_batching_dims", integers([])),
            ("start_index_map", all()),
            ("index_vector_dim", Attribute::Integer(signed(vector).into(), Element::S64)),
            ("slice_sizes", integers(vec![1; rank])),
            ("indices_are_sorted", Attribute::Bool(false)),
        ]);
        let code = self.code();
        let found = code.emit("stablehlo.gather", &[memory, places], gather, element, &dims);
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
        let rank = extents.len();
        let code = self.code();
        if let Some(mask) = mask {
            // What is outside is not written.
            let of: Vec<i64> = code.dims(places);
            let axes: Vec<usize> = (0..dims.len()).collect();
            let mask = code.broadcast(mask, &of, &axes);
            let outside = code.integer(Element::S32, &of, -1);
            places = code.select(mask, places, outside);
        }
        let body = if operation.flag("add") { Some("stablehlo.add") } else { None };
        let scattered = code.scatter(memory, places, value_here, (rank, dims.len()), body);
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
