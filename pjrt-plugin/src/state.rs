//! What the handles of this door stand for, and the tables that resolve them.
use crate::attributes::Attributes;
use crate::boundary::{handle_of, id_of};
use crate::ffi::UserData;
use crate::memory_object;
use crate::sys;
use crate::transfers::Stream;
use crate::views::SpecView;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};
use tpu_emu::buffer::TransferManager;
use tpu_emu::hbm::layout::Layout;
use tpu_emu::topology::{DeviceInfo, Topology};
use tpu_emu::{Buffer, Config, Emulator, Error, Event, Id, Memory, Result, Table};

/// `PJRT_Client`.
#[derive(Debug)]
pub(crate) struct Client {
    pub(crate) machine: Arc<Emulator>,
    pub(crate) process_index: i32,
    /// `PJRT_Device*` of all devices, as bits, in the topology's order.
    pub(crate) devices: Vec<usize>,
    /// Where in `devices` the device with an id is.
    pub(crate) by_id: HashMap<i32, usize>,
    /// `PJRT_Device*` of this process's devices, as bits, in the order of their numbers.
    pub(crate) addressable: Vec<usize>,
    /// `PJRT_Memory*` of this process's devices, as bits.
    pub(crate) memories: Vec<usize>,
    pub(crate) topology: Id<TopologyEntry>,
    /// Registered client memory: start and size.
    pub(crate) dma: Mutex<HashMap<usize, usize>>,
}

/// `PJRT_Device`.
#[derive(Debug)]
pub(crate) struct Device {
    pub(crate) machine: Arc<Emulator>,
    /// Index into the topology's devices.
    pub(crate) index: usize,
    pub(crate) addressable: bool,
    pub(crate) description: Id<Description>,
    pub(crate) attributes: Attributes,
    /// `PJRT_Memory*` as bits, the default one first; none for a device of another process.
    pub(crate) memories: OnceLock<Vec<usize>>,
}

impl Device {
    /// The memories; empty for a device of another process.
    pub(crate) fn memories(&self) -> &[usize] {
        self.memories.get().map_or(&[], Vec::as_slice)
    }

    /// `PJRT_Memory*` of its HBM, as bits.
    ///
    /// # Errors
    /// `BadArgument` for a device of another process.
    pub(crate) fn default_memory(&self) -> Result<usize> {
        self.memories().first().copied().ok_or_else(|| {
            let info = &self.machine.topology().devices()[self.index];
            Error::bad(format!("{info} belongs to another process and cannot be addressed"))
        })
    }
}

/// `PJRT_DeviceDescription`.
#[derive(Debug)]
pub(crate) struct Description {
    pub(crate) info: DeviceInfo,
    pub(crate) kind: String,
    pub(crate) text: String,
    pub(crate) debug_text: String,
    pub(crate) attributes: Attributes,
}

/// `PJRT_Memory`.
#[derive(Debug)]
pub(crate) struct MemoryEntry {
    pub(crate) machine: Arc<Emulator>,
    pub(crate) memory: Memory,
    pub(crate) number: i32,
    pub(crate) text: String,
    pub(crate) debug_text: String,
    /// `PJRT_Device*` as bits.
    pub(crate) devices: [usize; 1],
    /// `PJRT_Memory*` as bits.
    pub(crate) handle: OnceLock<usize>,
}

/// `PJRT_TopologyDescription`.
#[derive(Debug)]
pub(crate) struct TopologyEntry {
    pub(crate) topology: Topology,
    /// `PJRT_DeviceDescription*` as bits, in the topology's order.
    pub(crate) descriptions: Vec<usize>,
    pub(crate) platform_version: String,
    pub(crate) attributes: Attributes,
    /// Whether it lives and dies with a client.
    pub(crate) of_client: bool,
    /// The machine that compiles for it; it has no memory.
    pub(crate) compiler: OnceLock<Arc<Emulator>>,
}

impl TopologyEntry {
    /// A machine of these chips to compile for, made by the first call.
    pub(crate) fn compiler(&self) -> Result<Arc<Emulator>> {
        if let Some(machine) = self.compiler.get() {
            return Ok(Arc::clone(machine));
        }
        let machine = Emulator::new(Config {
            topology: self.topology.clone(),
            hbm: Some(self.topology.aot_memory_limit()),
            history: 0,
            custom_calls: tpu_host::custom_calls(),
            ..Config::plain()
        })?;
        Ok(Arc::clone(self.compiler.get_or_init(|| machine)))
    }
}

/// `PJRT_Buffer`.
#[derive(Debug)]
pub(crate) struct BufferEntry {
    pub(crate) buffer: Arc<Buffer>,
    pub(crate) view: Arc<SpecView>,
    /// `PJRT_Device*` as bits.
    pub(crate) device: usize,
    /// `PJRT_Memory*` as bits.
    pub(crate) memory: usize,
}

/// `PJRT_Event`.
#[derive(Debug)]
pub(crate) struct EventEntry {
    pub(crate) event: Event,
    /// Whether the client made it, and so may end it.
    pub(crate) of_client: bool,
}

