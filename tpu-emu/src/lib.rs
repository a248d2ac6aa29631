//! The machine: topology, HBM, ledger and trace of an emulated TPU.
//!
//! ```
//! use std::sync::Arc;
//! use tpu_emu::buffer::HostArray;
//! use tpu_emu::executable::{CompileOptions, Format};
//! use tpu_emu::hbm::spec::LayoutRequest;
//! use tpu_emu::runtime::{DeviceRequest, LaunchOptions, LaunchRequest};
//! use tpu_emu::tensor::DType;
//! use tpu_emu::trace::{Change, change_text};
//! use tpu_emu::units::Bytes;
//! use tpu_emu::{Config, Emulator, Memory, MemoryKind};
//!
//! # fn main() -> tpu_emu::Result<()> {
//! let machine = Emulator::new(Config::plain())?;
//!
//! // An array in the HBM of the first device.
//! let hbm = Memory { device: 0, kind: MemoryKind::Device };
//! let spec = machine.describe(DType::F32, &[2], LayoutRequest::Default)?;
//! let bytes = [1.5_f32, 2.0].map(f32::to_le_bytes).concat();
//! let array = HostArray { bytes: &bytes, low: 0, strides: None };
//! let argument = Arc::new(machine.put(hbm, spec, array)?);
//!
//! // A program that doubles it.
//! let text = "module @double { func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
//!   %y = stablehlo.add %x, %x : tensor<2xf32>
//!   return %y : tensor<2xf32>
//! } }";
//! let program = machine.compile(Format::Mlir, text.as_bytes(), CompileOptions::default())?;
//! let launched = machine.launch(&LaunchRequest {
//!     executable: &program,
//!     devices: &[DeviceRequest::new(0, &[argument])],
//!     options: &LaunchOptions::default(),
//! })?;
//! launched[0].done.wait()?;
//! let mut result = [0; 8];
//! launched[0].results[0].region()?.expect("it has bytes").read(Bytes::ZERO, &mut result)?;
//! assert_eq!(result[..], [3_f32, 4.0].map(f32::to_le_bytes).concat());
//!
//! // What became of the memory, as the trace has it.
//! let (mut trace, ledger) = (String::new(), machine.ledger());
//! for past in ledger.past() {
//!     let spec = machine.specs().get(past.record.spec).expect("it was described");
//!     trace += &change_text(
//!         &Change { past, spec: &spec, free: None },
//!         "TPU_0 device",
//!         &ledger.names(),
//!     );
//! }
//! let lines: Vec<&str> = trace.lines().map(|line| line.split("] ").last().unwrap()).collect();
//! let array = "f32[2]{0:T(128)} (8 B logical, 512 B in memory) - thread 0";
//! assert_eq!(
//!     lines,
//!     [
//!         format!("allocate TPU_0 device 0x0000000000 {array}"),
//!         format!("allocate TPU_0 device 0x0000000200 {array}"),
//!         "    result 0 of double: stablehlo.add".to_owned(),
//!         format!("free TPU_0 device 0x0000000000 {array}"),
//!     ]
//! );
//! # Ok(())
//! # }
//! ```
//!
//! It knows no C, no Python, no environment, no clock and no file: those are given to it.
pub mod buffer;
pub mod config;
pub mod executable;
pub mod hbm;
pub mod host_memory;
pub mod ledger;
pub mod memory;
pub mod origin;
mod run_ahead;
pub mod runtime;
pub mod trace;
mod workers;

pub use tpu_base::{entry, error, event, panics, table, tensor, units};
pub use tpu_kernels as kernels;
pub use tpu_ops::{self as ops, custom_call, host_transfer};

pub use buffer::Buffer;
pub use config::Config;
pub use memory::{Memory, MemoryKind};
pub use runtime::Emulator;
pub use tpu_base::error::{Code, Error, Result};
pub use tpu_base::event::Event;
pub use tpu_base::table::{Id, Table};
pub use tpu_pallas as pallas;
pub use tpu_topology as topology;
