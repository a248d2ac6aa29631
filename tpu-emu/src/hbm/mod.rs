//! One memory space: who holds which bytes. Bytes without meaning.
mod backing;
mod heap;
mod holes;
pub mod layout;
mod pages;
mod stats;

pub use backing::Region;
pub use heap::{Freed, Heap, KEEP_AT_MOST, Live, Space};
pub use stats::HeapStats;
