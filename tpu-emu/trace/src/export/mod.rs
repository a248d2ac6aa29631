//! What lived, and what happened, in the forms that other programs read.
mod collapsed;
mod gaps;
mod perfetto;
mod pickle;
mod pprof;
mod pytorch;
mod shown;
mod speedscope;

pub use collapsed::collapsed;
pub use perfetto::perfetto;
pub use pprof::pprof;
pub use pytorch::pytorch;
pub use speedscope::speedscope;
