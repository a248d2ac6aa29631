//! Runs the steps of a plan over a frame.
pub mod custom_call;
pub mod frame;
mod fused_loop;
pub mod region;
mod row_fusion;
mod scalar_loop;
pub mod step;
