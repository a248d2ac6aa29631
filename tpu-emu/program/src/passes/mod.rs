//! What is done to a graph before it is planned.
pub(crate) mod absorbed_work;
pub(crate) mod clamped;
pub(crate) mod constant_fold;
pub(crate) mod dead_code;
pub mod fuse;
pub(crate) mod joined_pads;
pub(crate) mod loop_invariants;
pub(crate) mod one_hot;
pub(crate) mod parted;
pub(crate) mod picked;
pub(crate) mod rounded;
mod rounded_constants;
pub(crate) mod rounded_stacks;
mod rounded_weights;
pub(crate) mod scalar_loops;
pub(crate) mod schedule;
