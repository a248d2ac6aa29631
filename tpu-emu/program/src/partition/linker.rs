//! Custom calls of a program that is planned and never run.
use std::any::Any;
use std::sync::Arc;
use tpu_base::error::{Error, Result};
use tpu_ops::CallCompiler;
use tpu_ops::custom_call::{Call, CallSite, Linker, Moment, Progress, Stage};

/// Links every call to nobody: what a program is planned with that does not run. No handler hears
/// of it.
#[derive(Debug)]
pub struct Unlinked;

impl CallCompiler for Unlinked {}

impl Linker for Unlinked {
    fn link(&self, site: CallSite) -> Result<Arc<dyn Call>> {
        Ok(Arc::new(Nobody(Arc::new(site))))
    }
}

/// A call that nobody answers.
#[derive(Debug)]
struct Nobody(Arc<CallSite>);

impl Call for Nobody {
    fn site(&self) -> &Arc<CallSite> {
        &self.0
    }

    fn has(&self, _: Stage) -> bool {
        false
    }

    fn begin(&self) -> Option<Arc<dyn Any + Send + Sync>> {
        None
    }

    fn run(&self, _: Stage, _: &Moment<'_>) -> Result<Progress> {
        Err(Error::WrongState(format!("{} of a program that is planned only", self.0.target)))
    }
}
