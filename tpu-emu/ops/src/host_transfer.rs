//! The data of a running program that its client takes or gives: what `send` and `recv` move.
use std::cell::Cell;
use std::fmt;
use tpu_base::error::Result;
use tpu_base::tensor::subnormals::Subnormals;

/// Which way the data of a channel goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Direction {
    /// From the program to its client: a `send`.
    ToHost,
    /// From the client to the program: a `recv`.
    ToDevice,
}

impl Direction {
    /// What the program does with the channel.
    pub fn verb(self) -> &'static str {
        match self {
            Self::ToHost => "send",
            Self::ToDevice => "recv",
        }
    }
}

/// A channel between a program and its client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Channel {
    /// The number in the program.
    pub id: i64,
    /// Which way the data goes.
    pub direction: Direction,
}

/// What the client of one launch does with the data of one device.
///
/// Arrays are dense and row-major, booleans are bytes 0 and 1, sub-byte elements take a byte
/// each. The calls of one run come one after the other, in the order of the program, on a thread
/// that holds no lock. They may block, and may launch programs.
pub trait HostTransfers: fmt::Debug + Send + Sync {
    /// Whether the client serves a channel.
    fn serves(&self, channel: Channel) -> bool;

    /// Takes an array.
    ///
    /// # Errors
    /// The client's own; it ends the run.
    fn send(&self, channel: i64, bytes: &[u8]) -> Result<()>;

    /// Gives an array: every byte of `bytes`.
    ///
    /// # Errors
    /// As for [`HostTransfers::send`].
    fn recv(&self, channel: i64, bytes: &mut [u8]) -> Result<()>;
}

thread_local! {
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// Whether this thread runs a call of a client's [`HostTransfers`].
pub fn inside() -> bool {
    INSIDE.get()
}

/// Calls the client, with subnormal floats as it expects them, and lets [`inside`] say so
/// meanwhile.
pub fn call<T>(client: impl FnOnce() -> T) -> T {
    struct Back(bool);
    impl Drop for Back {
        fn drop(&mut self) {
            INSIDE.set(self.0);
        }
    }
    let _back = Back(INSIDE.replace(true));
    let _mode = Subnormals::Kept.enter();
    client()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_knows_that_it_is_inside_of_a_call_even_after_a_panic() {
        assert!(!inside());
        let nested = call(|| (inside(), call(inside), inside()));
        assert_eq!(nested, (true, true, true));
        let lost = std::panic::catch_unwind(|| call(|| panic!("lost")));
        assert!(lost.is_err());
        assert!(!inside());
    }
}
