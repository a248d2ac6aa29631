//! The machine: topology, HBM, ledger and trace of an emulated TPU.
//!
//! It knows no C, no Python, no environment, no clock and no file: those are given to it.
pub mod buffer;
pub mod config;
pub mod executable;
pub mod hbm;
pub mod ledger;
pub mod machine;
pub mod origin;
pub mod room;
pub mod runtime;
pub mod topology;
pub mod trace;

pub use tpu_base::{entry, error, event, panics, table, tensor, units};
pub use tpu_kernels as kernels;
pub use tpu_ops::{self as ops, custom_call, host_transfer};

pub use buffer::Buffer;
pub use config::Config;
pub use machine::{Emulator, Memory, MemoryKind};
pub use tpu_base::error::{Code, Error, Result};
pub use tpu_base::event::Event;
pub use tpu_base::table::{Id, Table};
