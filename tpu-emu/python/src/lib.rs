//! The Python module `tpu_emu._native`: traces as columns, and who held what.
//!
//! What a trace means is in `tpu-trace`; here is what Python sees of it. The package `tpu_emu`
//! makes names and types of people out of it, in `pjrt-plugin/python/tpu_emu/trace.py`.
use pyo3::pymodule;

mod column;
#[cfg(versions_of_glibc)]
#[path = "../../../pjrt-plugin/glibc/src/jumps.rs"]
mod glibc;
mod reading;
mod topology;
mod trace;

/// The module.
#[pymodule(name = "_native")]
mod native {
    #[pymodule_export]
    use crate::column::Column;
    #[pymodule_export]
    use crate::reading::{DamagedError, read_bytes, read_file};
    #[pymodule_export]
    use crate::topology::check_topology;
    #[pymodule_export]
    use crate::trace::Trace;
}
