// UNSAFETY: gives a run the addresses of device memory.
//! The memories of a run: a device's, and its own.
#![expect(unsafe_code, reason = "an unsafe trait")]
use crate::buffer::Hold;
use crate::hbm::Region;
use crate::memory::spare::Lent;
use parking_lot::Mutex;
use std::ptr;
use std::sync::Arc;
use tpu_base::units::to_usize;
use tpu_kernels::aligned::Aligned;
use tpu_program::interpret::frame::Storage;

/// One of the memories of a run.
#[derive(Debug)]
pub(super) enum RunMemory {
    /// Without bytes.
    Nothing,
    /// The bytes of an argument or of the constants, which a run only reads, of a result, or of
    /// the temporaries, held until the run ends.
    Held(Hold),
    /// Memory that is not the device's.
    Own(Aligned),
    /// Such memory that the next run gets.
    Lent(Lent),
    /// Such memory of several runs, one after the other.
    Shared(Arc<Mutex<Aligned>>),
}

impl RunMemory {
    /// The bytes of memory that is not the device's, and no other run has meanwhile.
    pub(super) fn own_bytes(&mut self) -> &mut [u8] {
        match self {
            Self::Own(memory) => memory.bytes_mut(),
            Self::Lent(lent) => lent.memory().bytes_mut(),
            Self::Nothing | Self::Held(_) | Self::Shared(_) => &mut [],
        }
    }
}

// SAFETY: a region stays mapped while the hold on it lives; the other bytes belong to the value,
// or to the runs that share them, of which none replaces them.
unsafe impl Storage for RunMemory {
    fn place(&mut self) -> (*mut u8, usize) {
        let region = |region: &Region| (region.as_ptr(), to_usize(region.size().0));
        match self {
            Self::Nothing => (ptr::null_mut(), 0),
            Self::Held(hold) => hold.region().map_or((ptr::null_mut(), 0), region),
            Self::Own(memory) => memory.place(),
            Self::Lent(lent) => lent.memory().place(),
            Self::Shared(memory) => memory.lock().place(),
        }
    }

    fn is_own(&self) -> bool {
        match self {
            Self::Own(_) => true,
            Self::Lent(lent) => lent.is_last(),
            Self::Nothing | Self::Held(_) | Self::Shared(_) => false,
        }
    }
}
