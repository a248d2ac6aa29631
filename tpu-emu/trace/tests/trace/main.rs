//! Traces made by hand, what is read of them, and what follows from it.
#![expect(clippy::unwrap_used, reason = "a test may stop anywhere")]

mod checked;
mod exports;
mod follow;
mod held;
mod read;
mod refused;
mod written;
