//! What the memories of cores hold while kernels run, for those who record it.
use crate::custom_call::CallSite;
use std::fmt;
use std::sync::Arc;
use tpu_base::tensor::DType;
use tpu_base::units::Nanos;

/// Memory that a kernel has taken of a core.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CoreBlock<'a> {
    /// The device, by its number among those of the run.
    pub device: usize,
    /// Which of its cores; empty for a TensorCore alone.
    pub core: &'a str,
    /// Which of its memories: `vmem`, `smem`, `vmem_shared` or `semaphores`.
    pub memory: &'static str,
    /// The type of its elements.
    pub dtype: DType,
    /// The extents of that array.
    pub dims: &'a [usize],
    /// Bytes that it takes there.
    pub size: u64,
    /// What it is for.
    pub label: &'a str,
}

/// Hears of what kernels do with the memories of their cores.
pub trait CoreRecords: fmt::Debug + Sync {
    /// The time.
    fn now(&self) -> Nanos;

    /// Memory was taken; gives a number for it.
    fn takes(&self, block: &CoreBlock<'_>) -> u64;

    /// Memory was given back.
    fn gives_back(&self, block: u64);

    /// A kernel has run on a device since a time; `error` tells why it failed.
    fn ran(&self, device: usize, site: &Arc<CallSite>, since: Nanos, error: Option<&str>);
}
