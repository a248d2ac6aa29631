//! One memory space: who holds which bytes. Bytes without meaning.
mod backing;
mod heap;
mod holes;
mod pages;
pub mod spec;
mod state;
mod stats;
mod system;

pub use backing::Region;
pub use heap::{Freed, Heap, Live, Space};
pub use state::KEEP_AT_MOST;
pub use stats::{HeapStats, HoleList};
pub use tpu_layout as layout;
