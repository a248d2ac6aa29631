//! Pallas kernels. [`Compiler::kernel`] makes of a custom call `tpu_custom_call` a step of its
//! program: the module is read by `tpu-mosaic`, lowered to the `form` that runs, and run by the
//! `machine`. What a kernel computes is StableHLO, planned and run as any program
//! (`piece`).
pub mod core_memory;
mod course;
mod extents;
mod form;
mod kept;
mod kernel;
mod lower;
mod machine;
mod outside;
mod piece;
mod rows;
mod shares;
mod uninit;

pub use kernel::{Compiler, Settings, TARGET};
pub use machine::copies::CopyOrder;
pub use machine::watch::Checks;
pub use outside::{Heard, Outside};
