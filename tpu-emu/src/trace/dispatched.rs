//! A stage of a custom call, as the trace tells it.
use crate::origin::Origin;
use std::sync::Arc;
use tpu_base::units::{Bytes, DevAddr, Nanos};
use tpu_ops::custom_call::{CallSite, Stage};

/// Memory of an operand or a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Operand {
    /// Where it begins in the device's memory; `None` for no bytes, and for memory elsewhere.
    pub address: Option<DevAddr>,
    /// The length.
    pub bytes: Bytes,
}

/// One stage of a call that has ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Dispatched {
    /// The place in the program: target, attributes, shapes, line.
    pub site: Arc<CallSite>,
    /// The stage.
    pub stage: Stage,
    /// Number of the device among those of the topology.
    pub device: usize,
    /// Number of the launch; 0 for [`Stage::Instantiate`].
    pub run: i64,
    /// The program's name.
    pub program: Arc<str>,
    /// Who called, and when it began.
    pub origin: Origin,
    /// Operands, in the order of the site's.
    pub operands: Vec<Operand>,
    /// Results, likewise.
    pub results: Vec<Operand>,
    /// From the call to its end.
    pub duration: Nanos,
    /// Scratch memory that it took, whether it gave it back itself or not.
    pub scratch: Vec<(DevAddr, Bytes)>,
    /// Why it failed.
    pub error: Option<String>,
}
