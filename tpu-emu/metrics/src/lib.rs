//! `tpu.monitoring.runtime.RuntimeMetricService`: what `tpu-info` asks a TPU's runtime for, over gRPC
//! on this host alone.
//!
//! [`serve`] answers from a [`Source`] on a thread of its own, [`Client`] asks.
mod answer;
mod buckets;
mod client;
mod grpc;
mod listener;
mod names;
mod server;
mod socket;

pub use buckets::{FINITE, GROWTH, SCALE, Timings};
pub use client::{AskError, Client};
pub use names::{DUTY_CYCLE, HBM_TOTAL, HBM_USAGE, PROCESS, TOPOLOGY};
pub use server::serve;

use listener::forget_all;
use std::fmt::Debug;
use std::time::Duration;

/// Closes what the parent of a fork has open: in the child nobody answers.
pub fn forget_in_child() {
    forget_all();
}

/// What one device has and does.
#[derive(Debug, Clone, Default)]
pub struct Device {
    /// Bytes of HBM that programs can use.
    pub total: u64,
    /// Bytes of HBM that are taken.
    pub in_use: u64,
    /// The share of the last seconds in which it ran a program, in hundredths.
    pub duty: f64,
    /// How long it has not run a program.
    pub idle: Duration,
    /// Runs that were asked for and have not ended.
    pub queued: u64,
    /// How long runs took.
    pub timings: Timings,
    /// Number of its chip on the host.
    pub chip: i32,
    /// Number of its first core on the chip.
    pub core_on_chip: i32,
}

/// What all devices of a process have and do.
#[derive(Debug, Clone, Default)]
pub struct Reading {
    /// As `TPU_EMU_TOPOLOGY` takes it.
    pub topology: String,
    /// The process.
    pub process: u32,
    /// The devices of the process, in their order.
    pub devices: Vec<Device>,
    /// As `Device::duty`, of what counts as one there: chips or devices, by generation.
    pub duty: Vec<f64>,
}

/// Who is asked at each call.
pub trait Source: Debug + Send + Sync {
    /// What there is now.
    fn look(&self) -> Reading;
}
