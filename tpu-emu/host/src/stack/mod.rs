//! Stack capture (placeholder until the real one is merged).
use tpu_emu::origin::{Frame, FrameText, StackSource};

/// Which frames are recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StackMode {
    /// Native and Python frames.
    Full,
    /// Native frames.
    Native,
    /// Python frames.
    Python,
    /// None.
    Off,
}

/// The stacks of this process.
#[derive(Debug)]
pub struct ProcessStacks;

impl ProcessStacks {
    /// Captures what `mode` says.
    pub fn new(_mode: StackMode) -> Self {
        Self
    }
}

impl StackSource for ProcessStacks {
    fn capture(&self, _frames: &mut Vec<Frame>) {}
    fn describe(&self, _frame: Frame, _texts: &mut Vec<FrameText>) {}
}
