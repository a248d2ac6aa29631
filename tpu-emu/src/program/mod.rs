//! Programs: from a module to a plan that can run on one device.
mod executable;
mod fold;
pub(crate) mod fuse;
mod graph;
mod listing;
mod load;
pub(crate) mod plan;
mod serialized;

pub use executable::{
    CompileOptions, CostAnalysis, Donation, Executable, Format, MemoryAnalysis, Parameter,
    ResultInfo,
};
pub use serialized::Serialized;
