//! Pieces of an array at places that are known as late as a run: they need no memory of their own.
use super::ALIGN;
use crate::tuning::MIN_WINDOW_BYTES;
use tpu_kernels::movement::index::{Outside, clamped, reader};
use tpu_kernels::movement::move_list::{Move, Start};
use tpu_ops::Kernel;

/// Which bytes of its step's first operand a piece is.
#[derive(Debug)]
pub(crate) struct ArrayWindow {
    /// The first one, where all indices are 0.
    from: usize,
    /// What indices add to that.
    starts: Vec<Start>,
}

impl ArrayWindow {
    /// Where a kernel takes its result of so many bytes from, if it does nothing else.
    pub(crate) fn read(kernel: &dyn Kernel, bytes: usize) -> Option<Self> {
        Self::of(kernel, bytes, false)
    }

    /// Where a kernel puts its second operand, of so many bytes, in the first one, which its result
    /// starts from, if it does nothing else.
    pub(crate) fn written(kernel: &dyn Kernel, bytes: usize) -> Option<Self> {
        Self::of(kernel, bytes, true).filter(|_| kernel.starts_from(0) == Some(0))
    }

    /// A piece of so many bytes, if other kernels may read and write it where it lies.
    fn of(kernel: &dyn Kernel, bytes: usize, into: bool) -> Option<Self> {
        if bytes < MIN_WINDOW_BYTES {
            return None;
        }
        let moved = kernel.moves(1)?;
        let from = match moved.moves[..] {
            [Move { operand: 0, from, to: 0, bytes: run }] if !into && run == bytes => from,
            [Move { operand: 1, from: 0, to, bytes: run }] if into && run == bytes => to,
            _ => return None,
        };
        let near = moved.into == into && moved.outside == Outside::Clamp;
        let aligned = |bytes: usize| bytes.is_multiple_of(ALIGN);
        let mut starts = moved.starts;
        starts.retain(|start| start.room > 0);
        let known = |start: &Start| aligned(start.step) && reader(start.dtype).is_some();
        let fits = near && aligned(from) && starts.iter().all(known);
        fits.then_some(Self { from, starts })
    }

    /// The operands that say where it is.
    pub(crate) fn indices(&self) -> impl Iterator<Item = usize> {
        self.starts.iter().map(|start| start.operand)
    }

    /// The first byte, by the operands that `bytes` gives.
    pub(crate) fn offset<'b>(&self, bytes: impl Fn(usize) -> &'b [u8]) -> usize {
        let shift = |start: &Start| {
            let at = bytes(start.operand).get(start.at..)?;
            Some(clamped(reader(start.dtype)?(at, 0), start.room) * start.step)
        };
        self.starts.iter().fold(self.from, |all, start| all + shift(start).unwrap_or(0))
    }
}
