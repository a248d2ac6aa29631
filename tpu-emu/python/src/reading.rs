//! From a file or bytes to a trace.
use crate::trace::Trace;
use pyo3::exceptions::PyValueError;
use pyo3::{PyErr, PyResult, Python, create_exception, pyfunction};
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::PathBuf;
use tpu_trace::ReadError;

create_exception!(
    tpu_emu._native,
    DamagedError,
    PyValueError,
    "Bytes that are no trace, or a damaged one: what is wrong, and at which byte."
);

/// Bytes that a file is read in.
const PIECE: usize = 1 << 20;

/// The trace in the file at a path.
#[pyfunction]
pub(crate) fn read_file(py: Python<'_>, path: PathBuf) -> PyResult<Trace> {
    let file = File::open(&path).map_err(|why| at_path(why, &path))?;
    read(py, BufReader::with_capacity(PIECE, file)).map_err(|why| match why {
        ReadError::Input(why) => at_path(why, &path),
        why => damaged(&why),
    })
}

/// The trace in these bytes.
#[pyfunction]
pub(crate) fn read_bytes(py: Python<'_>, data: &[u8]) -> PyResult<Trace> {
    read(py, data).map_err(|why| damaged(&why))
}

/// Reads while other threads of Python run.
fn read(py: Python<'_>, input: impl Read + Send) -> Result<Trace, ReadError> {
    py.detach(|| tpu_trace::read(input)).map(Trace::new)
}

/// The error of Python with the number of the system, which gives its class, and the path.
fn at_path(why: std::io::Error, path: &std::path::Path) -> PyErr {
    match why.raw_os_error() {
        Some(number) => {
            let text = why.to_string();
            let text = text.split(" (os error").next().unwrap_or_default().to_owned();
            pyo3::exceptions::PyOSError::new_err((number, text, path.as_os_str().to_owned()))
        }
        None => why.into(),
    }
}

/// What is wrong with the bytes, and where.
fn damaged(why: &ReadError) -> PyErr {
    let (message, at) = match why {
        ReadError::Damaged { message, at } => (message.clone(), *at),
        ReadError::Version(..) => (why.to_string(), 8),
        why => (why.to_string(), 0),
    };
    DamagedError::new_err((message, at))
}
