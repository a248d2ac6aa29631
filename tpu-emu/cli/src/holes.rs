//! The holes of a memory at a moment, and what stands on both sides of each.
use crate::input::{Input, InputError};
use crate::spaces::{Chosen, others};
use crate::text::{bytes, careful, counted, json, one_line};
use clap::Args;
use serde::Serialize;
use tpu_trace::{Hole, Holes as Found, MomentName, Neighbour};

/// The free places of a memory at a moment, the largest first, and what stands on both sides.
#[derive(Debug, Args)]
pub(crate) struct Holes {
    #[command(flatten)]
    chosen: Chosen,
    /// peak, end, last, a mark, refusal, or a time since the start such as 12.5s.
    #[arg(long, default_value = "peak")]
    at: MomentName,
    /// How many holes are listed.
    #[arg(long, default_value_t = 5, value_name = "LINES")]
    top: usize,
}

/// The answer for programs.
#[derive(Debug, Serialize)]
struct Answer {
    file: String,
    at: String,
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
    in_use: u64,
    #[serde(flatten)]
    holes: Found,
}

impl Holes {
    /// The holes, as text or JSON.
    pub(crate) fn answer(&self) -> Result<String, InputError> {
        let input = Input::open(&self.chosen.file)?;
        let moment = input.moment(&self.at)?;
        let used = self.chosen.spaces(&input)?;
        let shown = if self.chosen.json { used.len() } else { used.len().min(1) };
        let spaces = used.iter().take(shown).map(|&(space, history)| {
            let changes = moment.changes(history);
            OfSpace {
                space: space.name(),
                device: space.device,
                capacity: space.capacity,
                in_use: history.in_use_after(changes),
                holes: Found::at(&input.trace, (space, history), changes, self.top),
            }
        });
        let answer = Answer {
            file: input.name.clone(),
            at: moment.words(&input.trace),
            cut: input.cut(),
            spaces: spaces.collect(),
        };
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
        let Found { free, largest, count, list } = &space.holes;
        text += &format!(
            "{} {}: {} in use of {}, {} free in {}, the largest {}\n",
            one_line(&space.space),
            one_line(&answer.at),
            bytes(space.in_use),
            bytes(space.capacity),
            bytes(*free),
            counted(*count, "hole"),
            bytes(*largest),
        );
        list.iter().for_each(|hole| text += &one(hole));
        let left = count.saturating_sub(list.len() as u64);
        if left > 0 {
            text += &format!("  and {} more, none of them larger (--top)\n", counted(left, "hole"));
        }
    }
    text
}

fn one(hole: &Hole) -> String {
    let side = |of: &Option<Neighbour>, end: &str| match of {
        None => end.to_owned(),
        Some(block) => {
            let (line, what) = (one_line(&block.line), one_line(&block.what));
            format!("{:>9}  {line}  {what}", bytes(block.size))
        }
    };
    format!(
        "  {:>9}  at {:#x}\n      below  {}\n      above  {}\n",
        bytes(hole.size),
        hole.address,
        side(&hole.below, "the start of the memory"),
        side(&hole.above, "the end of the memory"),
    )
}
