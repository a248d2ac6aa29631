//! A column of numbers that Python reads in place.
// UNSAFETY: fills the structs of Python's buffer protocol, which are of C.
#![expect(unsafe_code, reason = "the buffer protocol is one of C")]
use crate::trace::Loaded;
use pyo3::exceptions::PyBufferError;
use pyo3::{Bound, PyResult, ffi, pyclass, pymethods};
use std::ffi::{CStr, c_int, c_void};
use std::sync::Arc;

/// The numbers, where they lie.
pub(crate) enum Numbers {
    /// One byte each, of a trace.
    Bytes(Arc<Loaded>, fn(&Loaded) -> &[u8]),
    /// Four bytes each, of a trace.
    Shorts(Arc<Loaded>, fn(&Loaded) -> &[u32]),
    /// Eight bytes each, of a trace.
    Longs(Arc<Loaded>, fn(&Loaded) -> &[u64]),
    /// Four bytes each, made for one question.
    Places(Vec<u32>),
    /// Eight bytes each, made for one question.
    Sums(Vec<u64>),
}

impl Numbers {
    /// First byte, how many numbers there are, how many bytes each has, and how Python calls them.
    fn layout(&self) -> (*const c_void, usize, usize, &'static CStr) {
        fn of<T>(
            numbers: &[T],
            format: &'static CStr,
        ) -> (*const c_void, usize, usize, &'static CStr) {
            (numbers.as_ptr().cast(), numbers.len(), size_of::<T>(), format)
        }
        match self {
            Self::Bytes(loaded, column) => of(column(loaded), c"B"),
            Self::Shorts(loaded, column) => of(column(loaded), c"I"),
            Self::Longs(loaded, column) => of(column(loaded), c"Q"),
            Self::Places(numbers) => of(numbers, c"I"),
            Self::Sums(numbers) => of(numbers, c"Q"),
        }
    }
}

/// Numbers that never change; `memoryview` and NumPy read them without a copy.
#[pyclass(frozen, module = "tpu_emu._native")]
pub(crate) struct Column {
    numbers: Numbers,
    /// How many there are, and the bytes of each: what a view points at.
    shape: [isize; 1],
    stride: [isize; 1],
}

impl Column {
    /// A column of these numbers.
    pub(crate) fn new(numbers: Numbers) -> Self {
        let (_, count, width, _) = numbers.layout();
        // A slice never has more than isize::MAX bytes.
        let signed = |number: usize| isize::try_from(number).unwrap_or(isize::MAX);
        let (shape, stride) = ([signed(count)], [signed(width)]);
        Self { numbers, shape, stride }
    }
}

#[pymethods]
impl Column {
    fn __len__(&self) -> usize {
        self.numbers.layout().1
    }

    /// # Safety
    /// Python calls it with a view of its own.
    unsafe fn __getbuffer__(
        slf: Bound<'_, Self>,
        view: *mut ffi::Py_buffer,
        flags: c_int,
    ) -> PyResult<()> {
        if view.is_null() {
            return Err(PyBufferError::new_err("there is no view to fill"));
        }
        if flags & ffi::PyBUF_WRITABLE == ffi::PyBUF_WRITABLE {
            return Err(PyBufferError::new_err("a column of a trace can be read, not written"));
        }
        let (first, _, width, format) = slf.get().numbers.layout();
        let wants = |flag: c_int| flags & flag == flag;
        // An object of Python does not move, and a frozen one does not change: the view, which
        // holds a reference to it, may point into it.
        let shape = (&raw const slf.get().shape).cast_mut().cast::<isize>();
        let stride = (&raw const slf.get().stride).cast_mut().cast::<isize>();
        let [count] = slf.get().shape;
        // SAFETY: not null, checked above; Python's own by the promise of the caller. The numbers,
        // the shape and the format live as long as the object that the view holds.
        unsafe {
            (*view).buf = first.cast_mut();
            (*view).len = count * slf.get().stride[0];
            (*view).readonly = 1;
            (*view).itemsize = isize::try_from(width).unwrap_or(1);
            (*view).format = match wants(ffi::PyBUF_FORMAT) {
                true => format.as_ptr().cast_mut(),
                false => std::ptr::null_mut(),
            };
            (*view).ndim = 1;
            (*view).shape = if wants(ffi::PyBUF_ND) { shape } else { std::ptr::null_mut() };
            (*view).strides = match wants(ffi::PyBUF_STRIDES) {
                true => stride,
                false => std::ptr::null_mut(),
            };
            (*view).suboffsets = std::ptr::null_mut();
            (*view).internal = std::ptr::null_mut();
            (*view).obj = slf.into_any().into_ptr();
        }
        Ok(())
    }
}
