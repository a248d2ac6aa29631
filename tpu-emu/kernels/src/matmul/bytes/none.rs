//! Machines of which no such instructions are known.
use super::COLUMNS;
use super::units::UnitForm;
use std::convert::Infallible;

/// A machine that nobody has.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ByteMachine(Infallible);

impl ByteMachine {
    pub(crate) fn found() -> Option<Self> {
        None
    }

    #[cfg(test)]
    pub(super) fn all() -> Vec<Self> {
        Vec::new()
    }

    pub(super) fn tile_rows(self) -> usize {
        match self.0 {}
    }

    pub(super) fn form(self, _: [bool; 2]) -> UnitForm {
        match self.0 {}
    }

    pub(super) fn tile(self, _: UnitForm, _: &[u32], _: &[[u32; COLUMNS]], _: (&mut [u32], usize)) {
        match self.0 {}
    }
}
