//! Custom calls that carry their code with them.
use crate::Kernel;
use crate::custom_call::{CallSite, Linker, Registry};
use tpu_base::error::Result;

/// Makes the calls of a program that is being compiled: of what they carry, or of who registered.
pub trait CallCompiler: Linker {
    /// What a call becomes whose target is code in the call itself; `None` for one of a registered
    /// target.
    ///
    /// # Errors
    /// Those of the compiler of such code.
    fn compiled(&self, site: &CallSite) -> Option<Result<Box<dyn Kernel>>> {
        let _ = site;
        None
    }
}

impl CallCompiler for Registry {}
