//! The machine: its devices' memory, and the ways to take and give it back.
use crate::buffer::Block;
use crate::buffer::raw_allocations::Claims;
use crate::config::{Config, POISON};
use crate::executable::Executable;
use crate::hbm::spec::{ArraySpec, Specs};
use crate::hbm::{Heap, HeapStats, Region, Space};
use crate::ledger::{Ledger, Origin, Past, Record};
use crate::origin::LabelId;
use crate::room::Room;
use crate::runtime::{CallbackOrder, InFlight, Joints, RendezvousTable, Workers};
use crate::topology::Topology;
use crate::trace::{Change, ChangeKind, Encoder, Header, SpaceInfo, Usage};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::time::Duration;
use tpu_base::error::{Error, Result};
use tpu_base::units::{Bytes, DevAddr, to_usize};
use tpu_kernels::simd;
use tpu_ops::Numerics;
use tpu_ops::custom_call::Registry;

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

/// One emulated machine: every device of a topology, with one ledger.
#[derive(Debug)]
pub struct Emulator {
    topology: Topology,
    process_index: i32,
    /// One heap a device, then one for each kind of host memory.
    heaps: Vec<Heap<Record>>,
    limit: Bytes,
    specs: Specs,
    numerics: Numerics,
    custom_calls: Arc<Registry>,
    call_timeout: Duration,
    room: Arc<dyn Room>,
    poison: bool,
    ledger: Ledger,
    pub(crate) workers: Workers,
    pub(crate) flight: Arc<InFlight>,
    pub(crate) turns: CallbackOrder,
    pub(crate) meetings: RendezvousTable,
    pub(crate) joints: Joints,
    /// Threads for the tasks of custom calls, which programs wait for.
    pub(crate) tasks: Workers,
    /// Blocks that clients hold by address.
    pub(crate) claims: Claims,
    /// Launches so far.
    launches: AtomicI64,
    /// Launches so far of programs that draw random numbers without a state.
    draws: AtomicU64,
    forked: AtomicBool,
}

impl Emulator {
    /// Builds a machine. Reserves nothing: a heap's memory is mapped by its first allocation.
    ///
    /// # Errors
    /// `BadArgument` for a process index that the topology does not have.
    pub fn new(config: Config) -> Result<Arc<Self>> {
        let Config { topology, hbm, process_index, history, numerics, .. } = config;
        let Config { threads, custom_calls, call_timeout, stacks, clock, sink, .. } = config;
        let Config { room, poison, vectors, .. } = config;
        simd::limit(vectors);
        let processes = topology.process_count();
        if !(0..processes).contains(&process_index) {
            let message = format!("process index {process_index} of {processes} processes");
            return Err(Error::bad(message));
        }
        let rules = topology.generation().tiles;
        let granule = rules.granule();
        let asked = hbm.unwrap_or_else(|| topology.live_memory_limit());
        let limit = Bytes(asked.0 / granule.0 * granule.0);
        let hbm_of = |place: String| Space { place: place.into(), capacity: limit, granule };
        let host = |kind: MemoryKind| Space {
            place: kind.name().into(),
            capacity: HOST_CAPACITY,
            granule,
        };
        let devices = topology.devices().iter().map(|device| {
            let [x, y, z] = device.coords;
            hbm_of(format!("{x}x{y}x{z}_HBM{}", device.core_on_chip))
        });
        let hosts = [host(MemoryKind::PinnedHost), host(MemoryKind::UnpinnedHost)];
        let byte = poison.then_some(POISON);
        let heap = |space| Heap::new(space).poisoned(byte);
        let heaps: Vec<_> = devices.chain(hosts).map(heap).collect();
        if let Some(sink) = &sink {
            sink.start(&topology.canonical_spec(), &space_infos(&topology, &heaps));
        }
        Ok(Arc::new(Self {
            process_index,
            heaps,
            limit,
            specs: Specs::new(rules),
            numerics,
            custom_calls,
            call_timeout,
            room,
            poison,
            ledger: Ledger::new(stacks, clock, sink, history),
            workers: Workers::new(threads.unwrap_or_else(Workers::of_this_host)),
            flight: Arc::default(),
            turns: CallbackOrder::default(),
            meetings: RendezvousTable::default(),
            joints: Joints::default(),
            tasks: Workers::new(NonZeroUsize::MIN),
            claims: Claims::default(),
            launches: AtomicI64::new(0),
            draws: AtomicU64::new(0),
            forked: AtomicBool::new(false),
            topology,
        }))
    }

    /// The chips.
    pub fn topology(&self) -> &Topology {
        &self.topology
    }

    /// The process of the slice that this one plays unless a client says otherwise.
    pub fn process_index(&self) -> i32 {
        self.process_index
    }

    /// HBM that programs can use on each device.
    pub fn memory_limit(&self) -> Bytes {
        self.limit
    }

