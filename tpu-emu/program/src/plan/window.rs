//! Pieces of an array at places that are known as late as a run: they need no memory of their own.
use super::ALIGN;
use crate::tuning::MIN_WINDOW_BYTES;
use tpu_kernels::movement::index::{Outside, clamped, reader};
use tpu_kernels::movement::move_list::{Move, Start};
use tpu_ops::Kernel;

/// Which bytes of its step's first operand a result is.
#[derive(Debug)]
pub(crate) struct Window {
    /// The first one, where all indices are 0.
    from: usize,
    /// What indices add to that.
    starts: Vec<Start>,
}

impl Window {
    /// Where a kernel takes its result of so many bytes from, if it does nothing else, and that is
    /// one piece at which other kernels may look where it lies.
    pub(crate) fn of(kernel: &dyn Kernel, bytes: usize) -> Option<Self> {
        if bytes < MIN_WINDOW_BYTES {
            return None;
        }
        let moved = kernel.moves(1)?;
        let &[Move { operand: 0, from, to: 0, bytes: run }] = &moved.moves[..] else { return None };
        let near = !moved.into && moved.outside == Outside::Clamp && run == bytes;
        let aligned = |bytes: usize| bytes.is_multiple_of(ALIGN);
        let mut starts = moved.starts;
        starts.retain(|start| start.room > 0);
        let read = |start: &Start| aligned(start.step) && reader(start.dtype).is_some();
        let fits = near && aligned(from) && starts.iter().all(read);
        fits.then_some(Self { from, starts })
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
