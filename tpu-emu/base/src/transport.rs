//! Messages between the processes of a slice, whoever carries them.
use crate::error::Result;
use std::fmt;

/// The bytes of an array that came with a message.
pub type ArrayBytes = Box<dyn AsRef<[u8]> + Send + Sync>;

/// Carries messages to the other processes of a slice.
///
/// Messages from one process to another arrive in the order in which they were sent, whole, once.
pub trait Transport: fmt::Debug + Send + Sync {
    /// Sends a message: what it says, and the bytes of arrays that go with it. It may block until
    /// the other process has room for it.
    ///
    /// # Errors
    /// `Unavailable` where the process is not there any more.
    fn send(&self, to: usize, head: &[u8], arrays: &[Vec<u8>]) -> Result<()>;
}

/// Takes what the other processes send. Neither function may block: whatever comes behind waits.
pub trait Inbox: Send + Sync {
    /// Takes a message.
    fn received(&self, from: usize, head: Vec<u8>, arrays: Vec<ArrayBytes>);

    /// Hears that a process is gone, and how that was seen. Nothing comes from it any more.
    fn lost(&self, process: usize, why: &str);
}
