//! The descriptors that the service has open, which the child of a fork closes.
// UNSAFETY: closes descriptors whose owners are in another process.
#![expect(unsafe_code, reason = "close, in the child of a fork")]
use std::os::fd::{FromRawFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicI32, Ordering};

/// Clients at once, and the place where they arrive.
pub(crate) const PLACES: usize = 1 + CLIENTS;
/// Clients at once.
pub(crate) const CLIENTS: usize = 16;

/// What is open, or -1.
static OPEN: [AtomicI32; PLACES] = [const { AtomicI32::new(-1) }; PLACES];

/// Something that the child of a fork is to close, as long as this lives.
#[derive(Debug)]
pub(crate) struct Listed(RawFd);

impl Listed {
    /// Notes a descriptor; `None` where there are too many.
    pub(crate) fn new(open: RawFd) -> Option<Self> {
        let free = |place: &&AtomicI32| {
            place.compare_exchange(-1, open, Ordering::AcqRel, Ordering::Relaxed).is_ok()
        };
        OPEN.iter().find(free).map(|_| Self(open))
    }
}

impl Drop for Listed {
    fn drop(&mut self) {
        for place in &OPEN {
            // The first one is it: a descriptor is open once.
            let gone = place.compare_exchange(self.0, -1, Ordering::AcqRel, Ordering::Relaxed);
            if gone.is_ok() {
                return;
            }
        }
    }
}

/// Closes all of them, in a process that has none of the threads that use them.
pub(crate) fn forget_all() {
    for place in &OPEN {
        let open = place.swap(-1, Ordering::AcqRel);
        if open >= 0 {
            // SAFETY: the owner is a thread of the parent, which this process does not have.
            drop(unsafe { OwnedFd::from_raw_fd(open) });
        }
    }
}
