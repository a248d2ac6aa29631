//! What a client asks for when it launches a program, and what it gets.
use super::loaded::LoadedExecutable;
use crate::buffer::Buffer;
use crate::executable::{Donation, Executable};
use std::any::Any;
use std::sync::Arc;
use tpu_base::event::Event;
use tpu_ops::host_transfer::HostTransfers;

/// The client's side of a launch, handed to its custom calls.
pub type Context = Arc<dyn Any + Send + Sync>;

/// A program, what it runs on, and how.
#[derive(Debug, Clone, Copy)]
pub struct LaunchRequest<'a> {
    /// The program.
    pub executable: &'a Arc<LoadedExecutable>,
    /// The devices of the run, in the order of the assignment.
    pub devices: &'a [DeviceRequest<'a>],
    /// How the run is to be done.
    pub options: &'a LaunchOptions,
}

/// What one device of a run reads, and where its results go.
#[derive(Debug, Clone, Copy)]
pub struct DeviceRequest<'a> {
    /// Index of the device.
    pub device: usize,
    /// The arguments that it reads.
    pub arguments: &'a [Arc<Buffer>],
    /// Memory of the client for its results, one buffer for each, which has the bytes when the
    /// run ends; `None` for new memory.
    ///
    /// A result may lie in the memory of the argument that it takes over
    /// ([`crate::executable::ResultInfo::alias`]) if the client gives that up; otherwise it has
    /// memory of its own. No buffer is deleted: what the client gives up is its to give back.
    pub results: Option<&'a [Arc<Buffer>]>,
}

impl<'a> DeviceRequest<'a> {
    /// A device whose results have new memory.
    pub fn new(device: usize, arguments: &'a [Arc<Buffer>]) -> Self {
        Self { device, arguments, results: None }
    }
}

/// How one run is to be done.
#[derive(Debug, Clone, Default)]
pub struct LaunchOptions {
    /// Numbers of parameters that are not to be donated though the program says so.
    pub not_donated: Vec<usize>,
    /// What the client gives to the custom calls of this launch.
    pub context: Option<Context>,
    /// The client's side of the program's host transfers, one a device of the launch; empty if
    /// the client serves none.
    pub transfers: Vec<Arc<dyn HostTransfers>>,
}

impl LaunchOptions {
    /// Whether the client gives up the argument with this number.
    pub(super) fn gives(&self, executable: &Executable, index: usize) -> bool {
        executable.parameters[index].donation != Donation::Kept
            && !self.not_donated.contains(&index)
    }
}

/// A run that was started, on one of its devices.
#[derive(Debug)]
pub struct Launched {
    /// The results; they become ready. None for results in memory of the client.
    pub results: Vec<Buffer>,
    /// Ends when the run has ended, with its error if it failed.
    pub done: Event,
}
