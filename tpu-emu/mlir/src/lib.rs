//! MLIR bytecode as a container, versions 0 to 6: strings, names, entries, locations, code. What
//! the entries and operations mean, the readers of dialects know: `tpu-stablehlo`, `tpu-mosaic`.
//!
//! The input is not trusted. All access goes through one cursor; counts are held against the
//! bytes that are left; nesting is bounded; and what decoding makes is paid from a budget
//! that is proportional to the input, so that shared attributes cannot blow up.
#![forbid(unsafe_code)]

pub mod budget;
pub mod builtin;
pub mod code;
pub mod container;
pub mod cursor;
pub mod dense;
pub mod element;
pub mod error;
pub mod float;
pub mod location;
mod locations;
pub mod names;
pub mod operation;
pub mod strings;

pub use cursor::Cursor;
pub use element::Element;
pub use error::{Place, ReadError};
pub use locations::is_location;
