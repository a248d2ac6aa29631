//! Programs: from a module to a plan that can run on one device.
mod executable;

pub use executable::{
    CompileOptions, CostAnalysis, Donation, Executable, Format, MemoryAnalysis, Parameter,
    ResultInfo,
};
