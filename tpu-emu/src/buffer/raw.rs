//! Arrays in blocks that a client holds by address.
use super::Buffer;
use crate::hbm::spec::ArraySpec;
use crate::memory::{Memories, Memory, MemoryKind};
use std::sync::Arc;
use tpu_base::error::{Error, Result};
use tpu_base::units::Bytes;

impl Memories {
    /// A buffer over the client's bytes at `address`, of which the client says that there are
    /// `bytes`. The client keeps the block: dropping or deleting the buffer does not free it. An
    /// array without bytes needs none.
    ///
    /// # Errors
    /// `BadArgument` where the device has no such block, and where the block or `bytes` are short
    /// of the array.
    pub fn raw_buffer(
        self: &Arc<Self>,
        device: usize,
        address: usize,
        bytes: Bytes,
        spec: &Arc<ArraySpec>,
    ) -> Result<Arc<Buffer>> {
        let name = self.device_name(device)?;
        let memory = Memory { device, kind: MemoryKind::Device };
        if spec.logical == Bytes::ZERO {
            return Ok(Arc::new(Buffer::of_part(self, spec, memory, None)));
        }
        let (found, offset) = self.raw_allocation(address)?;
        if found.device != device {
            let (text, other) = (spec.text(), self.device_name(found.device)?);
            return Err(Error::bad(format!(
                "{text} on {name}, but the block at {address:#x} is on {other}"
            )));
        }
        let rest = found.block.region().size().saturating_sub(offset);
        if bytes > rest || spec.logical > bytes {
            let (text, needed) = (spec.text(), spec.logical);
            return Err(Error::bad(format!(
                "{text} takes {needed}: {bytes} were given at {address:#x}, where the block has \
                 {rest}"
            )));
        }
        let size = spec.padded.max(spec.logical).min(bytes);
        let region = found.block.region().part(offset, size)?;
        Ok(Arc::new(Buffer::of_part(self, spec, memory, Some((found.block, region)))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hbm::spec::LayoutRequest;
    use crate::memory::raw_allocations::tests::{in_use, machine, refused};
    use tpu_base::tensor::DType;

    #[test]
    fn a_buffer_over_a_block_does_not_free_it_and_keeps_it_to_its_end() {
        let machine = machine(Bytes::mib(1));
        let spec = machine.describe(DType::F32, &[8, 128], LayoutRequest::Default).unwrap();
        let address = machine.allocate_raw(0, Bytes(8192)).unwrap();
        let whole = machine.raw_buffer(0, address, Bytes(8192), &spec).unwrap();
        let second = machine.raw_buffer(0, address + 4096, Bytes(4096), &spec).unwrap();
        assert_eq!(second.host_pointer().unwrap().addr(), address + 4096);
        whole.delete();
        drop(whole);
        assert_eq!(in_use(&machine, 0), Bytes(8192));
        machine.free_raw(0, address).unwrap();
        assert_eq!(in_use(&machine, 0), Bytes(8192));
        drop(second);
        assert_eq!(in_use(&machine, 0), Bytes::ZERO);
    }

    #[test]
    fn a_buffer_needs_a_block_of_its_device_with_room_for_the_array() {
        let machine = machine(Bytes::mib(1));
        let spec = machine.describe(DType::F32, &[8, 128], LayoutRequest::Default).unwrap();
        let address = machine.allocate_raw(1, Bytes(4096)).unwrap();
        let text = refused(machine.raw_buffer(0, address, Bytes(4096), &spec));
        assert!(text.ends_with(&format!("on TPU_0, but the block at {address:#x} is on TPU_1")));
        let text = refused(machine.raw_buffer(1, address + 512, Bytes(4096), &spec));
        let end = format!("4 KiB were given at {:#x}, where the block has 3584 B", address + 512);
        assert!(text.ends_with(&end), "{text}");
        let text = refused(machine.raw_buffer(1, address, Bytes(4095), &spec));
        assert!(text.contains("takes 4 KiB: 4095 B were given"), "{text}");
        let none = machine.describe(DType::F32, &[0], LayoutRequest::Default).unwrap();
        assert!(machine.raw_buffer(1, 0, Bytes::ZERO, &none).is_ok());
        machine.free_raw(1, address).unwrap();
    }
}
