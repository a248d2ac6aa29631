//! The one form of a kernel: plain data in the terms of the newest format, whatever it was read
//! from.
mod attribute;
mod function;
mod line;
mod operation;
mod operations;
mod types;
mod words;

pub use attribute::{AffineMap, AffineResult, Attribute, Attributes, DotDimensions, Elements};
pub use function::{Block, Function, Kernel, Module, Region, Transform, Window};
pub use line::user_line;
pub use operation::{Class, Operation, Presence, Property, Row};
pub(crate) use operation::{Count, FLOAT_PREDICATES, INTEGER_PREDICATES, group_name, group_rule};
pub use operations::Op;
pub use types::{Cell, DYNAMIC, Memref, Space, Strided, Type, Vector};
pub use words::{
    CombiningKind, ContractPrecision, CoreType, DimensionSemantics, MemorySpace, PackFormat,
    PipelineMode, ReductionKind, RevisitMode, RoundingMode,
};

pub use tpu_mlir::Element;
pub use tpu_mlir::code::Value;
pub use tpu_mlir::location::{Location, LocationId, Locations, SourceLine};
