//! Where blocks go in one memory: which hole a request gets, how its size is rounded, and what is
//! left. It knows addresses and no memory, so that the machine's heaps and a replay of their
//! traces use the same code and come to the same addresses.
//!
//! The policy is best fit, the lowest address among equals; a block lies at the start of its hole,
//! and neighbours are joined when a block is given back. The same calls give the same addresses.
mod fullest;
mod holes;
mod placement;
mod span;

pub use fullest::fullest;
pub use placement::{Given, Live, Placement, Taken};
pub use span::Span;
