//! Steps with effects: semaphores, copies beside the kernel, random numbers, prints.
use super::code::{Refused, storage};
use super::memory::{cell, space};
use super::values::{Home, Reference, Val, extents, shape};
use super::{Lowering, name, shared};
use crate::form::{Int, Log, Logged, Peer, Step, Sync, ViewId};
use tpu_mosaic::ir::{Attribute, CoreType, Op, Operation, Type, Value};

impl<'m> Lowering<'m> {
    /// An operation with an effect; whether it is one.
    pub(super) fn sync(&mut self, operation: &'m Operation) -> Refused<bool> {
        match operation.op {
            Op::TpuSemAlloc => self.new_semaphores(operation)?,
            Op::TpuSemBarrier => {
                let (val, to) = self.result_view(operation)?;
                self.close()?;
                self.step(Step::Sync(Box::new(Sync::Barrier { to })));
                self.bind(operation.results[0], val)?;
            }
            Op::TpuSemRead => {
                let semaphore = self.view_of(operation, "semaphore")?;
                self.close()?;
                let to = self.register();
                self.step(Step::Sync(Box::new(Sync::Read { semaphore, to })));
                let [result] = operation.results[..] else {
                    return Err("tpu.sem_read without a result".to_owned());
                };
                self.bind(result, Val::Int(Int::In(to)))?;
            }
            Op::TpuSemWait => {
                let semaphore = self.view_of(operation, "semaphore")?;
                let amount = self.int_of(operation, "amount")?;
                self.close()?;
                self.step(Step::Sync(Box::new(Sync::Wait { semaphore, amount })));
            }
            Op::TpuSemSignal => {
                let of = self.reference_of(operation, "semaphore")?;
                let amount = self.int_of(operation, "amount")?;
                let peer = self.peer(operation, Some(&of))?;
                self.close()?;
                let semaphore = of.view;
                self.step(Step::Sync(Box::new(Sync::Signal { semaphore, amount, peer })));
            }
            Op::TpuEnqueueDma => self.enqueue(operation)?,
            Op::TpuWaitDma => {
                let target = operation.flag("wait_target");
                let end = if target { "target" } else { "source" };
                let semaphore = if target { "target_semaphore" } else { "source_semaphore" };
                let semaphore = self.view_of(operation, semaphore)?;
                let size = self.view_of(operation, end)?;
                self.close()?;
                self.step(Step::Sync(Box::new(Sync::WaitCopy { semaphore, size })));
            }
            Op::TpuWaitDma2 => {
                let semaphore = self.view_of(operation, "semaphore")?;
                self.reference_of(operation, "src")?;
                let size = self.view_of(operation, "dst")?;
                self.peer(operation, None)?;
                self.close()?;
                self.step(Step::Sync(Box::new(Sync::WaitCopy { semaphore, size })));
            }
            Op::CfAssert => {
                let [condition] = operation.operands[..] else {
                    return Err("cf.assert without a condition".to_owned());
                };
                let condition = self.int(condition)?;
                self.close()?;
                let text = operation.attributes.get("msg").and_then(Attribute::text);
                self.step(Step::Assert { condition, message: shared(text) });
            }
            Op::TpuLog | Op::TpuLogBuffer => self.log(operation)?,
            Op::TpuPrngSetSeed32 => {
                let seeds = self.ints(&operation.operands)?;
                self.close()?;
                self.step(Step::Seed(seeds.into()));
            }
            Op::TpuPrngRandomBits => self.random(operation)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    pub(super) fn reference_of(
        &mut self,
        operation: &'m Operation,
        group: &str,
    ) -> Refused<Reference> {
        let value = operation.operand(group);
        let value = value.ok_or_else(|| format!("{} without {group}", name(operation.op)))?;
        let val = self.read(value)?;
        self.reference(val).cloned()
    }

    fn view_of(&mut self, operation: &'m Operation, group: &str) -> Refused<ViewId> {
        self.reference_of(operation, group).map(|of| of.view)
    }

    fn maybe_view(&mut self, operation: &'m Operation, group: &str) -> Refused<Option<ViewId>> {
        match operation.operand(group) {
            Some(_) => self.view_of(operation, group).map(Some),
            None => Ok(None),
        }
    }

    fn int_of(&mut self, operation: &'m Operation, group: &str) -> Refused<Int> {
        let value = operation.operand(group);
        let value = value.ok_or_else(|| format!("{} without {group}", name(operation.op)))?;
        self.int(value)
    }

    /// Who is meant.
    fn peer(&mut self, operation: &'m Operation, of: Option<&Reference>) -> Refused<Peer> {
        let mut one = |group: &str| match operation.operand(group) {
            Some(value) => self.int(value).map(Some),
            None => Ok(None),
        };
        let (device, core, subcore) = (one("device_id")?, one("core_id")?, one("subcore_id")?);
        let kind = of.and_then(|of| of.memref.space).and_then(|space| space.core);
        self.names_cores |= core.is_some() && kind.unwrap_or(self.core) == CoreType::TensorCore;
        Ok(Peer { device, core, subcore, kind })
    }

    fn result_view(&mut self, operation: &'m Operation) -> Refused<(Val, ViewId)> {
        let [result] = operation.results[..] else {
            return Err(format!("{} without a result", name(operation.op)));
        };
        let Type::Memref(memref) = self.type_of(result)? else {
            return Err(format!("{} gives no memref", name(operation.op)));
        };
        let memory = self.new_memory();
        Ok(self.refer(memref.clone(), memory))
    }

    fn new_semaphores(&mut self, operation: &'m Operation) -> Refused<()> {
        let (val, to) = self.result_view(operation)?;
        let memref = self.reference(val)?.memref.clone();
        let (cell, dims, space) = (cell(memref.cell)?, extents(&memref.dims)?, space(&memref));
        self.step(Step::Allocate { to, cell, dims: dims.into(), space });
        if let Some(region) = self.regions.last_mut() {
            region.push(to);
        }
        self.bind(operation.results[0], val)
    }

    fn enqueue(&mut self, operation: &'m Operation) -> Refused<()> {
        let source = self.view_of(operation, "source")?;
        let source_semaphore = self.maybe_view(operation, "source_semaphore")?;
        let target = self.reference_of(operation, "target")?;
        let target_semaphore = self.maybe_view(operation, "target_semaphore")?;
        let peer = self.peer(operation, Some(&target))?;
        self.close()?;
        self.written[target.memory] = true;
        let target = target.view;
        let copy = Sync::Enqueue { source, source_semaphore, target, target_semaphore, peer };
        self.step(Step::Sync(Box::new(copy)));
        Ok(())
    }

    fn log(&mut self, operation: &'m Operation) -> Refused<()> {
        let tag = shared(operation.attributes.get("tag").and_then(Attribute::text));
        let mut values = Vec::new();
        if operation.op == Op::TpuLogBuffer {
            let of = self.reference_of(operation, "a")?;
            let dims = extents(&operation.integers("shape").unwrap_or_default())?;
            values.push(Logged::View(of.view, dims.into()));
        }
        for &input in operation.group("inputs") {
            values.push(self.logged(input)?);
        }
        self.close()?;
        let formatted = operation.flag("formatted");
        self.step(Step::Log(Box::new(Log { tag, formatted, values })));
        Ok(())
    }

    fn logged(&mut self, value: Value) -> Refused<Logged> {
        let (element, dims) = match self.type_of(value)? {
            Type::Scalar(element) => (storage(*element), Vec::new()),
            Type::Vector(vector) => (storage(vector.element), vector.dims.clone()),
            other => return Err(format!("a print of {other:?}")),
        };
        let shape = shape(element, &dims)?;
        if dims.is_empty() && super::code::is_integer(element) {
            return Ok(Logged::Scalar(self.int(value)?, shape.dtype));
        }
        let Val::Vector(id) = self.peek(value)? else {
            return Err("a print of no vector".to_owned());
        };
        let slot = self.slot_of(id)?;
        self.read(value)?;
        Ok(Logged::Slot(slot, shape))
    }

    fn random(&mut self, operation: &'m Operation) -> Refused<()> {
        let [result] = operation.results[..] else {
            return Err("random bits without a result".to_owned());
        };
        let (element, dims) = match self.type_of(result)? {
            Type::Vector(vector) => (vector.element, vector.dims.clone()),
            Type::Scalar(element) => (*element, Vec::new()),
            other => return Err(format!("random bits as {other:?}")),
        };
        if super::code::width(element) != Some(32) {
            return Err(format!("random bits as {element:?}"));
        }
        self.close()?;
        let shape = shape(element, &dims)?;
        let to = self.slot(&shape);
        self.step(Step::Random { elements: shape.elements(), to });
        let id = self.vector(element, dims, Home::Slot(to));
        self.bind(result, Val::Vector(id))
    }
}
