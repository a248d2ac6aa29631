//! Custom calls that are split over devices by code of the client's.
use std::fmt;
use std::sync::Arc;
use tpu_base::error::Result;
use tpu_base::tensor::Shape;

/// An operand or result of a call, whole, and how it is split, in the words of HLO.
#[derive(Debug, Clone, PartialEq)]
pub struct SplitArray {
    /// The whole array.
    pub shape: Shape,
    /// How it is split.
    pub sharding: Arc<str>,
}

/// A call that is to be split.
#[derive(Debug, Clone, PartialEq)]
pub struct SplitCall {
    /// What the program tells the target: its `backend_config`.
    pub config: Arc<[u8]>,
    /// The operands.
    pub operands: Vec<SplitArray>,
    /// The results.
    pub results: Vec<SplitArray>,
}

/// What each device does for a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceCode {
    /// A program in StableHLO, as bytecode or text, from the parts of the operands to those of
    /// the results.
    pub module: Vec<u8>,
    /// How the operands are split for it.
    pub operands: Vec<Arc<str>>,
    /// How its results are parts of wholes.
    pub results: Vec<Arc<str>>,
}

/// Splits the calls of a target.
pub trait Partitioner: fmt::Debug + Send + Sync {
    /// How the results are split, from the operands.
    ///
    /// # Errors
    /// Those of the client's code.
    fn infer(&self, call: &SplitCall) -> Result<Vec<Arc<str>>>;

    /// What each device does.
    ///
    /// # Errors
    /// Those of the client's code.
    fn partition(&self, call: &SplitCall) -> Result<DeviceCode>;
}
