//! The memories of cores, for traces: a space for each that a kernel has used, and what lies where.
//!
//! Kernels run on memory of the host; here is no memory, only places.
use super::Memories;
use crate::hbm::spec::{ArraySpec, LayoutRequest};
use crate::origin::{ChangeKind, LabelId, Origin, Past, Record};
use crate::trace::{Change, Note, SpaceInfo};
use parking_lot::Mutex;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use tpu_base::tensor::DType;
use tpu_base::units::{Bytes, DevAddr, to_u64};

/// Where blocks begin: multiples of it.
const GRANULE: u64 = 128;

/// A memory of a core: the number of its device among those of the topology, its core in words,
/// and its kind.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct CoreMemory {
    pub(crate) device: usize,
    pub(crate) core: String,
    pub(crate) kind: &'static str,
}

/// What is taken of it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CoreTaken<'a> {
    pub(crate) dtype: DType,
    pub(crate) dims: &'a [usize],
    pub(crate) size: u64,
    pub(crate) label: LabelId,
}

#[derive(Debug, Default)]
struct CoreSpace {
    /// Changes so far.
    sequence: u64,
    /// What is taken: where, and up to where.
    taken: BTreeMap<u64, u64>,
}

#[derive(Debug)]
struct Live {
    past: Past,
    spec: Arc<ArraySpec>,
    place: usize,
}

#[derive(Debug, Default)]
struct Known {
    infos: Vec<SpaceInfo>,
    spaces: Vec<CoreSpace>,
    by_memory: HashMap<CoreMemory, usize>,
    live: BTreeMap<u64, Live>,
    /// Blocks so far.
    blocks: u64,
}

/// The memories of cores that kernels have used.
#[derive(Debug, Default)]
pub(crate) struct CoreSpaces(Mutex<Known>);

impl CoreSpaces {
    /// Runs something while no space is added.
    pub(super) fn with<R>(&self, run: impl FnOnce(&[SpaceInfo]) -> R) -> R {
        run(&self.0.lock().infos)
    }

    /// Tells each block that is there as an allocation, numbered from 1 in each space.
    pub(super) fn each_live(&self, mut tell: impl FnMut(&Change<'_>)) {
        let known = self.0.lock();
        let mut counts = vec![0; known.spaces.len()];
        let live: Vec<(Past, Arc<ArraySpec>)> = known
            .live
            .values()
            .map(|live| {
                counts[live.place] += 1;
                (Past { sequence: counts[live.place], ..live.past }, Arc::clone(&live.spec))
            })
            .collect();
        drop(known);
        for (past, spec) in live {
            tell(&Change { past, spec: &spec, free: None });
        }
    }
}

impl CoreSpace {
    /// The first hole of a size.
    fn hole(&self, size: u64) -> u64 {
        let mut at = 0_u64;
        for (&from, &to) in &self.taken {
            if at.saturating_add(size) <= from {
                break;
            }
            at = at.max(to).next_multiple_of(GRANULE);
        }
        at
    }
}

impl Memories {
    /// Tells that a kernel takes memory of a core; gives the number of the block, 0 for nothing
    /// that can be told.
    pub(crate) fn take_of_core(
        &self,
        memory: &CoreMemory,
        block: &CoreTaken<'_>,
        origin: Origin,
    ) -> u64 {
        let dims: Vec<u64> = block.dims.iter().map(|&dim| to_u64(dim)).collect();
        let Ok(spec) = self.specs().intern(block.dtype, &dims, LayoutRequest::Default) else {
            return 0;
        };
        let mut known = self.with_core(memory);
        let Known { infos, spaces, by_memory, live, blocks } = &mut *known;
        let Some(&place) = by_memory.get(memory) else { return 0 };
        let space = &mut spaces[place];
        let at = space.hole(block.size);
        space.taken.insert(at, at.saturating_add(block.size.max(1)));
        space.sequence += 1;
        *blocks += 1;
        let past = Past {
            kind: ChangeKind::Allocate,
            space: infos[place].number,
            sequence: space.sequence,
            address: DevAddr(at),
            size: Bytes(block.size),
            record: Record { origin, spec: spec.number, label: block.label },
        };
        let number = *blocks;
        live.insert(number, Live { past, spec: Arc::clone(&spec), place });
        drop(known);
        self.ledger().note_of_core(past, &spec);
        number
    }

    /// Tells that a kernel gives a block back.
    pub(crate) fn give_back_of_core(&self, number: u64, origin: Origin) {
        let mut known = self.cores.0.lock();
        let Some(Live { past, spec, place }) = known.live.remove(&number) else { return };
        let space = &mut known.spaces[place];
        space.taken.remove(&past.address.0);
        space.sequence += 1;
        let record = Record { origin, label: LabelId::NONE, ..past.record };
        let past = Past { kind: ChangeKind::Free, sequence: space.sequence, record, ..past };
        drop(known);
        self.ledger().note_of_core(past, &spec);
    }

    /// The memories of cores, this one among them.
    fn with_core(&self, memory: &CoreMemory) -> parking_lot::MutexGuard<'_, Known> {
        let mut known = self.cores.0.lock();
        if known.by_memory.contains_key(memory) {
            return known;
        }
        let generation = self.topology().generation();
        let capacity = match memory.kind {
            "vmem" if memory.core.contains("subcore") => generation.subcore_vmem,
            "vmem" => generation.vmem,
            "smem" => generation.smem,
            _ => Bytes(0),
        };
        let device = &self.topology().devices()[memory.device];
        let core = if memory.core.is_empty() { String::new() } else { format!(" {}", memory.core) };
        let number = self.heaps.len() + known.infos.len();
        let info = SpaceInfo {
            number: u32::try_from(number).unwrap_or(u32::MAX),
            // Readers take spaces with a device for its HBM.
            device: None,
            owner: format!("TPU_{}{core}", device.id),
            kind: memory.kind,
            capacity,
        };
        // Under the lock: nobody tells a change of the space before.
        self.ledger().tell(&Note::Space(&info));
        known.infos.push(info);
        let place = known.spaces.len();
        known.spaces.push(CoreSpace::default());
        known.by_memory.insert(memory.clone(), place);
        known
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_lie_in_the_first_hole_that_is_large_enough() {
        let mut space = CoreSpace::default();
        let mut take = |size: u64| {
            let at = space.hole(size);
            space.taken.insert(at, at + size);
            at
        };
        assert_eq!([take(100), take(256), take(8)], [0, 128, 384]);
        space.taken.remove(&128);
        assert_eq!(space.hole(257), 512);
        assert_eq!(space.hole(256), 128);
    }
}
