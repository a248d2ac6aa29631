//! Programs before they are imported: what a pass over the module says in other words.
mod code;
pub mod custom_partitioning;
mod partial;
pub mod placement;
pub mod unreduced;