    /// The descriptions of arrays.
    pub fn specs(&self) -> &Specs {
        &self.specs
    }

    /// How matrix products round.
    pub fn numerics(&self) -> Numerics {
        self.numerics
    }

    /// The targets that programs can call.
    pub fn custom_calls(&self) -> &Arc<Registry> {
        &self.custom_calls
    }

    /// How long a launch waits for a custom call that goes on after its handler has returned, and
    /// a call for one device of a run for those of the others.
    pub fn call_timeout(&self) -> Duration {
        self.call_timeout
    }

    /// What the host has left.
    pub(crate) fn room(&self) -> &dyn Room {
        &*self.room
    }

    /// Whether memory that nobody has written is filled with a pattern.
    pub(crate) fn is_poisoned(&self) -> bool {
        self.poison
    }

    /// A number for a launch.
    pub(crate) fn next_launch(&self) -> i64 {
        self.launches.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// The seed of a launch for what draws random numbers without a state: another one for each
    /// launch of a program that does, and the same ones in every process that launches the same.
    pub(crate) fn seed(&self, executable: &Executable) -> u64 {
        if !executable.draws {
            return 0;
        }
        // Every bit of the count moves half of the bits of the seed.
        let count = self.draws.fetch_add(1, Ordering::Relaxed);
        [0xbf58_476d_1ce4_e5b9_u64, 0x94d0_49bb_1331_11eb]
            .into_iter()
            .fold(count, |bits, factor| (bits ^ (bits >> 30)).wrapping_mul(factor))
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
    pub fn space_infos(&self) -> Vec<SpaceInfo> {
        space_infos(&self.topology, &self.heaps)
    }

    /// Everything that lives now, as a trace of its own: each live block as an allocation, and
    /// how full each space in use is.
    pub fn snapshot(&self, header: &Header<'_>) -> Vec<u8> {
        let mut encoder = Encoder::default();
        let mut out = Vec::new();
        encoder.start(header, &self.space_infos(), &mut out);
        for (space, heap) in (0..).zip(&self.heaps) {
            let stats = heap.stats();
            if stats.num_allocs == 0 {
                continue;
            }
            // The order of a snapshot is that of time: addresses say nothing of it.
            let mut blocks = heap.live();
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
                    let change = Change { past, spec: &spec };
                    encoder.change(&change, &self.ledger.names(), &mut out);
                }
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

    /// How full a memory is.
    pub fn memory_stats(&self, memory: Memory) -> HeapStats {
        self.heap(memory).stats()
    }

    /// Takes the bytes that an array needs; `None` for an array without bytes.
    ///
    /// # Errors
    /// `OutOfMemory`, and `WrongState` in the child of a fork.
    #[inline(never)]
    pub(crate) fn allocate_destination_buffer(
        self: &Arc<Self>,
        spec: &Arc<ArraySpec>,
        memory: Memory,
    ) -> Result<Option<Arc<Block>>> {
        self.allocate(spec, memory, LabelId::NONE, || self.ledger.origin())
    }

    /// Takes memory in the name of an origin that was taken before, with a label.
    pub(crate) fn allocate(
        self: &Arc<Self>,
        spec: &Arc<ArraySpec>,
        memory: Memory,
        label: LabelId,
        origin: impl FnOnce() -> Origin,
    ) -> Result<Option<Arc<Block>>> {
        self.check_not_forked()?;
        if spec.padded == Bytes::ZERO {
            return Ok(None);
        }
        let space = self.space(memory);
        let record = || Record { origin: origin(), spec: spec.number, label };
        let (taken, record) = self.heap(memory).allocate(spec.padded, record);
        let past =
            |kind, sequence, address, size| Past { kind, space, sequence, address, size, record };
        match taken {
            Ok((region, sequence)) => {
                let (address, size) = (region.addr(), region.size());
                self.ledger.note(past(ChangeKind::Allocate, sequence, address, size), spec);
                Ok(Some(Arc::new(Block::new(self, space, region, spec))))
            }
            Err(error) => {
                let refused = past(ChangeKind::Refused, 0, DevAddr(0), spec.padded);
                self.ledger.note(refused, spec);
                Err(error)
            }
        }
    }

    /// Gives a block's bytes back, in the name of `origin`.
    pub(crate) fn release(&self, space: u32, region: &Region, spec: &ArraySpec, origin: Origin) {
        if self.is_forked() {
            return;
        }
        match self.heaps[to_usize(space.into())].free(region.addr()) {
            Ok(freed) => {
                let past = Past {
                    kind: ChangeKind::Free,
                    space,
                    sequence: freed.sequence,
                    address: region.addr(),
                    size: freed.size,
                    record: Record { origin, spec: spec.number, label: LabelId::NONE },
                };
                self.ledger.note(past, spec);
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
