//! What kernels have of the memories of their cores, in traces.
use super::custom_call::Launch;
use crate::memory::{CoreMemory, CoreTaken};
use crate::trace::{Dispatched, Operand};
use std::sync::Arc;
use tpu_base::units::{Bytes, Nanos, to_u64};
use tpu_ops::core_records::{CoreBlock, CoreRecords};
use tpu_ops::custom_call::{CallSite, Stage};

impl CoreRecords for Launch {
    fn now(&self) -> Nanos {
        self.machine.ledger().now()
    }

    fn takes(&self, block: &CoreBlock<'_>) -> u64 {
        let Some(&(device, _)) = self.devices.get(block.device) else { return 0 };
        let ledger = self.machine.ledger();
        let memory = CoreMemory { device, core: block.core.to_owned(), kind: block.memory };
        let taken = CoreTaken {
            dtype: block.dtype,
            dims: block.dims,
            size: block.size,
            label: ledger.labels().intern(block.label),
        };
        self.machine.take_of_core(&memory, &taken, ledger.origin_of(&self.origin))
    }

    fn gives_back(&self, block: u64) {
        self.machine.give_back_of_core(block, self.machine.ledger().origin_of(&self.origin));
    }

    fn ran(&self, device: usize, site: &Arc<CallSite>, since: Nanos, error: Option<&str>) {
        let Some(&(device, _)) = self.devices.get(device) else { return };
        let ledger = self.machine.ledger();
        let mut origin = ledger.origin_of(&self.origin);
        let duration = Nanos(origin.time.0.saturating_sub(since.0));
        origin.time = since;
        let memory = |shape: &tpu_base::tensor::Shape| Operand {
            address: None,
            bytes: Bytes(to_u64(shape.bytes())),
        };
        ledger.dispatched(&Dispatched {
            site: Arc::clone(site),
            stage: Stage::Execute,
            device,
            run: self.number,
            program: Arc::clone(&self.program),
            origin,
            operands: site.operands.iter().map(memory).collect(),
            results: site.results.iter().map(memory).collect(),
            duration,
            scratch: Vec::new(),
            error: error.map(ToOwned::to_owned),
        });
    }
}
