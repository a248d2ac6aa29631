//! `XLA_ShapedBuffer`: blocks of a device, one a node of the shape.
use super::place::{ADDRESS, Place};
use crate::abi::Abi;
use crate::memory::At;
use crate::shape::Shape;
use crate::sys::SE_DeviceMemoryBase;
use std::sync::Arc;
use tpu_emu::hbm::spec::ArraySpec;
use tpu_emu::units::{to_u64, to_usize};
use tpu_emu::{Emulator, Error, Result};

/// A shaped buffer of a client.
#[derive(Debug)]
pub(crate) struct ShapedBuffer {
    pub(crate) shape: Shape,
    /// One a node of the shape, each before what it holds.
    bases: Vec<SE_DeviceMemoryBase>,
}

/// An array of a shaped buffer, in memory that is the client's.
#[derive(Debug)]
pub(crate) struct ClientArray {
    pub(crate) spec: Arc<ArraySpec>,
    pub(crate) place: Place,
    /// Host address of the block.
    pub(crate) address: usize,
}

/// The table of a tuple.
#[derive(Debug)]
pub(crate) struct IndexTable {
    pub(crate) address: usize,
    pub(crate) parts: Vec<SE_DeviceMemoryBase>,
}

impl ShapedBuffer {
    /// Reads a client's shaped buffer.
    ///
    /// # Errors
    /// `Null`, and `BadArgument` where the shape has another number of nodes.
    pub(crate) fn read(abi: &Abi, at: At<'_>) -> Result<Self> {
        let fields = &abi.fields.shaped_buffer;
        let shape = Shape::read(abi, at.inner(fields.on_device_shape))?;
        let (count, needed): (usize, _) = (at.read(fields.count), shape.nodes().len());
        if count != needed {
            return Err(Error::bad(format!("{count} bases for a shape of {needed} nodes")));
        }
        let bases = at.follow(fields.bases, "bases of a shaped buffer")?;
        let base = |index| bases.read(index * size_of::<SE_DeviceMemoryBase>());
        Ok(Self { bases: (0..count).map(base).collect(), shape })
    }

    /// The arrays and tokens, whose blocks are all the client's and large enough.
    ///
    /// # Errors
    /// `BadArgument` for a base that is short of its array, or in no block of the device.
    pub(crate) fn parts(&self, machine: &Emulator, device: usize) -> Result<Vec<ClientArray>> {
        let nodes = self.shape.nodes().into_iter().zip(&self.bases);
        nodes
            .filter(|(node, _)| !node.is_tuple())
            .map(|(node, base)| {
                let spec = node.spec(machine.specs())?;
                let place = Place::of(node, &spec)?;
                let address = check(machine, device, base, place.end, || spec.text())?;
                Ok(ClientArray { spec, place, address })
            })
            .collect()
    }

    /// The tables of all tuples that hold something.
    ///
    /// # Errors
    /// As for [`ShapedBuffer::parts`].
    pub(crate) fn tables(&self, machine: &Emulator, device: usize) -> Result<Vec<IndexTable>> {
        let mut tables = Vec::new();
        for (index, node) in self.shape.nodes().into_iter().enumerate() {
            let parts = self.children(index, node);
            if !parts.is_empty() {
                let address = table_address(machine, device, &self.bases[index], parts.len())?;
                tables.push(IndexTable { address, parts });
            }
        }
        Ok(tables)
    }

    /// The bases of a tuple's parts; the tuple is the node `index`.
    fn children(&self, index: usize, node: &Shape) -> Vec<SE_DeviceMemoryBase> {
        let mut next = index + 1;
        let mut parts = Vec::new();
        for part in &node.tuple {
            parts.push(self.bases[next]);
            next += part.nodes().len();
        }
        parts
    }
}

impl IndexTable {
    /// The bytes of the table.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        self.parts.iter().flat_map(|part| to_u64(part.opaque.addr()).to_le_bytes()).collect()
    }
}

/// Where the table of a tuple with `count` parts is to be written.
///
/// # Errors
/// As for [`check`].
pub(crate) fn table_address(
    machine: &Emulator,
    device: usize,
    base: &SE_DeviceMemoryBase,
    count: usize,
) -> Result<usize> {
    check(machine, device, base, ADDRESS * to_u64(count), || format!("a tuple of {count}"))
}

/// The address of a base, of whose block the first `needed` bytes are the client's to use.
///
/// # Errors
/// `BadArgument` where they are not.
pub(crate) fn check(
    machine: &Emulator,
    device: usize,
    base: &SE_DeviceMemoryBase,
    needed: u64,
    what: impl Fn() -> String,
) -> Result<usize> {
    let address = base.opaque.addr();
    if needed == 0 {
        return Ok(address);
    }
    if base.size < needed {
        let (what, size) = (what(), base.size);
        return Err(Error::bad(format!("{what} takes {needed} bytes; its buffer has {size}")));
    }
    let (block, owner) = (machine.raw_block(address), machine.raw_device(address));
    let Some((block, owner)) = block.zip(owner) else {
        let what = what();
        return Err(Error::bad(format!("{what} at {address:#x}, which is in no live block")));
    };
    if owner != device {
        let what = what();
        return Err(Error::bad(format!(
            "{what} at {address:#x}, which is on device {owner}, for device {device}"
        )));
    }
    let region = block.region();
    let rest = region.as_ptr().addr() + to_usize(region.size().0) - address;
    if to_u64(rest) < needed {
        let what = what();
        return Err(Error::bad(format!(
            "{what} takes {needed} bytes; the block at {address:#x} has {rest}"
        )));
    }
    Ok(address)
}
