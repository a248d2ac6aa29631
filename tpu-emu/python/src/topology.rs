//! Names of topologies, before a machine is made of one.
use pyo3::exceptions::PyValueError;
use pyo3::{PyResult, pyfunction};
use tpu_topology::Topology;

/// Refuses a name that is no topology, with what the machine would say.
#[pyfunction]
pub(crate) fn check_topology(name: &str) -> PyResult<()> {
    match Topology::parse(name) {
        Ok(_) => Ok(()),
        Err(why) => Err(PyValueError::new_err(why.to_string())),
    }
}
