// UNSAFETY: declares a function as unsafe that nobody can call.
//! Stands for the memory of machine code on architectures for which none is made.
#![expect(unsafe_code, reason = "has the signature of what it stands for")]
use super::callee::{Callee, Cells, operate};
use std::convert::Infallible;

/// A loop as machine code, which nobody can have.
#[derive(Debug)]
pub(crate) struct Function(Infallible);

impl Function {
    /// No function can be had here.
    pub(super) fn new(_: &[u8], _: usize) -> Option<Self> {
        None
    }

    /// Nobody can ask.
    pub(crate) fn entry(&self) -> CodeEntry {
        match self.0 {}
    }
}

/// Where such code begins.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CodeEntry(Infallible);

impl CodeEntry {
    /// Nobody can call it.
    ///
    /// # Safety
    /// None is needed.
    pub(crate) unsafe fn call(self, _: &[*mut u8], _: usize) {
        match self.0 {}
    }
}

/// The operation itself: no code will call it.
pub(super) fn address_of_operate() -> usize {
    let operate: fn(&Callee, &mut Cells) = operate;
    (operate as *const ()).expose_provenance()
}
