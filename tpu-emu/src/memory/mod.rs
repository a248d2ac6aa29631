//! The memories of a machine's devices: who has which bytes, and the ways to take and give back.
mod block;
mod core_spaces;
mod pointers;
pub(crate) mod raw_allocations;
mod recording;
mod refusal;
pub(crate) mod spare;

use crate::config::POISON;
use crate::hbm::spec::{ArraySpec, Specs};
use crate::hbm::{Allocated, Heap, HeapStats, Region, Space};
use crate::host_memory::HostMemory;
use crate::ledger::Ledger;
use crate::origin::{ChangeKind, LabelId, Origin, Past, Record};
use crate::run_ahead::RunAhead;
use crate::topology::Topology;
use crate::trace::{Change, ClientEnd, Encoder, Header, Mark, Note, Places, SpaceInfo, Usage};
use crate::workers::Workers;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use tpu_base::error::{Error, Result};
use tpu_base::units::{Bytes, to_usize};

pub use block::Block;
pub(crate) use block::{BlockBytes, Content};
use core_spaces::CoreSpaces;
pub(crate) use core_spaces::{CoreMemory, CoreTaken};
use raw_allocations::RawAllocations;
pub(crate) use raw_allocations::taken_for;
pub use refusal::Explain;
pub(crate) use refusal::{NotTaken, Refused};
use spare::Spare;

/// Address space for each kind of host memory; pages are committed by touch.
const HOST_CAPACITY: Bytes = Bytes::gib(256);

/// A kind of memory that a device can address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MemoryKind {
    /// HBM.
    Device,
    /// Host memory that the device can reach.
    PinnedHost,
    /// Other host memory.
    UnpinnedHost,
}

impl MemoryKind {
    /// All kinds, the default first.
    pub const ALL: [Self; 3] = [Self::Device, Self::PinnedHost, Self::UnpinnedHost];

    /// The name that clients use.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Device => "device",
            Self::PinnedHost => "pinned_host",
            Self::UnpinnedHost => "unpinned_host",
        }
    }

    /// The number of the kind, as the real library gives it.
    ///
    /// Source: MemoryDescriptions extension of libtpu 0.0.51.
    pub const fn number(self) -> i32 {
        match self {
            Self::Device => -569_941_144,
            Self::PinnedHost => -1_650_963_262,
            Self::UnpinnedHost => -2_062_524_483,
        }
    }
}

/// One kind of memory as one device sees it. Host memory is shared by all devices.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Memory {
    /// Index into the topology's devices.
    pub device: usize,
    /// The kind.
    pub kind: MemoryKind,
}

/// A host with less memory left than this is not asked: the question takes a thirtieth of a
/// millisecond, which is nothing beside writing so much.
const ASK_FROM: Bytes = Bytes::mib(256);

/// The memories of all devices of a topology, and of its host, with one ledger.
///
/// They live as long as anything that lies in them.
#[derive(Debug)]
pub struct Memories {
    topology: Topology,
    /// One heap a device, then one for each kind of host memory.
    heaps: Vec<Heap<Record>>,
    limit: Bytes,
    specs: Specs,
    host: Arc<dyn HostMemory>,
    poison: bool,
    /// Memory of runs over whole arrays, for the next ones.
    pub(crate) spare: Arc<Spare>,
    ledger: Ledger,
    /// Threads that copy, and that run programs.
    pub(crate) workers: Workers,
    /// Blocks that clients hold by address.
    raw_allocations: RawAllocations,
    /// Bytes of the client that wait for their places in device memory.
    pub(crate) staged: AtomicU64,
    pub(crate) run_ahead: RunAhead,
    forked: AtomicBool,
    /// Who says to clients why there is no room.
    explainer: OnceLock<Arc<dyn Explain>>,
    /// The memories of cores, as far as a trace has heard of them.
    pub(crate) cores: CoreSpaces,
}

impl Memories {
    /// The client asks when something has ended: it does not run ahead of its devices.
    pub fn client_waits(&self) {
        self.run_ahead.waited();
    }

