//! What lived, in the forms that other programs read.
mod collapsed;
mod pprof;
mod speedscope;

pub use collapsed::collapsed;
pub use pprof::pprof;
pub use speedscope::speedscope;
