//! What tiles cost at a moment, and what would avoid it.
use crate::input::{Input, InputError};
use crate::spaces::Chosen;
use crate::text::{bytes, careful, counted, json, one_line};
use clap::Args;
use serde::Serialize;
use tpu_trace::{By, Holders, Moment, MomentName, Padded, live, padding};

/// The bytes of arrays that no element takes, by array type and line, and what would avoid them.
#[derive(Debug, Args)]
pub(crate) struct Padding {
    #[command(flatten)]
    chosen: Chosen,
    /// peak (of each device its own), end, last, a mark, refusal, or a time such as 12.5s.
    #[arg(long, default_value = "peak")]
    at: MomentName,
    /// How many lines the table has.
    #[arg(long, default_value_t = 10, value_name = "LINES")]
    top: usize,
}

/// The answer for programs.
#[derive(Debug, Serialize)]
struct Answer {
    file: String,
    at: String,
    /// Why the trace may say less than its process did.
    cut: Vec<String>,
    /// Bytes of all blocks, of the chosen device or of all memories.
    in_memory: u64,
    /// Of them, bytes that no element takes.
    padding: u64,
    /// Bytes that other shapes would save, of all rows.
    saves: u64,
    rows: Vec<Padded>,
}

impl Padding {
    /// The padding, as text or JSON.
    pub(crate) fn answer(&self) -> Result<String, InputError> {
        let input = Input::open(&self.chosen.file)?;
        let moment = input.moment(&self.at)?;
        let mut blocks = Vec::new();
        for (_, history) in self.chosen.spaces(&input)? {
            blocks.extend(live(&input.trace, history, moment.changes(history)));
        }
        let mut rows = padding(&input.trace, &blocks);
        let total = Holders::of(&input.trace, blocks, By::Space).total;
        let count = rows.len();
        let saves = rows.iter().map(|row| row.saves).sum();
        rows.truncate(self.top);
        let answer = Answer {
            file: input.name.clone(),
            at: match moment {
                Moment::Peak => "at the peak of each memory".to_owned(),
                _ => moment.words(&input.trace),
            },
            cut: input.cut(),
            in_memory: total.in_memory,
            padding: total.padding(),
            saves,
            rows,
        };
        Ok(if self.chosen.json { json(&answer) } else { text(&answer, count) })
    }
}

fn text(answer: &Answer, count: usize) -> String {
    let mut text = careful(&answer.cut);
    text += &format!(
        "{} of {} held {} is padding; other shapes would save {}\n",
        bytes(answer.padding),
        bytes(answer.in_memory),
        one_line(&answer.at),
        bytes(answer.saves),
    );
    for row in &answer.rows {
        text += &format!(
            "  {:>9}  of {:>9} in {:>10}  {}  {}\n",
            bytes(row.padding()),
            bytes(row.in_memory),
            counted(row.blocks, "block"),
            one_line(&row.array),
            one_line(&row.line),
        );
        if let Some(instead) = &row.instead {
            let (how, array) = (one_line(&instead.how), one_line(&instead.array));
            text += &format!("             {how} saves {}: {array}\n", bytes(row.saves));
        }
    }
    let left = (count - answer.rows.len()) as u64;
    if left > 0 {
        text += &format!("  and {} with less each (--top)\n", counted(left, "line"));
    }
    text
}
