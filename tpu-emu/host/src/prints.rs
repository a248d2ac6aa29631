//! What kernels print.
use std::sync::Arc;

/// Lines on standard error.
pub(crate) fn to_standard_error() -> Arc<dyn Fn(&str) + Send + Sync> {
    Arc::new(|text| crate::say(&format!("{text}\n")))
}
