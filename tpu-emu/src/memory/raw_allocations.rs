//! Blocks that a client holds by address: what it took, where that lies, and how it comes back.
use super::{Block, Memories, Memory, MemoryKind};
use crate::hbm::Region;
use crate::hbm::layout::Layout;
use crate::hbm::spec::{ArraySpec, LayoutRequest};
use crate::origin::LabelId;
use parking_lot::Mutex;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use tpu_base::error::{Error, Result};
use tpu_base::tensor::DType;
use tpu_base::units::{Bytes, to_u64, to_usize};

/// The blocks that clients hold by address, by the host address of their first byte.
///
/// The memories live at least as long as these.
#[derive(Debug, Default)]
pub(super) struct RawAllocations(Mutex<BTreeMap<usize, RawAllocation>>);

/// A block of a client.
#[derive(Debug, Clone)]
pub(crate) struct RawAllocation {
    pub(crate) device: usize,
    pub(crate) block: Arc<Block>,
}

/// A block of a client, for messages.
#[derive(Debug, Clone, Copy)]
struct Found {
    address: usize,
    size: Bytes,
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {:#x}", self.size, self.address)
    }
}

impl RawAllocations {
    /// The block that contains `address`, and how far into it that is.
    fn at(&self, address: usize) -> Option<(RawAllocation, Bytes)> {
        let held = self.0.lock();
        let (&start, found) = held.range(..=address).next_back()?;
        let offset = Bytes(to_u64(address - start));
        (offset < found.block.region().size()).then(|| (found.clone(), offset))
    }

    /// The device's block with the least distance to `address`, the lower one of two.
    fn nearest(&self, device: usize, address: usize) -> Option<Found> {
        let held = self.0.lock();
        let found = |(&address, one): (&usize, &RawAllocation)| {
            (one.device == device).then(|| Found { address, size: one.block.region().size() })
        };
        let below = held.range(..=address).rev().find_map(found);
        let above = held.range(address..).find_map(found);
        let Some(low) = below else { return above };
        let gap = address.saturating_sub(low.address + to_usize(low.size.0));
        above.filter(|high| high.address - address < gap).or(Some(low))
    }
}

thread_local! {
    /// What the next block of this thread's client is for.
    static PURPOSE: RefCell<Option<(Arc<ArraySpec>, LabelId)>> = const { RefCell::new(None) };
}

/// Runs `take`, by which a client takes memory for an array: the blocks of the array's size that
/// this thread takes meanwhile are known as that array, with this label.
pub(crate) fn taken_for<R>(spec: &Arc<ArraySpec>, label: LabelId, take: impl FnOnce() -> R) -> R {
    let outer = PURPOSE.replace(Some((Arc::clone(spec), label)));
    let taken = take();
    PURPOSE.set(outer);
    taken
}

impl Memories {
    /// Takes `size` bytes of a device's HBM, rounded to granules, for a client that knows them by
    /// address: the host address of the first one. They are the client's until
    /// [`Memories::free_raw`].
    ///
    /// # Errors
    /// `BadArgument` for no bytes and for a device that the machine does not have, `OutOfMemory`,
    /// and `WrongState` in the child of a fork.
    // A frame of its own: recorded stacks show it by name.
    #[inline(never)]
    pub fn allocate_raw(self: &Arc<Self>, device: usize, size: Bytes) -> Result<usize> {
        let name = self.device_name(device)?;
        // A thread that ends has none.
        let purpose = PURPOSE.try_with(|purpose| purpose.borrow().clone()).ok().flatten();
        let (spec, label) = match purpose.filter(|(spec, _)| spec.padded == size) {
            Some(purpose) => purpose,
            None => (self.bytes_of(size)?, LabelId::NONE),
        };
        let memory = Memory { device, kind: MemoryKind::Device };
        let block = self
            .allocate(&spec, memory, label, || self.ledger().origin())?
            .ok_or_else(|| Error::bad(format!("an allocation of {size} on {name}")))?;
        let address = block.region().as_ptr().expose_provenance();
        self.raw_allocations.0.lock().insert(address, RawAllocation { device, block });
        Ok(address)
    }

    /// Bytes without a meaning.
    fn bytes_of(&self, size: Bytes) -> Result<Arc<ArraySpec>> {
        let untiled = Layout { minor_to_major: vec![0], ..Layout::default() };
        self.specs().intern(DType::U8, &[size.0], LayoutRequest::Tiled(untiled))
    }