/// `PJRT_AsyncHostToDeviceTransferManager`.
#[derive(Debug)]
pub(crate) struct TransferEntry {
    pub(crate) manager: TransferManager,
    pub(crate) memory: Arc<MemoryEntry>,
}

/// `PJRT_AsyncTrackingEvent`: what the client says it waits for.
#[derive(Debug)]
pub(crate) struct TrackingEntry {
    #[expect(dead_code, reason = "read by a debugger, and by a trace of calls when there is one")]
    pub(crate) description: String,
}

/// `PJRT_ExecuteContext`.
#[derive(Debug, Default)]
pub(crate) struct ContextEntry {
    /// What an execution with this context hands to its handlers.
    pub(crate) user_data: Arc<UserData>,
}

/// `PJRT_FulfillAliasBufferCallback`: the alias that it belongs to.
#[derive(Debug)]
pub(crate) struct AliasEntry {
    pub(crate) alias: Arc<Buffer>,
}

/// `PJRT_CopyToDeviceStream`.
#[derive(Debug)]
pub(crate) struct StreamEntry {
    pub(crate) stream: Arc<Stream>,
}

impl Drop for StreamEntry {
    fn drop(&mut self) {
        self.stream.end();
    }
}

pub(crate) static CLIENTS: Table<Client> = Table::new("client", 1);
pub(crate) static DEVICES: Table<Device> = Table::new("device", 2);
pub(crate) static DESCRIPTIONS: Table<Description> = Table::new("device description", 3);
pub(crate) static MEMORIES: Table<MemoryEntry> = Table::new("memory", 4);
pub(crate) static TOPOLOGIES: Table<TopologyEntry> = Table::new("topology", 5);
pub(crate) static BUFFERS: Table<BufferEntry> = Table::new("buffer", 6);
pub(crate) static EVENTS: Table<EventEntry> = Table::new("event", 7);
pub(crate) static TRANSFERS: Table<TransferEntry> = Table::new("transfer manager", 8);
pub(crate) static TRACKING: Table<TrackingEntry> = Table::new("async tracking event", 9);
pub(crate) static CONTEXTS: Table<ContextEntry> = Table::new("execute context", 10);
pub(crate) static LAYOUTS: Table<Layout> = Table::new("layout", 12);
pub(crate) static STREAMS: Table<StreamEntry> = Table::new("copy-to-device stream", 15);
pub(crate) static ALIASES: Table<AliasEntry> = Table::new("alias callback", 11);

pub(crate) fn client(handle: *const sys::PJRT_Client) -> Result<Arc<Client>> {
    CLIENTS.get(id_of(handle, "client")?)
}

pub(crate) fn device(handle: *const sys::PJRT_Device) -> Result<Arc<Device>> {
    DEVICES.get(id_of(handle, "device")?)
}

pub(crate) fn description(handle: *const sys::PJRT_DeviceDescription) -> Result<Arc<Description>> {
    DESCRIPTIONS.get(id_of(handle, "device description")?)
}

pub(crate) fn memory(handle: *const sys::PJRT_Memory) -> Result<Arc<MemoryEntry>> {
    MEMORIES.get(memory_object::resolve(handle)?)
}

pub(crate) fn topology(handle: *const sys::PJRT_TopologyDescription) -> Result<Arc<TopologyEntry>> {
    TOPOLOGIES.get(id_of(handle, "topology")?)
}

pub(crate) fn buffer(handle: *const sys::PJRT_Buffer) -> Result<Arc<BufferEntry>> {
    BUFFERS.get(id_of(handle, "buffer")?)
}

pub(crate) fn context(handle: *const sys::PJRT_ExecuteContext) -> Result<Arc<ContextEntry>> {
    CONTEXTS.get(id_of(handle, "execute context")?)
}

pub(crate) fn event(handle: *const sys::PJRT_Event) -> Result<Event> {
    EVENTS.with(id_of(handle, "event")?, |entry| entry.event.clone())
}

pub(crate) fn give_event(event: Event) -> *mut sys::PJRT_Event {
    handle_of(EVENTS.insert(EventEntry { event, of_client: false }))
}

/// A handle for a buffer that lives in `memory`.
pub(crate) fn give_buffer(buffer: Arc<Buffer>, memory: &MemoryEntry) -> *mut sys::PJRT_Buffer {
    let view = SpecView::of(buffer.spec());
    give_viewed(buffer, view, memory)
}

/// A handle for a buffer whose view is known, and that lives in `memory`.
pub(crate) fn give_viewed(
    buffer: Arc<Buffer>,
    view: Arc<SpecView>,
    memory: &MemoryEntry,
) -> *mut sys::PJRT_Buffer {
    let entry = BufferEntry {
        buffer,
        view,
        device: memory.devices[0],
        memory: memory.handle.get().copied().unwrap_or(0),
    };
    handle_of(BUFFERS.insert(entry))
}
