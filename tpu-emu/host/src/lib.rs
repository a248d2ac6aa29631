//! The process around the machine: stacks, environment, clock, trace file.
pub mod stack;
