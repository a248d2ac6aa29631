//! The process around the machine: stacks, environment, clock, trace file, Python.
mod clock;
pub mod env;
mod fork;
mod machine;
mod memory;
mod python_run;
pub mod stack;
mod trace_file;

pub use machine::{custom_calls, handler_libraries, header, machine, machine_if_made};
pub use memory::word_at;
pub use python_run::run_python;