    /// Reserves nothing: a heap's memory is mapped by its first allocation.
    pub(crate) fn new(
        topology: Topology,
        hbm: Option<Bytes>,
        (host, poison): (Arc<dyn HostMemory>, bool),
        ledger: Ledger,
        workers: Workers,
    ) -> Self {
        let rules = topology.generation().tiles;
        let granule = rules.granule();
        let asked = hbm.unwrap_or_else(|| topology.live_memory_limit());
        let limit = Bytes(asked.0 / granule.0 * granule.0);
        let hbm_of = |place: String| Space { place: place.into(), capacity: limit, granule };
        let host_of = |kind: MemoryKind| Space {
            place: kind.name().into(),
            capacity: HOST_CAPACITY,
            granule,
        };
        let devices = topology.devices().iter().map(|device| {
            let [x, y, z] = device.coords;
            let slice = device.slice_index.map_or(String::new(), |slice| format!("slice{slice}_"));
            hbm_of(format!("{slice}{x}x{y}x{z}_HBM{}", device.core_on_chip))
        });
        let hosts = [host_of(MemoryKind::PinnedHost), host_of(MemoryKind::UnpinnedHost)];
        let byte = poison.then_some(POISON);
        let heap = |space| Heap::new(space).poisoned(byte);
        let heaps: Vec<_> = devices.chain(hosts).map(heap).collect();
        ledger.begin(&topology.canonical_spec(), &space_infos(&topology, &heaps));
        Self {
            heaps,
            limit,
            specs: Specs::new(rules),
            host,
            poison,
            spare: Arc::default(),
            ledger,
            workers,
            raw_allocations: RawAllocations::default(),
            staged: AtomicU64::new(0),
            run_ahead: RunAhead::default(),
            forked: AtomicBool::new(false),
            explainer: OnceLock::new(),
            cores: CoreSpaces::default(),
            topology,
        }
    }

    /// The chips.
    pub fn topology(&self) -> &Topology {
        &self.topology
    }

    /// HBM that programs can use on each device.
    pub fn memory_limit(&self) -> Bytes {
        self.limit
    }

    /// The descriptions of arrays.
    pub fn specs(&self) -> &Specs {
        &self.specs
    }

    /// The record of changes.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// Says that this process is a fork's child: it has none of the machine's threads, and its
    /// memory is a copy.
    pub fn mark_forked(&self) {
        self.forked.store(true, Ordering::Relaxed);
    }

    /// Whether this process is a fork's child.
    pub fn is_forked(&self) -> bool {
        self.forked.load(Ordering::Relaxed)
    }

    /// # Errors
    /// `WrongState` in the child of a fork.
    pub fn check_not_forked(&self) -> Result<()> {
        if !self.is_forked() {
            return Ok(());
        }
        let why = "this process was forked after the emulated TPU was loaded; \
                   start it with the spawn method, or load the TPU in the child";
        Err(Error::WrongState(why.to_owned()))
    }

