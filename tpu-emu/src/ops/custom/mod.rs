//! Custom calls that the emulator knows itself, by target.
mod eigh;
mod householder_product;
mod lu_decomposition;
mod qr;

use super::Entry;

/// The targets.
const TARGETS: &[&Entry] = &[&eigh::OP, &householder_product::OP, &lu_decomposition::OP, &qr::OP];

/// The row of a target.
pub fn find(target: &str) -> Option<&'static Entry> {
    TARGETS.iter().copied().find(|entry| entry.mnemonic == target)
}
