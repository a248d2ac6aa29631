//! Runs loops over a few elements as machine code, once they have run often.
use super::frame::Frame;
use crate::plan::PlannedScalarLoop;
use crate::tuning::HOT_LOOP_ITERATIONS;
use std::cell::Cell;
use std::sync::atomic::Ordering;
use tpu_kernels::jit::{ScalarLoop, is_here};

impl PlannedScalarLoop {
    /// Runs the loop from its next iteration to its end, if it is hot and there is code for it.
    pub(super) fn run(&self, frame: &Frame) -> bool {
        if self.iterations.load(Ordering::Relaxed) < HOT_LOOP_ITERATIONS || !is_here() {
            return false;
        }
        let code = self.code.get_or_init(|| ScalarLoop::new(&self.program.code));
        let Some(code) = code else { return false };
        let memories: Vec<&[Cell<u8>]> =
            self.memories.iter().map(|&slot| frame.cells(slot)).collect();
        code.run(&memories);
        true
    }
}
