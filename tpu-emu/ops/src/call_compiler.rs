//! Custom calls that carry their code with them.
use crate::Kernel;
use crate::custom_call::{CallSite, Linker, Registry};
use tpu_base::error::Result;

/// Makes the calls of a program that is being compiled: of what they carry, or of who registered.
pub trait CallCompiler: Linker {
    /// What a call becomes whose target is code in the call itself; `None` for one of a registered
    /// target. `devices` are the numbers of those that run it together: it takes the operands of
    /// the first one, then those of the second, and gives results in the same order.
    ///
    /// # Errors
    /// Those of the compiler of such code.
    fn compiled(&self, site: &CallSite, devices: &[usize]) -> Option<Result<Box<dyn Kernel>>> {
        let _ = (site, devices);
        None
    }
}

impl CallCompiler for Registry {}
