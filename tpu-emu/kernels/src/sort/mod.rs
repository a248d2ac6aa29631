//! Sorting, and the greatest few.
pub mod comparator;
pub mod keys;
pub mod radix;
pub mod small;
pub mod top_k;
pub mod tuning;