    /// Refuses to write `wanted` bytes where the host has not so many left beside those that
    /// `places`, among which the bytes are, have already.
    ///
    /// # Errors
    /// `HostMemory` with both numbers.
    pub(crate) fn room_for<'a>(
        &self,
        wanted: Bytes,
        what: &'static str,
        places: impl Iterator<Item = &'a Region>,
    ) -> Result<()> {
        if wanted < ASK_FROM {
            return Ok(());
        }
        let Some(left) = self.host.left().filter(|&left| left < wanted) else { return Ok(()) };
        let resident = places.map(|region| region.resident().0).sum();
        let asked = wanted.saturating_sub(Bytes(resident));
        let left = left + if asked > left { self.spare.clear() } else { Bytes(0) };
        if asked <= left {
            return Ok(());
        }
        Err(Error::HostMemory { asked, what, why: format!("it has {left} left") })
    }

    /// Fills memory of a run's own that nobody has written, where that is asked for.
    pub(crate) fn poison(&self, bytes: &mut [u8]) {
        if self.poison {
            bytes.fill(POISON);
        }
    }

    /// The heap behind a memory.
    pub fn heap(&self, memory: Memory) -> &Heap<Record> {
        &self.heaps[to_usize(self.space(memory).into())]
    }

    /// Number of the space behind a memory.
    pub fn space(&self, memory: Memory) -> u32 {
        let devices = self.topology.devices().len();
        let index = match memory.kind {
            MemoryKind::Device => memory.device,
            MemoryKind::PinnedHost => devices,
            MemoryKind::UnpinnedHost => devices + 1,
        };
        u32::try_from(index).unwrap_or(u32::MAX)
    }

    /// The memory spaces as a trace names them.
    pub(crate) fn space_infos(&self) -> Vec<SpaceInfo> {
        space_infos(&self.topology, &self.heaps)
    }

    /// Everything that lives now, as a trace of its own: each live block as an allocation, and
    /// how full each space in use is.
    pub fn snapshot(&self, header: &Header<'_>) -> Vec<u8> {
        let mut encoder = Encoder::default();
        let mut out = Vec::new();
        encoder.start(header, &self.space_infos(), &mut out);
        self.each_live(|change| encoder.change(change, &self.ledger.names(), &mut out));
        for (space, heap) in (0..).zip(&self.heaps) {
            let stats = heap.stats();
            if stats.num_allocs == 0 {
                continue;
            }
            let usage = Usage {
                space,
                in_use: stats.bytes_in_use,
                peak: stats.peak_bytes_in_use,
                allocations: stats.num_allocs,
                largest_hole: stats.largest_free_block_bytes,
            };
            encoder.usage(&usage, &mut out);
        }
        out
    }

    /// Tells each live block as an allocation, numbered from 1 in each space.
    fn each_live(&self, mut tell: impl FnMut(&Change<'_>)) {
        for (space, _) in (0..).zip(&self.heaps) {
            self.each_live_in(space, &mut tell);
        }
    }

    /// Tells each live block of a space as an allocation, numbered from 1.
    fn each_live_in(&self, space: u32, mut tell: impl FnMut(&Change<'_>)) {
        // The order of a snapshot is that of time: addresses say nothing of it.
        let mut blocks = self.heaps[to_usize(space.into())].live();
        blocks.sort_by_key(|block| block.record.origin.time);
        for (sequence, block) in (1..).zip(blocks) {
            let past = Past {
                kind: ChangeKind::Allocate,
                space,
                sequence,
                address: block.addr,
                size: block.size,
                record: block.record,
            };
            if let Some(spec) = self.specs.get(block.record.spec) {
                tell(&Change { past, spec: &spec, free: None });
            }
        }
    }

    /// Names this moment in the trace, if there is one.
    #[inline(never)]
    pub fn mark(&self, name: &str) {
        if self.ledger.is_heard() && !self.is_forked() {
            let origin = self.ledger.origin();
            let places = self.places();
            self.ledger.tell(&Note::Mark(&Mark { name, origin, places }));
        }
    }

    /// Says in the trace, if there is one, that a client cleans up from here on. `why` is the sign
    /// of it.
    #[inline(never)]
    pub fn client_ends(&self, why: &str) {
        if self.ledger.is_heard() && !self.is_forked() {
            let origin = self.ledger.origin();
            let places = self.places();
            self.ledger.tell(&Note::ClientEnd(&ClientEnd { why, origin, places }));
        }
    }

    /// How far each space that was used is.
    fn places(&self) -> Places {
        let places = (0..).zip(&self.heaps).map(|(space, heap)| (space, heap.sequence()));
        places.filter(|&(_, sequence)| sequence > 0).collect()
    }

    /// How full a memory is.
    pub fn memory_stats(&self, memory: Memory) -> HeapStats {
        self.heap(memory).stats()
    }

    /// Takes the bytes that an array needs; `None` for an array without bytes. The block says what
    /// still uses them.
    ///
    /// # Errors
    /// `OutOfMemory`, and `WrongState` in the child of a fork.
    #[inline(never)]
    pub(crate) fn allocate_destination_buffer(
        self: &Arc<Self>,
        spec: &Arc<ArraySpec>,
        memory: Memory,
    ) -> Result<Option<Arc<Block>>> {
        self.allocate_in_use(spec, memory, LabelId::NONE, || self.ledger.origin())
    }

    /// Takes memory in the name of an origin that was taken before, with a label. Nothing uses
    /// its bytes any more when this returns.
    pub(crate) fn allocate(
        self: &Arc<Self>,
        spec: &Arc<ArraySpec>,
        memory: Memory,
        label: LabelId,
        origin: impl FnOnce() -> Origin,
    ) -> Result<Option<Arc<Block>>> {
        let block = self.allocate_in_use(spec, memory, label, origin)?;
        block.iter().for_each(|block| block.wait_until_unused());
        Ok(block)
    }

    /// Takes memory as [`Memories::allocate`] does, and waits for nobody: the block says what
    /// still uses its bytes, which may be touched when that is over.
    pub(crate) fn allocate_in_use(
        self: &Arc<Self>,
        spec: &Arc<ArraySpec>,
        memory: Memory,
        label: LabelId,
        origin: impl FnOnce() -> Origin,
    ) -> Result<Option<Arc<Block>>> {
        self.take(spec, memory, label, origin).map_err(|NotTaken { error, record }| {
            let Some(Record { origin, label, .. }) = record else { return error };
            let refused = Refused { spec, memory, label, origin };
            self.note_refusal(refused, None);
            match label {
                LabelId::NONE => self.explained(error, refused, None),
                _ => error,
            }
        })
    }

    /// Takes memory as [`Memories::allocate_in_use`] does. Where there is none, the ledger does
    /// not hear of it: who launches a program knows what else it needs, and says that with it.
    pub(crate) fn take(
        self: &Arc<Self>,
        spec: &Arc<ArraySpec>,
        memory: Memory,
        label: LabelId,
        origin: impl FnOnce() -> Origin,
    ) -> Result<Option<Arc<Block>>, NotTaken> {
        self.check_not_forked()?;
        if spec.padded == Bytes::ZERO {
            return Ok(None);
        }
        let space = self.space(memory);
        let record = || Record { origin: origin(), spec: spec.number, label };
        let (taken, record) = self.heap(memory).allocate(spec.padded, record);
        let Allocated { region, sequence, uses } =
            taken.map_err(|error| NotTaken { error, record: Some(record) })?;
        let (address, size, kind) = (region.addr(), region.size(), ChangeKind::Allocate);
        let past = Past { kind, space, sequence, address, size, record };
        self.ledger.note(past, spec, None);
        Ok(Some(Arc::new(Block::new(self, space, (region, uses), spec))))
    }

    /// Gives a block's bytes back, in the name of `origin`, although something may use them.
    pub(crate) fn release(&self, space: u32, place: &BlockBytes, spec: &ArraySpec, origin: Origin) {
        if self.is_forked() {
            return;
        }
        let address = place.region().addr();
        match self.heaps[to_usize(space.into())].free_in_use(address, &place.uses()) {
            Ok(freed) => {
                let past = Past {
                    kind: ChangeKind::Free,
                    space,
                    sequence: freed.sequence,
                    address,
                    size: freed.size,
                    record: Record { origin, spec: spec.number, label: LabelId::NONE },
                };
                self.ledger.note(past, spec, None);
            }
            // A block owns its region and frees it once; anything else is a bug worth a line.
            Err(error) => tracing::error!(%error, "a block could not be freed"),
        }
    }
}

fn space_infos(topology: &Topology, heaps: &[Heap<Record>]) -> Vec<SpaceInfo> {
    let devices = topology.devices();
    let info = |(index, heap): (usize, &Heap<Record>)| {
        let device = devices.get(index);
        let kind = match index.checked_sub(devices.len()) {
            None => MemoryKind::Device,
            Some(0) => MemoryKind::PinnedHost,
            Some(_) => MemoryKind::UnpinnedHost,
        };
        SpaceInfo {
            number: u32::try_from(index).unwrap_or(u32::MAX),
            device: device.and_then(|device| u64::try_from(device.id).ok()),
            owner: device.map_or_else(|| "host".to_owned(), |device| format!("TPU_{}", device.id)),
            kind: kind.name(),
            capacity: heap.space().capacity,
        }
    };
    heaps.iter().enumerate().map(info).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::runtime::Emulator;

    #[derive(Debug)]
    struct Little;

    impl HostMemory for Little {
        fn left(&self) -> Option<Bytes> {
            Some(Bytes::mib(300))
        }
    }

    #[test]
    fn what_the_host_has_no_room_for_is_refused_with_both_numbers() {
        let machine =
            Emulator::new(Config { host_memory: Arc::new(Little), ..Config::plain() }).unwrap();
        let asks = |size| machine.room_for(size, "results", std::iter::empty());
        assert_eq!(asks(Bytes::mib(300)), Ok(()));
        let error = asks(Bytes::gib(1)).unwrap_err();
        let text = "the host has no room for 1 GiB of results: it has 300 MiB left";
        assert_eq!(error.to_string(), text);
        // What is there already is no more to be taken.
        let memory = Memory { device: 0, kind: MemoryKind::Device };
        let (taken, ()) = {
            let heap = Heap::new(machine.heap(memory).space().clone());
            heap.allocate(Bytes::mib(64), || ())
        };
        let region = taken.unwrap().region;
        region.fill(1);
        let places = [&region];
        assert_eq!(machine.room_for(Bytes::mib(360), "results", places.into_iter()), Ok(()));
    }
}