    /// Gives back what [`Memories::allocate_raw`] gave out. A run that still uses the bytes keeps
    /// them until it ends.
    ///
    /// # Errors
    /// `BadArgument` with the nearest block where the client holds none on this device that
    /// starts at `address`.
    pub fn free_raw(&self, device: usize, address: usize) -> Result<()> {
        let name = self.device_name(device)?;
        let found = {
            let mut held = self.raw_allocations.0.lock();
            let own = held.get(&address).is_some_and(|found| found.device == device);
            if own { held.remove(&address) } else { None }
        };
        let Some(RawAllocation { block, .. }) = found else {
            let nearest = match self.raw_allocations.nearest(device, address) {
                Some(found) => format!("the nearest is {found}"),
                None => "there is none".to_owned(),
            };
            let elsewhere = match self.raw_allocations.at(address) {
                Some((found, Bytes::ZERO)) if found.device != device => {
                    format!("; the one at {address:#x} is on {}", self.device_name(found.device)?)
                }
                _ => String::new(),
            };
            return Err(Error::bad(format!(
                "no live block of {name} starts at {address:#x}: {nearest}{elsewhere}"
            )));
        };
        block.given_up_by(self.ledger().origin());
        drop(block);
        Ok(())
    }

    /// Takes all of them off their clients: what a test has not freed would keep the memories.
    #[cfg(test)]
    pub(crate) fn end_raw(&self) {
        let all = std::mem::take(&mut *self.raw_allocations.0.lock());
        drop(all);
    }

    /// The client's block that contains `address`.
    pub fn raw_block(&self, address: usize) -> Option<Arc<Block>> {
        self.raw_allocations.at(address).map(|(found, _)| found.block)
    }

    /// The device whose block contains `address`.
    pub fn raw_device(&self, address: usize) -> Option<usize> {
        self.raw_allocations.at(address).map(|(found, _)| found.device)
    }

    /// Copies the client's bytes at `address` out.
    ///
    /// # Errors
    /// `BadArgument` where they are not all in one block of the client; then `into` is untouched.
    pub fn read_raw(&self, address: usize, into: &mut [u8]) -> Result<()> {
        if into.is_empty() {
            return Ok(());
        }
        let (_block, region) = self.range("a read", address, Bytes(to_u64(into.len())))?;
        region.read(Bytes::ZERO, into)
    }

