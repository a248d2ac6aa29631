//! One memory space: who holds which bytes.
pub mod layout;
