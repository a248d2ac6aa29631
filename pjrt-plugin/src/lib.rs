//! The PJRT C API over the emulated TPU.
