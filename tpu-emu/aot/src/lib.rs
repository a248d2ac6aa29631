//! Asks the user's own libtpu what it makes of a program.
//!
//! The library is loaded by a child process alone, `tpu-emu ask-libtpu`: it writes logs, takes a
//! lock, installs signal handlers, and ends its process on some programs.
mod cache;
mod child;
mod compiler;
mod environment;
mod find;
mod key;
mod libtpu;
mod options;
mod serve;
mod wire;

pub use child::{COMMAND, Silence};
pub use compiler::{Compiler, Pending, Settings};
pub use find::{beside_or_on_path, library, package_version};
pub use serve::serve;
pub use wire::{Answer, Compiled, MemoryStats, Property, Refused, Request};

/// Errors are sentences for people.
pub type Result<T, E = String> = std::result::Result<T, E>;
