//! Says to clients why an allocation found no room.
use std::panic::{AssertUnwindSafe, catch_unwind};
use tpu_emu::memory::Explain;
use tpu_emu::trace::Header;
use tpu_trace::{History, autopsy, read};

/// Reads the trace of the moment as every reader does, and asks the analysis of traces.
#[derive(Debug)]
pub(crate) struct Autopsist;

impl Explain for Autopsist {
    fn explain(&self, moment: &dyn Fn(&Header<'_>) -> Vec<u8>) -> Option<String> {
        let header = crate::header().ok()?;
        // Who is refused memory hears so, whatever is wrong with the reasons.
        let found = catch_unwind(AssertUnwindSafe(|| {
            let trace = read(&moment(&header)[..]).ok()?;
            autopsy(&trace, &History::new(&trace), 0)
        }));
        found.ok().flatten().map(|found| found.text())
    }
}
