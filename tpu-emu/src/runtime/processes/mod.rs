//! Runs over the devices of several processes: each launches its part, and one of them, the
//! first, runs the program for all, as it runs a program over devices of its own.
//!
//! 1. Each process checks its part, holds its arguments and takes memory for its results on its
//!    own devices, where its own trace has that. The run is told by its devices and by how many
//!    runs on them were before it.
//! 2. Once its arguments are there, a process sends them to the first one (`launch`).
//! 3. When all parts are there, the first process runs the program over copies of the others'
//!    arguments (`gather`), and sends each its results. Calls to the client of another process's
//!    device go there and back (`transfers`), and so do its custom calls (`calls`).
//! 4. Whoever cannot come says so. A process that is gone, one that is late, and programs that
//!    differ fail the run in all processes (`table`). Those from which something is awaited for
//!    long are asked whether they are there (`questions`).
//!
//! An array goes from one process to another without a program where the client asks both of
//! them: one to send it, the other to take it (`arrays`).
mod arrays;
mod calls;
mod gather;
mod inbox;
mod launch;
mod message;
mod questions;
mod table;
mod transfers;

pub(super) use table::Processes;
