//! How full a memory was over time.
use crate::input::{Input, InputError};
use crate::spaces::{Chosen, Used, others};
use crate::text::{bytes, careful, grouped, json, one_line, seconds};
use clap::Args;
use serde::Serialize;
use tpu_trace::{Point, reduced};

/// The width of the bars.
const BAR: usize = 40;

/// The bytes in use of a memory over time: of equal parts of the changes the extremes.
#[derive(Debug, Args)]
pub(crate) struct Timeline {
    #[command(flatten)]
    chosen: Chosen,
    /// About how many points there are; the start, the peak and the end are always among them.
    #[arg(long, default_value_t = 40, value_name = "COUNT")]
    points: usize,
}

/// The answer for programs.
#[derive(Debug, Serialize)]
struct Answer {
    file: String,
    /// Why the trace may say less than its process did.
    cut: Vec<String>,
    spaces: Vec<OfSpace>,
}

/// One space.
#[derive(Debug, Serialize)]
struct OfSpace {
    space: String,
    device: Option<u64>,
    capacity: u64,
    /// Bytes in use at the peak.
    peak: u64,
    /// How many changes were made until the peak, and until the client's clean-up.
    peak_at: usize,
    end_at: usize,
    points: Vec<Point>,
}

impl OfSpace {
    fn of((space, history): Used<'_>, points: usize) -> Self {
        Self {
            space: space.name(),
            device: space.device,
            capacity: space.capacity,
            peak: history.peak(),
            peak_at: history.peak_at,
            end_at: history.end_at,
            points: reduced(history, points),
        }
    }
}

impl Timeline {
    /// The points, as text or JSON.
    pub(crate) fn answer(&self) -> Result<String, InputError> {
        let input = Input::open(&self.chosen.file)?;
        let used = self.chosen.spaces(&input)?;
        let shown = if self.chosen.json { used.len() } else { used.len().min(1) };
        let spaces = used.iter().take(shown).map(|&of| OfSpace::of(of, self.points));
        let answer =
            Answer { file: input.name.clone(), cut: input.cut(), spaces: spaces.collect() };
        Ok(match self.chosen.json {
            true => json(&answer),
            false => text(&answer) + &others(&used),
        })
    }
}

fn text(answer: &Answer) -> String {
    let mut text = careful(&answer.cut);
    if answer.spaces.is_empty() {
        text += "Nothing was allocated.\n";
    }
    for space in &answer.spaces {
        text += &format!(
            "{}: at most {} of {}; a full bar is the peak\n",
            one_line(&space.space),
            bytes(space.peak),
            bytes(space.capacity)
        );
        for point in &space.points {
            let scaled = u128::from(point.in_use) * BAR as u128 / u128::from(space.peak.max(1));
            let full = usize::try_from(scaled).unwrap_or(BAR).min(BAR);
            let is = |at: usize| point.changes == at as u64;
            let what = match () {
                () if is(space.peak_at) => "  peak",
                () if is(space.end_at) => "  end, before the client's clean-up",
                () => "",
            };
            text += &format!(
                "  {:>12}  {:>10}  {:>9}  {}{what}\n",
                seconds(point.time),
                grouped(point.changes),
                bytes(point.in_use),
                "█".repeat(full),
            );
        }
    }
    text
}
