//! Runs the steps of a plan over a frame.
pub(crate) mod custom_call;
pub(crate) mod frame;
mod fused_loop;
pub(crate) mod region;
mod row_fusion;
mod scalar_loop;
pub(crate) mod step;
