//! Custom calls that the machine knows itself, by their target.
mod assertion;
mod buffer;
mod check;
mod eigh;
mod functions;
mod householder_product;
mod lu_decomposition;
mod marker;
mod qr;
mod ragged_all_to_all;
mod ragged_dot;
mod resize;
mod top;

pub use marker::{
    FULL_TO_SHARD, PIN, SHARD_TO_FULL, SHARDING, TO_DEVICE, TO_HOST, UNPIN, placement_call,
};
pub use ragged_all_to_all::ragged;

use super::Entry;
use crate::custom_call::{Registration, Registry};
use tpu_base::error::{Error, Result};

/// The targets of each file.
const TARGETS: &[&[Entry]] = &[
    assertion::TARGETS,
    buffer::TARGETS,
    check::TARGETS,
    &[eigh::OP, householder_product::OP, lu_decomposition::OP],
    functions::TARGETS,
    marker::TARGETS,
    &[qr::OP, ragged_all_to_all::OP, ragged_dot::OP],
    resize::TARGETS,
    top::TARGETS,
];

/// The row of a custom call, by its target.
pub fn find(target: &str) -> Option<&'static Entry> {
    TARGETS.iter().flat_map(|rows| rows.iter()).find(|entry| entry.mnemonic == target)
}

/// The targets that are known, in the order of the table.
pub fn targets() -> impl Iterator<Item = &'static str> {
    TARGETS.iter().flat_map(|rows| rows.iter()).map(|entry| entry.mnemonic)
}

impl Registry {
    /// Makes a target known. The same one may come again.
    ///
    /// # Errors
    /// `AlreadyExists` for another target under the same name, with both origins; `BadArgument`
    /// for a name that is empty or that the machine itself answers to.
    pub fn register(&self, registration: Registration) -> Result<()> {
        let name = &registration.name;
        if registration.is_ours() && find(name).is_some() {
            let message = format!("custom call target \"{name}\" is the emulated TPU's own");
            return Err(Error::bad(message));
        }
        self.insert(registration)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_found_once() {
        let all: Vec<&Entry> = TARGETS.iter().flat_map(|rows| rows.iter()).collect();
        for entry in &all {
            let same = all.iter().filter(|other| other.mnemonic == entry.mnemonic).count();
            assert_eq!(same, 1, "{}", entry.mnemonic);
            assert_eq!(find(entry.mnemonic).unwrap().mnemonic, entry.mnemonic);
        }
        assert!(find("nobody").is_none());
    }
}
