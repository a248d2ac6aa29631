//! One memory space: who holds which bytes. Bytes without meaning.
mod backing;
mod block;
mod heap;
mod own;
mod pages;
pub mod spec;
mod state;
mod stats;
mod system;
mod uses;
mod windows;

pub use backing::Region;
pub use block::{Allocated, Freed, Space};
pub use heap::Heap;
pub use state::KEEP_AT_MOST;
pub use stats::{HeapStats, HoleList};
pub use tpu_layout as layout;
pub use tpu_placement::Live;
pub use uses::{End, PendingUses};
