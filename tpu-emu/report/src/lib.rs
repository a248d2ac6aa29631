//! A trace of emulated memories as one HTML file, which opens from a disk and fetches nothing.
//!
//! The file has every change in memory, as compressed columns of numbers, and the tables that they
//! name. The script in it, which `web/` has the source of, follows them: what lived at a moment,
//! where the holes were, what a stack took. What needs rules that other faces share, such as which
//! line of a stack is the user's, is in the tables already.
//!
//! ```no_run
//! use tpu_report::{Options, write_report};
//! use tpu_trace::{History, read};
//!
//! let trace = read(std::fs::File::open("run.trace")?)?;
//! let history = History::new(&trace);
//! let options = Options { name: "run.trace".to_owned(), ..Options::default() };
//! write_report(&trace, &history, &options, &mut std::fs::File::create("run.html")?)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
mod base64;
mod columns;
mod order;
mod out_of_memory;
mod page;
mod places;
mod sites;
mod tables;

pub use page::{Options, write_report};
