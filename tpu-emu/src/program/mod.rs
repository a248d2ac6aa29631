//! Programs: from a module to a plan that can run on one device.
pub(crate) mod compile;
mod derived;
mod executable;
mod fold;
mod free_layouts;
pub(crate) mod fuse;
pub(crate) mod graph;
pub(crate) mod grid;
mod invariant;
mod labels;
mod likeness;
mod listing;
pub(crate) mod load;
mod oom;
pub(crate) mod plan;
mod propagate;
mod serialized;
pub(crate) mod spread;
pub(crate) mod tactics;
pub(crate) mod tiling;
mod wanted;

pub use executable::{
    CompileOptions, CostAnalysis, Donation, Executable, Format, Inspection, MemoryAnalysis,
    Parameter, ResultInfo,
};
pub use serialized::Serialized;
