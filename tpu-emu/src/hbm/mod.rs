//! One memory space: who holds which bytes. Bytes without meaning.
mod backing;
mod heap;
pub mod layout;
mod stats;

pub use backing::Region;
pub use heap::{Freed, Heap, Live, Space};
pub use stats::HeapStats;
