//! What a trace has in the forms that other programs read.
use crate::input::{Input, InputError};
use crate::text::grouped;
use clap::{Args, ValueEnum};
use std::io::Error;
use std::ops::Range;
use std::path::PathBuf;
use tpu_trace::{
    Face, Moment, MomentName, Profiled, collapsed, live, perfetto, pprof, pytorch, speedscope,
    xspace,
};

/// What is exported, and how.
#[derive(Debug, Args)]
pub(crate) struct Export {
    /// A trace that TPU_EMU_TRACE=FILE wrote.
    pub(crate) file: PathBuf,
    /// The form of that program.
    #[arg(long)]
    format: Format,
    /// What lives when: peak, end, last, a mark, refusal, or a time since the start such as 12.5s
    /// [default: peak; of pytorch: end].
    #[arg(long, conflicts_with = "to")]
    at: Option<MomentName>,
    /// Leaves out the changes before a moment: of pytorch, perfetto and xspace, which have a history.
    #[arg(long)]
    from: Option<MomentName>,
    /// Leaves out the changes behind a moment, likewise.
    #[arg(long)]
    to: Option<MomentName>,
    /// Leaves out all but so many changes of each memory space, likewise.
    #[arg(long, value_name = "CHANGES")]
    last: Option<usize>,
    /// python (without JAX's own), mixed (without the interpreter's native ones) or full.
    #[arg(long, default_value = "python")]
    frames: Face,
}

/// The forms.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// A gzipped profile for pprof, Grafana and others.
    Pprof,
    /// A line a stack, for flame graph programs.
    Collapsed,
    /// JSON for speedscope.
    Speedscope,
    /// A memory snapshot for PyTorch's memory_viz: the changes, and what lives behind them.
    Pytorch,
    /// A trace for ui.perfetto.dev: how full each memory is over time, and each change.
    Perfetto,
    /// An XSpace for XProf and TensorBoard: changes in memory, launches and programs.
    Xspace,
}

impl Format {
    /// Whether the form has changes, and not only what lives.
    fn has_history(self) -> bool {
        matches!(self, Self::Pytorch | Self::Perfetto | Self::Xspace)
    }
}

impl Export {
    /// Why the options do not go together.
    pub(crate) fn conflict(&self) -> Option<&'static str> {
        let cuts = self.from.is_some() || self.to.is_some() || self.last.is_some();
        match self.format {
            Format::Pytorch => None,
            Format::Perfetto | Format::Xspace => self.at.is_some().then_some(
                "--at picks what lives at a moment; this format has all changes, of which --from, \
                 --to and --last pick some",
            ),
            _ => cuts.then_some(
                "--from, --to and --last pick changes; this format has what lives at a moment, \
                 which --at picks",
            ),
        }
    }
}

/// The bytes of a file in a form, and what a person should know about them.
pub(crate) fn export(asked: &Export) -> Result<(Vec<u8>, Vec<String>), InputError> {
    let input = Input::open(&asked.file)?;
    let mut said = input.cut();
    let Export { format, frames: face, .. } = *asked;
    let (trace, history) = (&input.trace, &input.history);
    let made = match format.has_history() {
        true => {
            let spans = spans(&input, asked)?;
            let all: usize = history.spaces.iter().map(|space| space.order.len()).sum();
            let left = all - spans.iter().map(ExactSizeIterator::len).sum::<usize>();
            if left != 0 {
                let [left, all] = [left, all].map(|count| grouped(count as u64));
                said.push(format!("{left} of {all} changes are left out"));
            }
            match format {
                Format::Pytorch => pytorch(trace, history, &spans, face),
                Format::Perfetto => perfetto(trace, history, &spans, face),
                _ => xspace(trace, history, &spans, &Profiled::default()),
            }
        }
        false => {
            let at = asked.at.as_ref().map_or(Ok(Moment::Peak), |at| input.moment(at))?;
            held(&input, at, format, face).map_err(|why| input.failed(why))?
        }
    };
    Ok((made, said))
}

/// What lives at a moment.
fn held(input: &Input, at: Moment, format: Format, face: Face) -> Result<Vec<u8>, Error> {
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
    match format {
        Format::Collapsed => Ok(collapsed(trace, &all(), face).into_bytes()),
        Format::Speedscope => speedscope(trace, &sets, face, &input.name)
            .map(String::into_bytes)
            .map_err(Error::other),
        _ => pprof(trace, &all(), face),
    }
}

/// The changes of each memory space that are asked for.
fn spans(input: &Input, asked: &Export) -> Result<Vec<Range<usize>>, InputError> {
    // A snapshot has its blocks where its changes end, and JAX gives all up when its process ends.
    let end = if asked.format == Format::Pytorch { Moment::End } else { Moment::Last };
    let end = asked.to.as_ref().or(asked.at.as_ref()).map_or(Ok(end), |at| input.moment(at))?;
    let from = asked.from.as_ref().map(|from| input.moment(from)).transpose()?;
    let spaces = input.history.spaces.iter();
    let span = spaces.map(|space| {
        let end = end.changes(space);
        let from = from.map_or(0, |from| from.changes(space));
        let last = asked.last.map_or(0, |last| end.saturating_sub(last));
        from.max(last).min(end)..end
    });
    Ok(span.collect())
}
