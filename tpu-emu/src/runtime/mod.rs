//! The runtime is what happens on the device and on threads of our own.
//!
//! A client launches a program in one of two ways:
//!
//! | devices | [`Emulator::launch`]: one call | [`Emulator::join`]: a call for each |
//! |---|---|---|
//! | do not run as one | a run for each (`launch`) | a run of its own (`launch`) |
//! | replicas, new memory for results | one run (`sharded`) | a run of its own (`replica_launch`) |
//! | any others that run as one | one run (`sharded`) | a rendezvous (`rendezvous_launch`) |
//!
//! A run for several devices works on whole arrays, or on each part by itself where these need
//! nothing of one another (`in_parts`). Replicas that run by themselves meet in their
//! collectives (`replica_runs`). In a rendezvous the last call runs the program for all.
//!
//! A rendezvous of two devices goes like this:
//!
//! 1. The first call is checked, holds its arguments and takes memory for its results. Under a lock
//!    it begins an entry, told by the program's likeness, the run's number and devices.
//! 2. With results in the client's memory the call waits for the outcome. With new memory it
//!    returns, and a thread watches the time.
//! 3. The second call finds the entry, which its device has not arrived for, and is the last. It
//!    takes the entry out, and starts one job with both parts outside of the lock. If arguments are
//!    still to come, a thread waits for them first.
//! 4. Both share the outcome. A device that arrives again with the number begins the next run.
//! 5. A call that fails, or [`Emulator::abandon`], fails the run for all. So does a device that has
//!    not come after [`Emulator::call_timeout`]: the error names who came and who did not. Later
//!    calls of the failed run get its error for as long, then begin a run of their own.
//!
//! Runs over the devices of several processes are launched by each for its own devices
//! ([`Emulator::launch_part`]), and run by one of them (`processes`).
//!
//! A run is a `job`. It starts once its arguments are there (`dependencies`), and in its turn if it
//! waits for its client or other replicas (`callback_order`). Where it runs is tried in this order:
//!
//! 1. A thread of its own: it waits for somebody, or is over whole arrays and has custom calls.
//! 2. The thread that makes it ready, with its arguments there at once: less work than `AT_ONCE` and
//!    no loops, or such times of the runs before (`run_times`) that another thread would not pay.
//!    Without those, less work than `INLINE` and no loops, where the client does not run ahead of
//!    its devices (`run_ahead`); if it does, it prepares the next launch meanwhile. See
//!    docs/decisions/0219, 0223 and 0233.
//! 3. A thread of its own if it has custom calls, else one of the pool.
//!
//! `in_flight` bounds how many launched runs are under way on the pool, and their memory. A further
//! launch waits, for `PATIENCE` at most.
//!
//! What holds for all: results that take no argument over get their memory before an argument is
//! given up. Arguments that are held stay readable if they are deleted. An error of a run ends
//! [`Launched::done`], and so its results' events.
//!
//! Why calls meet: a partitioned program runs once, over whole arrays (docs/decisions/0016), and
//! clients of the libtpu API call once for each device (docs/decisions/0018). To wait for all
//! replicas would hang a client that uses one chip of eight (docs/decisions/0032).
mod call_memory;
mod callback_order;
mod checks;
mod compile;
mod core_records;
mod custom_call;
mod custom_call_services;
mod dependencies;
mod emulator;
mod in_flight;
mod in_parts;
mod job;
mod launch;
mod launch_watch;
mod loaded;
mod output_buffers;
mod processes;
mod refused_launch;
mod refused_program;
mod rendezvous;
mod rendezvous_launch;
mod replica_launch;
mod replica_runs;
mod request;
mod run_memory;
mod run_record;
mod run_times;
mod sharded;

pub use emulator::Emulator;
pub use launch_watch::LaunchWatch;
pub use loaded::LoadedExecutable;
pub use rendezvous::RunKey;
pub use request::{Context, DeviceRequest, LaunchOptions, LaunchRequest, Launched};
