//! What the host has left, asked before something large is written: a refusal has a name, and a
//! process that the system ends for want of memory has none.
use crate::config::POISON;
use crate::hbm::Region;
use crate::machine::Emulator;
use std::fmt;
use tpu_base::error::{Error, Result};
use tpu_base::units::Bytes;

/// Less than this is not asked about: the question takes a thirtieth of a millisecond, which is
/// nothing beside writing so much.
const ASK_FROM: Bytes = Bytes::mib(256);

/// Knows what the host has left.
pub trait Room: Send + Sync + fmt::Debug {
    /// Memory that this process may still take; `None` where nobody knows.
    fn left(&self) -> Option<Bytes>;
}

/// A host without end.
#[derive(Debug)]
pub(crate) struct NoEnd;

impl Room for NoEnd {
    fn left(&self) -> Option<Bytes> {
        None
    }
}

impl Emulator {
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
        let Some(left) = self.room().left().filter(|&left| left < wanted) else { return Ok(()) };
        let resident = places.map(|region| region.resident().0).sum();
        let asked = wanted.saturating_sub(Bytes(resident));
        if asked <= left {
            return Ok(());
        }
        Err(Error::HostMemory { asked, what, why: format!("it has {left} left") })
    }

    /// Fills memory of a run's own that nobody has written, where that is asked for.
    pub(crate) fn poison(&self, bytes: &mut [u8]) {
        if self.is_poisoned() {
            bytes.fill(POISON);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::machine::{Memory, MemoryKind};
    use std::sync::Arc;

    #[derive(Debug)]
    struct Little;

    impl Room for Little {
        fn left(&self) -> Option<Bytes> {
            Some(Bytes::mib(300))
        }
    }

    #[test]
    fn what_the_host_has_no_room_for_is_refused_with_both_numbers() {
        let machine = Emulator::new(Config { room: Arc::new(Little), ..Config::plain() }).unwrap();
        let asks = |size| machine.room_for(size, "results", std::iter::empty());
        assert_eq!(asks(Bytes::mib(300)), Ok(()));
        let error = asks(Bytes::gib(1)).unwrap_err();
        let text = "the host has no room for 1 GiB of results: it has 300 MiB left";
        assert_eq!(error.to_string(), text);
        // What is there already is no more to be taken.
        let memory = Memory { device: 0, kind: MemoryKind::Device };
        let (taken, ()) = {
            let heap = crate::hbm::Heap::new(machine.heap(memory).space().clone());
            heap.allocate(Bytes::mib(64), || ())
        };
        let (region, _) = taken.unwrap();
        region.fill(1);
        let places = [&region];
        assert_eq!(machine.room_for(Bytes::mib(360), "results", places.into_iter()), Ok(()));
    }
}
