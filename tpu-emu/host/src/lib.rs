//! The process around the machine: stacks, environment, clock, trace file, Python.
mod at_exit;
mod autopsy;
mod bus_error;
mod busy;
mod calls;
mod client;
mod clock;
mod cpu;
pub mod env;
pub mod foreign;
mod fork;
mod forked;
mod host_memory;
mod interrupts;
mod machine;
mod mapped;
mod memory;
mod metrics;
mod own_file;
mod prints;
mod python_run;
mod quiet;
pub mod stack;
mod trace_file;
mod trace_writer;

pub use client::{CallingLibrary, calling_library};
pub use cpu::{Cpu, cpu};
pub use machine::{
    asked_compiler, asked_dialect, custom_calls, handler_libraries, header,
    is_alone_by_environment, machine, machine_if_made, machine_of, place, start, transport,
};
pub use memory::word_at;
pub use own_file::own_file;
pub use python_run::run_python;

/// Says something that no call can tell its client: a line on standard error.
pub fn tell(message: &str) {
    say(&format!("tpu-emu: {message}\n"));
}

/// Writes to standard error, without a signal where its reader went away.
fn say(text: &str) {
    // Where nobody can read it there is nobody to tell.
    let _ = quiet::write_all(&mut std::io::stderr().lock(), text.as_bytes());
}
