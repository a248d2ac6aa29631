//! Stands for the rules where there are none for the architecture.
use super::modules::Modules;
use super::native::NativeFrame;
use std::convert::Infallible;

/// Whether there are rules for this architecture.
pub(super) const EXISTS: bool = false;

/// The registers a walk needs: none.
#[derive(Debug, Clone, Copy)]
pub(super) struct Registers;

impl Registers {
    /// Nothing.
    pub(super) fn here() -> Self {
        Self
    }
}

/// What nobody can have.
pub(super) struct Rules(Infallible);

impl Rules {
    /// Nobody asks for it.
    pub(super) fn new() -> Self {
        unreachable!("there are no rules of unwinding for this architecture")
    }

    /// Nobody can call it.
    pub(super) fn clear(&mut self) {
        match self.0 {}
    }

    /// Nobody can call it.
    pub(super) fn walk(&mut self, _: Registers, _: &Modules, _: &mut Vec<NativeFrame>) {
        match self.0 {}
    }
}
