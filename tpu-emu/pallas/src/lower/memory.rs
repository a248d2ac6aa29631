//! Loads and stores of vectors and scalars, and views of memories.
use super::code::{Refused, is_integer, storage};
use super::values::{Home, Reference, Val, dtype, extents};
use super::{Lowering, name};
use crate::form::{Access, Cell, Int, Reshaping, Step};
use tpu_mosaic::ir::{
    Attribute, Cell as MosaicCell, CoreType, DYNAMIC, Element, MemorySpace, Memref, Op, Operation,
    Type, Value,
};

/// What lies in a memory, in the words of the machine.
pub(crate) fn cell(of: MosaicCell) -> Refused<Cell> {
    Ok(match of {
        MosaicCell::Element(element) => Cell::Element(dtype(element)?),
        MosaicCell::Semaphore => Cell::Semaphore(false),
        MosaicCell::DmaSemaphore => Cell::Semaphore(true),
    })
}

/// The memory of a memref; the array's own where nothing is said.
pub(super) fn space(of: &Memref) -> MemorySpace {
    of.space.map_or(MemorySpace::Any, |space| space.memory)
}

impl<'m> Lowering<'m> {
    /// Whether a memory is outside of the kernel, where two may be the same.
    pub(super) fn is_outside(&self, memory: usize) -> bool {
        self.outside.get(memory).copied().unwrap_or(false)
    }

    fn refer_to(&mut self, value: Value) -> Refused<Reference> {
        let val = self.read(value)?;
        self.reference(val).cloned()
    }

