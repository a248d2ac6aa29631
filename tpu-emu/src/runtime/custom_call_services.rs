//! What a device does for a custom call while it runs: memory, threads, names.
use super::emulator::Emulator;
use super::request::Context;
use crate::hbm::spec::LayoutRequest;
use crate::memory::{Block, Memory, MemoryKind};
use crate::origin::Origin;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;
use tpu_base::error::{Error, Result};
use tpu_base::event::Event;
use tpu_base::tensor::DType;
use tpu_base::units::{Bytes, DevAddr, to_u64, to_usize};
use tpu_ops::custom_call::Services;

/// What a device does for the calls of a launch, one stage after the other.
#[derive(Debug)]
pub(super) struct Dispatch {
    pub(super) machine: Arc<Emulator>,
    pub(super) device: usize,
    pub(super) run: i64,
    pub(super) origin: Origin,
    pub(super) context: Option<Context>,
    pub(super) scratch: Mutex<Scratch>,
}

#[derive(Debug, Default)]
pub(super) struct Scratch {
    /// Whose stage it is.
    target: Option<Arc<str>>,
    /// Whether the call is over.
    closed: bool,
    /// Blocks by the address that the handler has of them.
    held: BTreeMap<usize, Arc<Block>>,
    /// Every block that the stage took.
    pub(super) taken: Vec<(DevAddr, Bytes)>,
}

impl Dispatch {
    /// Begins a stage.
    pub(super) fn open(&self, target: &Arc<str>) {
        let mut scratch = self.scratch.lock();
        scratch.target = Some(Arc::clone(target));
        scratch.closed = false;
        scratch.taken.clear();
    }

    /// The target of the last stage.
    pub(super) fn target(&self) -> Arc<str> {
        self.scratch.lock().target.clone().unwrap_or_default()
    }

    /// Ends the call: it gets no more memory, and what it holds is given back.
    pub(super) fn close(&self) {
        let held = {
            let mut scratch = self.scratch.lock();
            scratch.closed = true;
            std::mem::take(&mut scratch.held)
        };
        drop(held);
    }

    fn memory(&self) -> Memory {
        Memory { device: self.device, kind: MemoryKind::Device }
    }

    fn over(&self) -> Error {
        Error::WrongState(format!("custom call \"{}\" is over", self.target()))
    }
}

impl Services for Dispatch {
    fn device(&self) -> usize {
        self.device
    }

    fn run_id(&self) -> i64 {
        self.run
    }

    fn allocate(&self, size: usize, alignment: usize) -> Result<usize> {
        if alignment == 0 || !alignment.is_power_of_two() {
            let message = format!("an alignment of {alignment}, which is no power of two");
            return Err(Error::bad(message));
        }
        if self.scratch.lock().closed {
            return Err(self.over());
        }
        let machine = &self.machine;
        // Blocks begin at multiples of the granule.
        let granule = to_usize(machine.heap(self.memory()).space().granule.0);
        let slack = if alignment > granule { alignment } else { 0 };
        let asked = size.max(1).checked_add(slack);
        let asked = asked.ok_or_else(|| Error::bad(format!("{size} bytes of scratch memory")))?;
        let shape = [to_u64(asked)];
        let spec = machine.specs().intern(DType::U8, &shape, LayoutRequest::Default)?;
        let ledger = machine.ledger();
        let label = ledger.labels().intern(&format!("scratch of custom call {}", self.target()));
        let block = machine
            .allocate(&spec, self.memory(), label, || ledger.origin_of(&self.origin))?
            .ok_or_else(|| Error::Host("scratch memory without bytes".to_owned()))?;
        let start = block.region().as_ptr().expose_provenance();
        let address = start.next_multiple_of(alignment);
        let mut scratch = self.scratch.lock();
        if scratch.closed {
            drop(scratch);
            return Err(self.over());
        }
        scratch.taken.push((block.region().addr(), block.region().size()));
        scratch.held.insert(address, block);
        Ok(address)
    }

    fn free(&self, address: usize) -> Result<()> {
        let block = {
            let mut scratch = self.scratch.lock();
            scratch.held.remove(&address)
        };
        let Some(block) = block else {
            let count = self.scratch.lock().held.len();
            let message = format!(
                "custom call \"{}\" frees {address:#x}, which is none of the {count} blocks of \
                 scratch memory that it holds",
                self.target()
            );
            return Err(Error::bad(message));
        };
        block.given_up_by(self.machine.ledger().origin_of(&self.origin));
        drop(block);
        Ok(())
    }

    fn schedule(&self, task: Box<dyn FnOnce() + Send>) {
        let work = move || {
            task();
            Ok(())
        };
        self.machine.tasks.run(Event::pending(), work);
    }

    fn threads(&self) -> usize {
        self.machine.tasks.threads()
    }

    fn context(&self) -> Option<&Context> {
        self.context.as_ref()
    }
}
