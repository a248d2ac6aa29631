//! What kernels have of the process around them.
use std::fmt;
use std::sync::Arc;

/// Tells whether the user has interrupted the process since somebody began to listen.
pub type Heard = Box<dyn Fn() -> bool>;

/// What kernels have of the process around them.
#[derive(Clone)]
pub struct Outside {
    /// Takes the lines that kernels print.
    pub prints: Arc<dyn Fn(&str) + Send + Sync>,
    /// Begins to listen for interrupts; dropping what it gives ends that.
    pub listens: Arc<dyn Fn() -> Heard + Send + Sync>,
}

impl Default for Outside {
    /// Nobody takes lines, and nobody interrupts.
    fn default() -> Self {
        Self { prints: Arc::new(|_| {}), listens: Arc::new(|| Box::new(|| false)) }
    }
}

impl fmt::Debug for Outside {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Outside")
    }
}
