//! Addresses of a trace as pointers in this process, and back.
use super::Memories;
use tpu_base::error::{Error, Result};
use tpu_base::units::{Bytes, DevAddr, to_usize};

impl Memories {
    /// The space that a pointer of the client points into, and the address there, as traces and
    /// snapshots have both. Whether a block lies there makes no difference.
    ///
    /// # Errors
    /// `BadArgument` for a pointer into no memory of the machine.
    pub fn address_of(&self, pointer: usize) -> Result<(u32, DevAddr)> {
        let found = (0..).zip(&self.heaps).find_map(|(space, heap)| {
            let address = heap.addr_of(pointer)?;
            Some((space, address))
        });
        found.ok_or_else(|| Error::bad(format!("{pointer:#x} is in no emulated memory")))
    }

    /// Where an address of a trace is in this process. It can be read where a block lies there.
    ///
    /// # Errors
    /// `BadArgument` for a space that the machine does not have and for an address past its end,
    /// `WrongState` for a space that nothing has been allocated in.
    pub fn pointer_to(&self, space: u32, address: DevAddr) -> Result<usize> {
        let heap = self.heaps.get(to_usize(space.into()));
        let heap = heap.ok_or_else(|| {
            Error::bad(format!("space {space} of a machine with {}", self.heaps.len()))
        })?;
        let (place, capacity) = (&heap.space().place, heap.space().capacity);
        if Bytes(address.0) >= capacity {
            return Err(Error::bad(format!("{address} is past the end of {place}, {capacity}")));
        }
        let pointer = heap.pointer_to(address);
        let why = || Error::WrongState(format!("nothing was allocated in {place} yet"));
        pointer.ok_or_else(why)
    }
}

#[cfg(test)]
mod tests {
    use crate::memory::raw_allocations::tests::{machine, refused};
    use crate::memory::{Memory, MemoryKind};
    use tpu_base::error::Code;
    use tpu_base::units::{Bytes, DevAddr};

    #[test]
    fn a_pointer_is_an_address_of_one_space_and_back() {
        let machine = machine(Bytes::mib(1));
        for device in [0, 5] {
            let pointer = machine.allocate_raw(device, Bytes(4096)).unwrap();
            let space = machine.space(Memory { device, kind: MemoryKind::Device });
            assert_eq!(machine.address_of(pointer), Ok((space, DevAddr(0))));
            assert_eq!(machine.address_of(pointer + 77), Ok((space, DevAddr(77))));
            assert_eq!(machine.pointer_to(space, DevAddr(77)), Ok(pointer + 77));
            machine.free_raw(device, pointer).unwrap();
            assert_eq!(machine.address_of(pointer), Ok((space, DevAddr(0))));
        }
    }

    #[test]
    fn what_is_no_address_and_no_pointer_is_refused() {
        let machine = machine(Bytes::mib(1));
        assert_eq!(refused(machine.address_of(8)), "0x8 is in no emulated memory");
        let text = refused(machine.pointer_to(99, DevAddr(0)));
        assert_eq!(text, "space 99 of a machine with 10");
        let text = refused(machine.pointer_to(0, DevAddr(1 << 20)));
        assert_eq!(text, "0x0000100000 is past the end of 0x0x0_HBM0, 1 MiB");
        let nothing = machine.pointer_to(0, DevAddr(0)).unwrap_err();
        assert_eq!(nothing.code(), Code::FailedPrecondition);
        assert_eq!(nothing.to_string(), "nothing was allocated in 0x0x0_HBM0 yet");
    }
}