    /// Loads, stores and views; whether it is one.
    pub(super) fn memory(&mut self, operation: &'m Operation) -> Refused<bool> {
        match operation.op {
            Op::VectorLoad | Op::TpuVectorLoad | Op::TpuStridedLoad | Op::TpuLoad => {
                self.vector_load(operation)?
            }
            Op::VectorStore | Op::TpuVectorStore | Op::TpuStridedStore | Op::TpuStore => {
                self.vector_store(operation)?;
            }
            Op::MemrefLoad => self.scalar_load(operation)?,
            Op::MemrefStore => self.scalar_store(operation)?,
            Op::MemrefAlloca => self.allocate(operation)?,
            Op::MemrefCast
            | Op::TpuEraseMemrefLayout
            | Op::TpuAnnotate
            | Op::MemrefMemorySpaceCast => self.same_view(operation)?,
            Op::TpuMemrefSlice => self.slice(operation)?,
            Op::TpuMemrefSqueeze => self.squeeze(operation)?,
            Op::TpuMemrefReshape | Op::TpuMemrefBitcast => self.reshape(operation)?,
            Op::TpuInternalScratch => self.scratch(operation)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn memref_of(&self, value: Value) -> Refused<Memref> {
        match self.type_of(value)? {
            Type::Memref(memref) => Ok(memref.clone()),
            other => Err(format!("{other:?} where a memref is expected")),
        }
    }

    /// Which elements of a memory a vector is.
    fn access(
        &mut self,
        operation: &'m Operation,
        of: &Reference,
        dims: &[i64],
    ) -> Refused<Access> {
        let indices = self.ints(operation.group("indices"))?;
        let rank = of.memref.dims.len();
        if indices.len() != rank || dims.len() > rank {
            let (indices, what) = (indices.len(), name(operation.op));
            return Err(format!("{what}: {indices} indices and {dims:?} for {:?}", of.memref.dims));
        }
        let mut whole = vec![1; rank - dims.len()];
        whole.extend(extents(dims)?);
        let strides = match operation.op {
            Op::TpuStridedLoad | Op::TpuStridedStore => {
                let strides = extents(&operation.integers("strides").unwrap_or_default())?;
                if strides.len() != rank {
                    return Err(format!("strides {strides:?} for {:?}", of.memref.dims));
                }
                if strides.last().is_some_and(|&last| last > 1) {
                    return Err("Not Implemented: Stride on last dim is not 1".to_owned());
                }
                Some(strides.into())
            }
            Op::TpuLoad | Op::TpuStore => {
                let mask = operation.integers("sublane_mask").unwrap_or_default();
                let stride =
                    operation.attributes.get("sublane_stride").and_then(Attribute::integer);
                if mask.contains(&0) || stride.is_some_and(|stride| stride != 1) {
                    let what = name(operation.op);
                    return Err(format!("{what} with the sublanes {mask:?}, stride {stride:?}"));
                }
                None
            }
            _ => {
                let strides = operation.integers("strides").unwrap_or_default();
                if strides.iter().any(|&stride| stride != 1) {
                    return Err(format!("{} with strides {strides:?}", name(operation.op)));
                }
                None
            }
        };
        Ok(Access { view: of.view, indices: indices.into(), dims: whole.into(), strides })
    }

    fn vector_type(&self, value: Value) -> Refused<(Element, Vec<i64>)> {
        match self.type_of(value)? {
            Type::Vector(vector) => Ok((storage(vector.element), vector.dims.clone())),
            Type::Scalar(element) => Ok((storage(*element), Vec::new())),
            other => Err(format!("{other:?} where a vector is expected")),
        }
    }

    fn vector_load(&mut self, operation: &'m Operation) -> Refused<()> {
        let [result] = operation.results[..] else {
            return Err("a load without result".to_owned());
        };
        let base = operation.operand("base").ok_or("a load without a memref")?;
        let of = self.refer_to(base)?;
        self.on_core(operation, &of)?;
        let (element, dims) = self.vector_type(result)?;
        let access = self.access(operation, &of, &dims)?;
        // What nobody reads is not loaded; the operand for the old value of a store is often so.
        if self.unread(result) {
            self.named[of.memory] -= 1;
            for &mask in operation.group("mask") {
                self.read(mask)?;
            }
            let id = self.vector(element, dims, Home::Gone);
            return self.bind(result, Val::Vector(id));
        }
        if operation.operand("mask").is_some() && self.core != CoreType::TensorCore {
            return self.load_lanes(operation, (&of, &access), (element, dims));
        }
        // What is masked out is undefined, and may be what lies there.
        for &mask in operation.group("mask") {
            self.read(mask)?;
        }
        let value = self.load(access, of.memory, (element, &dims))?;
        let id = self.made(value, element, dims);
        self.bind(result, Val::Vector(id))
    }

    fn unread(&self, value: Value) -> bool {
        let scope = self.scopes.last();
        scope.and_then(|scope| scope.uses.get(value.0 as usize)).is_none_or(|&uses| uses == 0)
    }

    /// Vectors come from the vector memory.
    fn on_core(&self, operation: &Operation, of: &Reference) -> Refused<()> {
        match space(&of.memref) {
            MemorySpace::Hbm | MemorySpace::Host | MemorySpace::Semaphore => {
                let (what, word) = (name(operation.op), space(&of.memref).word());
                Err(format!("{what} of a memref in {word}"))
            }
            _ => Ok(()),
        }
    }

    fn vector_store(&mut self, operation: &'m Operation) -> Refused<()> {
        let value = operation.operand("value").ok_or("a store without a value")?;
        let base = operation.operand("base").ok_or("a store without a memref")?;
        let (element, dims) = self.vector_type(value)?;
        let of_value = self.type_of(value)?;
        let val = self.peek(value)?;
        let of = self.refer_to(base)?;
        self.on_core(operation, &of)?;
        let access = self.access(operation, &of, &dims)?;
        if access.strides.as_ref().is_some_and(|strides| strides.contains(&0)) {
            return Err(format!("{} with a stride of 0", name(operation.op)));
        }
        if self.must_close_for_store(&access, of.memory) {
            self.close()?;
        }
        let mask = operation.operand("mask");
        if mask.is_none() && !operation.flag("add") {
            self.covers(&access, &of);
        }
        if mask.is_some() && self.core != CoreType::TensorCore {
            return self.store_lanes(operation, (&of, &access));
        }
        let mut stored = self.in_piece(val, of_value)?;
        if mask.is_some() || operation.flag("add") {
            let old = self.load(access.clone(), of.memory, (element, &dims))?;
            // The load may have closed the piece.
            stored = self.in_piece(val, of_value)?;
            if operation.flag("add") {
                stored = self.code().map("stablehlo.add", &[old, stored]);
            }
            if let Some(mask) = mask {
                let (of, val) = (self.type_of(mask)?, self.peek(mask)?);
                let mask_value = self.in_piece(val, of)?;
                stored = self.code().select(mask_value, stored, old);
                self.read(mask)?;
            }
        }
        self.store(access, of.memory, stored);
        self.read(value)?;
        Ok(())
    }

    /// Notes that a memory is written as a whole, if nothing was done with it before.
    fn covers(&mut self, access: &Access, of: &Reference) {
        let whole = access.strides.is_none()
            && access.indices.iter().all(|index| *index == Int::Known(0))
            && extents(&of.memref.dims).is_ok_and(|dims| dims[..] == access.dims[..]);
        // Code in regions may be left out.
        if whole && self.depth == 0 && self.named[of.memory] == 1 {
            self.covered[of.memory] = Some(of.view);
        }
    }

    fn scalar_load(&mut self, operation: &'m Operation) -> Refused<()> {
        let [result] = operation.results[..] else {
            return Err("a load without result".to_owned());
        };
        let base = operation.operand("base").ok_or("a load without a memref")?;
        let of = self.refer_to(base)?;
        let Type::Scalar(element) = *self.type_of(result)? else {
            return Err("a load of one element that is none".to_owned());
        };
        let access = self.access(operation, &of, &[])?;
        if is_integer(element) {
            if self.writes(of.memory) {
                self.close()?;
            }
            let to = self.register();
            self.step(Step::Load { from: of.view, indices: access.indices, to });
            return self.bind(result, Val::Int(Int::In(to)));
        }
        // A float is computed with in pieces.
        let whole: Vec<i64> = vec![1; of.memref.dims.len()];
        let value = self.load(access, of.memory, (element, &whole))?;
        let value = self.code().reshape(value, &[]);
        let id = self.made(value, element, Vec::new());
        self.bind(result, Val::Vector(id))
    }

    fn scalar_store(&mut self, operation: &'m Operation) -> Refused<()> {
        let value = operation.operand("value").ok_or("a store without a value")?;
        let base = operation.operand("base").ok_or("a store without a memref")?;
        let of = self.refer_to(base)?;
        let access = self.access(operation, &of, &[])?;
        let Type::Scalar(element) = *self.type_of(value)? else {
            return Err("a store of one element that is none".to_owned());
        };
        if is_integer(element) {
            let value = self.int(value)?;
            if self.touches(of.memory) {
                self.close()?;
            }
            self.written[of.memory] = true;
            self.step(Step::Store { value, to: of.view, indices: access.indices });
            return Ok(());
        }
        let (declared, val) = (self.type_of(value)?, self.peek(value)?);
        if self.must_close_for_store(&access, of.memory) {
            self.close()?;
        }
        let stored = self.in_piece(val, declared)?;
        let whole: Vec<i64> = vec![1; of.memref.dims.len()];
        let stored = self.code().reshape(stored, &whole);
        self.store(access, of.memory, stored);
        self.read(value)?;
        Ok(())
    }

    fn allocate(&mut self, operation: &'m Operation) -> Refused<()> {
        let [result] = operation.results[..] else {
            return Err("memory without result".to_owned());
        };
        let memref = self.memref_of(result)?;
        if !operation.operands.is_empty() || memref.dims.contains(&DYNAMIC) {
            return Err("memref.alloca of unknown size".to_owned());
        }
        let (cell, dims, place) = (cell(memref.cell)?, extents(&memref.dims)?, space(&memref));
        let memory = self.new_memory();
        let (val, to) = self.refer(memref, memory);
        self.step(Step::Allocate { to, cell, dims: dims.into(), space: place });
        if let Some(region) = self.regions.last_mut() {
            region.push(to);
        }
        self.bind(result, val)
    }

    fn scratch(&mut self, operation: &'m Operation) -> Refused<()> {
        let [result] = operation.results[..] else {
            return Err("memory without result".to_owned());
        };
        let memref = self.memref_of(result)?;
        let (cell, dims) = (cell(memref.cell)?, extents(&memref.dims)?);
        let bytes = dims.iter().product::<usize>() * cell.dtype().host_bytes();
        let asked = self.internal_scratch.unwrap_or(0);
        if u64::try_from(bytes).is_ok_and(|bytes| bytes > asked) {
            return Err(format!(
                "Requested internal scratch size {asked} needs to be at least {bytes}"
            ));
        }
        let memory = self.new_memory();
        let place = space(&memref);
        let (val, to) = self.refer(memref, memory);
        self.step(Step::Allocate { to, cell, dims: dims.into(), space: place });
        self.bind(result, val)
    }

    /// A memref of another type over the same view.
    fn same_view(&mut self, operation: &'m Operation) -> Refused<()> {
        let ([from], [result]) = (&operation.operands[..], &operation.results[..]) else {
            return Err(format!("{} of several memrefs", name(operation.op)));
        };
        let of = self.refer_to(*from)?;
        let memref = self.memref_of(*result)?;
        if memref.dims.len() != of.memref.dims.len() {
            return Err(format!("{:?} as {:?}", of.memref.dims, memref.dims));
        }
        self.references.push(Reference { memref, ..of });
        let id = super::values::ReferenceId(self.references.len() - 1);
        self.bind(*result, Val::Reference(id))
    }

    fn slice(&mut self, operation: &'m Operation) -> Refused<()> {
        let [result] = operation.results[..] else {
            return Err("a slice without result".to_owned());
        };
        let base = operation.operand("base").ok_or("a slice of nothing")?;
        let of = self.refer_to(base)?;
        let memref = self.memref_of(result)?;
        let indices = self.ints(operation.group("indices"))?;
        let given = self.ints(operation.group("sizes"))?;
        let mut given = given.into_iter();
        let mut sizes = Vec::with_capacity(memref.dims.len());
        for &dim in &memref.dims {
            sizes.push(match dim {
                DYNAMIC => given.next().ok_or("a slice without the size of a dimension")?,
                dim => Int::Known(dim),
            });
        }
        let rank = of.memref.dims.len();
        if indices.len() != rank || sizes.len() != rank || given.next().is_some() {
            let sizes = sizes.len();
            return Err(format!("{} indices and {sizes} sizes for {rank}", indices.len()));
        }
        let how = Reshaping::Slice { indices: indices.into(), sizes: sizes.into() };
        self.view(result, &of, memref, how)
    }

    fn squeeze(&mut self, operation: &'m Operation) -> Refused<()> {
        let ([from], [result]) = (&operation.operands[..], &operation.results[..]) else {
            return Err("a squeeze of several memrefs".to_owned());
        };
        let of = self.refer_to(*from)?;
        let memref = self.memref_of(*result)?;
        // The two are matched from the last dimension on.
        let mut left = memref.dims.len();
        let mut dropped = Vec::new();
        for (axis, &dim) in of.memref.dims.iter().enumerate().rev() {
            let same = left.checked_sub(1).map(|at| memref.dims[at]);
            let fits = same.is_some_and(|same| same == dim || same == DYNAMIC || dim == DYNAMIC);
            // One that could be dropped as well stays for an extent that is known.
            let spare = dim == 1 && same == Some(DYNAMIC) && axis + 1 > left;
            if fits && !spare {
                left -= 1;
            } else if dim == 1 {
                dropped.push(axis);
            } else {
                return Err(format!("{:?} without ones is not {:?}", of.memref.dims, memref.dims));
            }
        }
        if left != 0 {
            return Err(format!("{:?} without ones is not {:?}", of.memref.dims, memref.dims));
        }
        dropped.reverse();
        self.view(*result, &of, memref, Reshaping::Squeeze(dropped.into()))
    }

    fn reshape(&mut self, operation: &'m Operation) -> Refused<()> {
        let ([from], [result]) = (&operation.operands[..], &operation.results[..]) else {
            return Err(format!("{} of several memrefs", name(operation.op)));
        };
        let of = self.refer_to(*from)?;
        let memref = self.memref_of(*result)?;
        if memref.dims.contains(&DYNAMIC) {
            return Err(format!("{} to extents that are not known", name(operation.op)));
        }
        let dims = extents(&memref.dims)?.into();
        let how = match (operation.op, cell(memref.cell)?) {
            (Op::TpuMemrefBitcast, Cell::Element(dtype)) => Reshaping::Bitcast(dtype, dims),
            (Op::TpuMemrefBitcast, Cell::Semaphore(_)) => {
                return Err("semaphores as other elements".to_owned());
            }
            _ => Reshaping::Reshape(dims),
        };
        self.view(*result, &of, memref, how)
    }

    fn view(
        &mut self,
        result: Value,
        of: &Reference,
        memref: Memref,
        how: Reshaping,
    ) -> Refused<()> {
        let (val, to) = self.refer(memref, of.memory);
        self.step(Step::View { from: of.view, how: Box::new(how), to });
        self.bind(result, val)
    }
}
