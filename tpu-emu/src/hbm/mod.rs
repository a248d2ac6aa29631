//! One memory space: who holds which bytes.
pub mod layout;

mod backing;
mod heap;
mod holes;
mod pages;
mod stats;

pub use backing::Region;
pub use heap::{Freed, Heap, KEEP_AT_MOST, Live, Space};
pub use stats::HeapStats;
