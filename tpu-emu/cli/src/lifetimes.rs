//! How long blocks lived.
use crate::View;
use crate::input::{Input, InputError};
use crate::text::{bytes, careful, counted, duration, json, one_line};
use serde::Serialize;
use std::path::Path;
use tpu_trace::{Lifetimes as Row, lifetimes as lived};

/// The answer for programs.
#[derive(Debug, Serialize)]
struct Answer {
    file: String,
    /// Why the trace may say less than its process did.
    cut: Vec<String>,
    /// Origins with blocks on devices.
    origins: usize,
    rows: Vec<Row>,
}

/// How long the blocks of each origin lived, as text or JSON.
pub(crate) fn lifetimes(file: &Path, view: &View) -> Result<String, InputError> {
    let input = Input::open(file)?;
    let mut rows = lived(&input.trace, &input.history, view.by);
    let origins = rows.len();
    rows.truncate(view.top);
    let answer = Answer { file: input.name.clone(), cut: input.cut(), origins, rows };
    Ok(if view.json { json(&answer) } else { text(&answer) })
}

fn text(answer: &Answer) -> String {
    let mut text = careful(&answer.cut);
    if answer.origins == 0 {
        return text + "Nothing was allocated on a device.\n";
    }
    text += &format!(
        "{:>11}  {:>12}  {:>12}  {:>12}  {:>12}  origin\n",
        "bytes taken", "blocks", "never freed", "lived, half", "longest"
    );
    for row in &answer.rows {
        let time = |nanos: Option<u64>| nanos.map_or_else(|| "-".to_owned(), duration);
        text += &format!(
            "{:>11}  {:>12}  {:>12}  {:>12}  {:>12}  {}\n",
            bytes(row.bytes),
            counted(row.blocks, "block"),
            row.kept,
            time(row.median),
            time(row.longest),
            one_line(&row.key),
        );
    }
    let left = (answer.origins - answer.rows.len()) as u64;
    if left > 0 {
        text += &format!("and {} that took less each (--top)\n", counted(left, "origin"));
    }
    text
}
