//! A loop as operations on single elements, as the pass `scalar_loops` finds it.
use crate::graph::ValueId;
use tpu_kernels::jit::Loop;

/// Bytes of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ValueRange {
    pub(crate) value: ValueId,
    /// The first of them.
    pub(crate) offset: usize,
    /// How many there are.
    pub(crate) bytes: usize,
}

/// A loop that can be one piece of machine code.
#[derive(Debug)]
pub(crate) struct ScalarProgram {
    pub(crate) code: Loop,
    /// What lies in each of its memories. What the loop carries is named by the loop's results,
    /// which share its memory from the first iteration on.
    pub(crate) memories: Vec<ValueRange>,
}
