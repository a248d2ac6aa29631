//! The process around the machine: stacks, environment, clock, trace file.
mod clock;
pub mod env;
mod fork;
mod machine;
mod memory;
pub mod stack;
mod trace_file;

pub use machine::{custom_calls, header, machine, machine_if_made};
pub use memory::word_at;
