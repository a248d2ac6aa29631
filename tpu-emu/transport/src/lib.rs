//! How the processes of a slice meet, and what carries their messages.
//!
//! They meet through a store of keys and values that all of them reach ([`Store`]): each says that
//! it is there and how it can be reached, and waits for the others ([`rendezvous`]). From then on
//! an engine carries messages: [`shared_memory`] between the processes of one machine, [`mpi`]
//! between machines.
mod ends;
mod frame;
pub mod mpi;
pub mod rendezvous;
pub mod shared_memory;

pub use rendezvous::{Member, Store};
