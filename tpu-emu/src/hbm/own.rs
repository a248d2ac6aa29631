//! Memory of no space: for copies of what is elsewhere.
use super::backing::{Backing, Region};
use std::sync::Arc;
use tpu_base::error::{Error, Result};
use tpu_base::units::{Bytes, DevAddr};

impl Region {
    /// Memory of its own, zero until it is written.
    ///
    /// # Errors
    /// `Host` and `HostMemory` with the system's words if it refuses.
    pub(crate) fn own(size: Bytes) -> Result<Self> {
        let start = DevAddr(0);
        let backing = Backing::reserve(start, size)?;
        backing.grow(DevAddr(size.0))?;
        let short = || Error::Host(format!("{size} were mapped and cannot be touched"));
        Self::new(Arc::new(backing), start, size).ok_or_else(short)
    }
}