    /// Copies `bytes` to the client's bytes at `address`.
    ///
    /// # Errors
    /// `BadArgument` where they do not all go into one block of the client; then nothing is
    /// written.
    pub fn write_raw(&self, address: usize, bytes: &[u8]) -> Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        let (_block, region) = self.range("a write", address, Bytes(to_u64(bytes.len())))?;
        region.write(Bytes::ZERO, bytes)
    }

    /// Copies `size` bytes of the client's to another place of the client's, on the same device
    /// or another. The two may overlap.
    ///
    /// # Errors
    /// `BadArgument` where either is not in one block of the client; then nothing is written.
    pub fn copy_raw(&self, from: usize, to: usize, size: Bytes) -> Result<()> {
        if size == Bytes::ZERO {
            return Ok(());
        }
        let (_from, source) = self.range("a copy from", from, size)?;
        let (_to, target) = self.range("a copy to", to, size)?;
        source.copy_to(&target, size)
    }

    /// `TPU_0`.
    ///
    /// # Errors
    /// `BadArgument` for a device that the machine does not have.
    pub(crate) fn device_name(&self, device: usize) -> Result<String> {
        let devices = self.topology().devices();
        devices.get(device).map(|device| format!("TPU_{}", device.id)).ok_or_else(|| {
            Error::bad(format!("device {device} of a machine with {}", devices.len()))
        })
    }

    pub(crate) fn raw_allocation(&self, address: usize) -> Result<(RawAllocation, Bytes)> {
        self.raw_allocations.at(address).ok_or_else(|| {
            let nearest = |device| self.raw_allocations.nearest(device, address);
            let devices = 0..self.topology().devices().len();
            let nearest = devices
                .filter_map(nearest)
                .min_by_key(|found| found.address.abs_diff(address))
                .map_or_else(
                    || "there is none".to_owned(),
                    |found| format!("the nearest is {found}"),
                );
            Error::bad(format!("no live block contains {address:#x}: {nearest}"))
        })
    }

    /// The bytes from `address` on, with their block.
    fn range(&self, what: &str, address: usize, size: Bytes) -> Result<(Arc<Block>, Region)> {
        self.check_not_forked()?;
        let (found, offset) = self.raw_allocation(address)?;
        let rest = found.block.region().size().saturating_sub(offset);
        if size > rest {
            return Err(Error::bad(format!(
                "{what} of {size} at {address:#x}, where the block has {rest}"
            )));
        }
        let region = found.block.region().part(offset, size)?;
        Ok((found.block, region))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::config::Config;
    use crate::origin::ChangeKind;
    use crate::runtime::Emulator;
    use tpu_base::error::Code;

    pub(crate) fn machine(hbm: Bytes) -> Arc<Emulator> {
        Emulator::new(Config { hbm: Some(hbm), ..Config::plain() }).unwrap()
    }

    pub(crate) fn in_use(machine: &Emulator, device: usize) -> Bytes {
        machine.memory_stats(Memory { device, kind: MemoryKind::Device }).bytes_in_use
    }

    pub(crate) fn refused<T: fmt::Debug>(outcome: Result<T>) -> String {
        let error = outcome.unwrap_err();
        assert_eq!(error.code(), Code::InvalidArgument);
        error.to_string()
    }

    #[test]
    fn a_block_is_the_clients_from_allocation_to_deallocation() {
        let machine = machine(Bytes::mib(1));
        let address = machine.allocate_raw(3, Bytes(100)).unwrap();
        let granule = machine.heap(Memory { device: 3, kind: MemoryKind::Device }).space().granule;
        assert_eq!(in_use(&machine, 3), granule);
        assert_eq!(machine.raw_device(address + 99), Some(3));
        assert_eq!(machine.raw_block(address).unwrap().region().size(), granule);

        machine.free_raw(3, address).unwrap();

        assert_eq!((in_use(&machine, 3), machine.raw_device(address)), (Bytes::ZERO, None));
        let kinds: Vec<_> = machine.ledger().past().iter().map(|past| past.kind).collect();
        assert_eq!(kinds, [ChangeKind::Allocate, ChangeKind::Free]);
    }

    #[test]
    fn more_than_there_is_is_out_of_memory_and_on_record() {
        let machine = machine(Bytes::mib(1));
        let error = machine.allocate_raw(0, Bytes::mib(2)).unwrap_err();
        assert_eq!(error.code(), Code::ResourceExhausted);
        assert_eq!(machine.ledger().past()[0].kind, ChangeKind::Refused);
        refused(machine.allocate_raw(0, Bytes::ZERO));
        let text = refused(machine.allocate_raw(8, Bytes(1)));
        assert_eq!(text, "device 8 of a machine with 8");
    }

    #[test]
    fn giving_back_what_is_not_held_names_the_nearest_block() {
        let machine = machine(Bytes::mib(1));
        let text = refused(machine.free_raw(0, 0x1000));
        assert_eq!(text, "no live block of TPU_0 starts at 0x1000: there is none");

        let blocks = [4096, 8192].map(|size| machine.allocate_raw(0, Bytes(size)).unwrap());
        let (inside, start) = (blocks[0] + 16, "no live block of TPU_0 starts at");
        let text = refused(machine.free_raw(0, inside));
        assert_eq!(text, format!("{start} {inside:#x}: the nearest is 4 KiB at {:#x}", blocks[0]));
        let text = refused(machine.free_raw(1, blocks[1]));
        let on = format!("there is none; the one at {0:#x} is on TPU_0", blocks[1]);
        assert_eq!(text, format!("no live block of TPU_1 starts at {:#x}: {on}", blocks[1]));
        machine.free_raw(0, blocks[0]).unwrap();
        let text = refused(machine.free_raw(0, blocks[0]));
        let nearest = format!("the nearest is 8 KiB at {:#x}", blocks[1]);
        assert_eq!(text, format!("{start} {:#x}: {nearest}", blocks[0]));
        machine.free_raw(0, blocks[1]).unwrap();
    }

    #[test]
    fn bytes_are_copied_within_a_block_and_between_devices_and_no_further() {
        let machine = machine(Bytes::mib(1));
        let [first, second] = [0, 1].map(|at| machine.allocate_raw(at, Bytes(4096)).unwrap());
        machine.write_raw(first + 8, &[1, 2, 3, 4]).unwrap();
        machine.copy_raw(first + 8, first + 10, Bytes(4)).unwrap();
        machine.copy_raw(first + 8, second + 4090, Bytes(6)).unwrap();
        let mut back = [0; 6];
        machine.read_raw(second + 4090, &mut back).unwrap();
        assert_eq!(back, [1, 2, 1, 2, 3, 4]);

        let text = refused(machine.read_raw(second + 4090, &mut [0; 7]));
        let at = second + 4090;
        assert_eq!(text, format!("a read of 7 B at {at:#x}, where the block has 6 B"));
        let text = refused(machine.copy_raw(first, second + 1, Bytes(4096)));
        let at = second + 1;
        assert_eq!(text, format!("a copy to of 4 KiB at {at:#x}, where the block has 4095 B"));
        refused(machine.write_raw(usize::MAX, &[1]));
        [first, second].iter().zip(0..).for_each(|(&at, device)| {
            machine.free_raw(device, at).unwrap();
        });
        let text = refused(machine.write_raw(first, &[1]));
        assert_eq!(text, format!("no live block contains {first:#x}: there is none"));
    }
}
