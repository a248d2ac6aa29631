//! Arrays without a place: element types and how their bits lie in host memory.
pub mod dtype;

pub use dtype::DType;
