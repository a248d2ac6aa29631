//! The machine: topology, HBM, ledger and trace of an emulated TPU.
//!
//! It knows no C, no Python, no environment, no clock and no file: those are given to it.
pub mod buffer;
pub mod config;
pub mod custom_call;
pub mod entry;
pub mod error;
pub mod event;
pub mod exchange;
pub mod executable;
pub mod hbm;
pub mod host_pages;
pub mod host_transfer;
pub mod kernels;
pub mod ledger;
pub mod machine;
pub mod ops;
pub mod origin;
pub mod panics;
pub mod program;
pub mod room;
pub mod runtime;
pub mod table;
pub mod tensor;
pub mod topology;
pub mod trace;
pub mod units;

pub use buffer::Buffer;
pub use config::Config;
pub use error::{Code, Error, Result};
pub use event::Event;
pub use machine::{Emulator, Memory, MemoryKind};
pub use table::{Id, Table};
