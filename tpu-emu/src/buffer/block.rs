//! Bytes in a memory space that belong to somebody. The last owner gives them back.
use crate::hbm::Region;
use crate::ledger::Origin;
use crate::machine::Emulator;
use crate::tensor::ArraySpec;
use std::sync::{Arc, OnceLock};

/// An owned region of a memory space.
#[derive(Debug)]
pub struct Block {
    machine: Arc<Emulator>,
    space: u32,
    region: Region,
    spec: Arc<ArraySpec>,
    freed_by: OnceLock<Origin>,
}

impl Block {
    pub(crate) fn new(
        machine: &Arc<Emulator>,
        space: u32,
        region: Region,
        spec: &Arc<ArraySpec>,
    ) -> Self {
        let (machine, spec) = (Arc::clone(machine), Arc::clone(spec));
        Self { machine, space, region, spec, freed_by: OnceLock::new() }
    }

    /// The bytes.
    pub fn region(&self) -> &Region {
        &self.region
    }

    /// Says who gave the block up; the first to say so is recorded when the last owner goes.
    pub(crate) fn given_up_by(&self, origin: Origin) {
        // A second owner's word does not count.
        let _ = self.freed_by.set(origin);
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        let machine = &self.machine;
        let origin = *self.freed_by.get_or_init(|| machine.ledger().origin());
        machine.release(self.space, &self.region, &self.spec, origin);
    }
}
