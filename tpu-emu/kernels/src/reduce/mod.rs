//! Reductions: along axes, in trees, with combiners known and unknown.
pub mod argminmax;
pub mod axis;
pub mod batch_norm;
pub mod combiner;
pub mod dyn_combiner;
pub mod tree;
pub mod tuning;
