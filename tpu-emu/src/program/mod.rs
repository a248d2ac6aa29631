//! Programs: from a module to a plan that can run on one device.
pub(crate) mod graph;
pub(crate) mod grid;
pub(crate) mod import;
pub(crate) mod interpret;
pub(crate) mod passes;
pub(crate) mod plan;
pub(crate) mod spmd;
