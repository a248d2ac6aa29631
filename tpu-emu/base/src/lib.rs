//! What everything else stands on: sizes, errors, events, tables of handles, the entry
//! function, element types and their arithmetic.
pub mod entry;
pub mod error;
pub mod event;
pub mod host_pages;
pub mod panics;
pub mod record_sum;
pub mod table;
pub mod tensor;
pub mod transport;
pub mod units;
