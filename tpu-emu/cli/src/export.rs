//! What lived at a moment, in the forms that other programs read.
use crate::input::{Input, InputError};
use clap::ValueEnum;
use std::path::Path;
use tpu_trace::{Face, MomentName, collapsed, live, pprof, speedscope};

/// The forms.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Format {
    /// A gzipped profile for pprof, Grafana and others.
    Pprof,
    /// A line a stack, for flame graph programs.
    Collapsed,
    /// JSON for speedscope.
    Speedscope,
}

/// The bytes of a file's blocks in a form.
pub(crate) fn export(
    file: &Path,
    format: Format,
    at: &MomentName,
    face: Face,
) -> Result<Vec<u8>, InputError> {
    let input = Input::open(file)?;
    let at = input.moment(at)?;
    let trace = &input.trace;
    let spaces = trace.spaces.iter().zip(&input.history.spaces);
    let sets: Vec<(String, Vec<u32>)> = spaces
        .filter(|(_, history)| !history.order.is_empty())
        .map(|(space, history)| {
            let name = format!("{} {}", space.name(), at.words(trace));
            (name, live(trace, history, at.changes(history)))
        })
        .collect();
    let all = || sets.iter().flat_map(|(_, blocks)| blocks.iter().copied()).collect::<Vec<u32>>();
    let made = match format {
        Format::Pprof => pprof(trace, &all(), face),
        Format::Collapsed => Ok(collapsed(trace, &all(), face).into_bytes()),
        Format::Speedscope => speedscope(trace, &sets, face, &input.name)
            .map(String::into_bytes)
            .map_err(std::io::Error::other),
    };
    made.map_err(|why| input.failed(why))
}
