//! Whether this process is the child of a fork: what it has of its parent's files is not its own.
use std::sync::atomic::{AtomicBool, Ordering};

static FORKED: AtomicBool = AtomicBool::new(false);

/// Whether this process was forked after its machine was made.
pub(crate) fn is_forked() -> bool {
    FORKED.load(Ordering::Relaxed)
}

/// Says that it was.
pub(crate) fn set_forked() {
    FORKED.store(true, Ordering::Relaxed);
}
