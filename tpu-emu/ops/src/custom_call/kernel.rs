//! A custom call as a step of a program.
use super::Call;
use std::sync::Arc;
use tpu_base::error::Error;

/// The step of a call. Whoever runs the program dispatches it: it needs more than bytes.
#[derive(Debug)]
pub struct CallKernel {
    call: Arc<dyn Call>,
    /// The number among the calls of its program.
    number: usize,
}

impl CallKernel {
    /// The step of call number `number`.
    pub fn new(call: Arc<dyn Call>, number: usize) -> Self {
        Self { call, number }
    }

    /// The call.
    pub fn call(&self) -> &Arc<dyn Call> {
        &self.call
    }

    /// The number among the calls of its program.
    pub fn number(&self) -> usize {
        self.number
    }

    /// What refuses a call that no launch takes through its stages.
    pub fn outside_of_a_launch(&self) -> Error {
        let target = &self.call.site().target;
        Error::Unimplemented(format!("custom call \"{target}\" outside of a launch"))
    }
}
