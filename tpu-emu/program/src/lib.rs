//! Programs: from a module to a plan that can run on one device.
pub(crate) mod chip_plan;
pub mod compile;
pub mod core_parts;
#[cfg(test)]
pub(crate) mod differential;
mod elementwise_body;
pub mod graph;
pub mod grid;
pub mod import;
pub mod interpret;
pub mod lifetimes;
mod operation_factors;
pub mod partition;
pub mod passes;
pub mod plan;
mod recompute;
pub mod rewrite;
pub mod sharding;
pub mod spmd;
mod tuning;
