//! Arrays without a place: element types, shapes, and how their bits lie in client memory.
pub mod dtype;
pub mod element;
pub mod pack;
pub mod shape;
pub(crate) mod small_float;
pub mod strided;
pub mod subnormals;

pub use dtype::DType;
pub use shape::Shape;
