//! Memory of runs over whole arrays that have ended, for the next ones: a fresh mapping costs a
//! fault for each of its pages.
use parking_lot::Mutex;
use std::mem;
use std::sync::Arc;
use tpu_base::error::Result;
use tpu_base::units::{Bytes, to_u64};
use tpu_kernels::aligned::Aligned;

/// What is kept at most, as long as the host has more.
const KEPT: Bytes = Bytes::mib(512);

/// Memory that nobody uses now.
#[derive(Debug, Default)]
pub(crate) struct Spare {
    /// The oldest first.
    kept: Mutex<Vec<Aligned>>,
}

/// Memory of a run, which others get when it ends.
#[derive(Debug)]
pub(crate) struct Lent {
    memory: Aligned,
    of: Arc<Spare>,
}

fn size(memory: &Aligned) -> Bytes {
    Bytes(to_u64(memory.bytes().len()))
}

impl Spare {
    /// Whether so many bytes, all that a run takes, are kept for the next one.
    pub(crate) fn keeps(bytes: usize) -> bool {
        to_u64(bytes) <= KEPT.0
    }

    /// Memory of so many bytes with any contents.
    ///
    /// # Errors
    /// `HostMemory` where the system has no room.
    pub(crate) fn take(self: &Arc<Self>, bytes: usize) -> Result<Lent> {
        let found = {
            let mut kept = self.kept.lock();
            let place = kept.iter().rposition(|memory| memory.bytes().len() == bytes);
            place.map(|place| kept.remove(place))
        };
        let memory = found.map_or_else(|| Aligned::try_zeros(bytes), Ok)?;
        Ok(Lent { memory, of: Arc::clone(self) })
    }

    /// Gives all of it back to the system; how much it was.
    pub(crate) fn clear(&self) -> Bytes {
        let kept = mem::take(&mut *self.kept.lock());
        Bytes(kept.iter().map(|memory| size(memory).0).sum())
    }

    fn give(&self, memory: Aligned) {
        let mut kept = self.kept.lock();
        kept.push(memory);
        let mut all: u64 = kept.iter().map(|memory| size(memory).0).sum();
        let over = kept.iter().take_while(|memory| {
            let too_much = all > KEPT.0;
            all -= size(memory).0;
            too_much
        });
        let over = over.count();
        let dropped: Vec<Aligned> = kept.drain(..over).collect();
        // The system takes its time, and nobody waits for that.
        drop(kept);
        drop(dropped);
    }
}

impl Lent {
    /// The memory.
    pub(crate) fn memory(&mut self) -> &mut Aligned {
        &mut self.memory
    }

    /// Whether nobody gets it after this run.
    pub(crate) fn is_last(&self) -> bool {
        !Spare::keeps(self.memory.bytes().len())
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        let memory = mem::take(&mut self.memory);
        if !memory.bytes().is_empty() && Spare::keeps(memory.bytes().len()) {
            self.of.give(memory);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(lent: &mut Lent) -> usize {
        lent.memory().bytes().as_ptr().addr()
    }

    #[test]
    fn the_next_run_gets_what_the_last_one_of_its_size_had() {
        let spare = Arc::new(Spare::default());
        let mut first = spare.take(1 << 20).unwrap();
        first.memory().bytes_mut().fill(7);
        let at = address(&mut first);
        let mut second = spare.take(1 << 20).unwrap();
        assert_ne!(address(&mut second), at);
        drop(first);
        assert_eq!(spare.take(1 << 19).unwrap().memory().bytes().len(), 1 << 19);
        assert_eq!(address(&mut spare.take(1 << 20).unwrap()), at);
        drop(second);
        assert_eq!(spare.clear(), Bytes((2 << 20) + (1 << 19)));
        assert_eq!(spare.clear(), Bytes(0));
    }

    #[test]
    fn no_more_than_the_limit_is_kept_and_the_oldest_goes_first() {
        let spare = Arc::new(Spare::default());
        let half = usize::try_from(KEPT.0 / 2).unwrap();
        let lent: Vec<Lent> = [half, half - 64, 64].map(|bytes| spare.take(bytes).unwrap()).into();
        drop(lent);
        assert_eq!(spare.kept.lock().len(), 3);
        drop(spare.take(65).unwrap());
        assert_eq!(spare.clear().0, KEPT.0 / 2 + 65);
        let large = spare.take(2 * half + 1).unwrap();
        assert!(large.is_last());
        drop(large);
        assert_eq!(spare.clear(), Bytes(0));
        assert!(!spare.take(0).unwrap().is_last());
    }
}
