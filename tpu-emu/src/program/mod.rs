//! Programs: from a module to a plan that can run on one device.
mod executable;
mod fold;
mod fuse;
mod graph;
mod load;

pub use executable::{
    CompileOptions, CostAnalysis, Donation, Executable, Format, MemoryAnalysis, Parameter,
    ResultInfo,
};
