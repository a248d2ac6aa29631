//! What was taken after a moment and still lives at a later one.
use crate::View;
use crate::input::{Input, InputError};
use crate::text::{bytes, careful, counted, json, rows};
use serde::Serialize;
use std::path::Path;
use tpu_trace::{Holders, Moment, live};

/// The leaks of all spaces.
#[derive(Debug, Serialize)]
struct Leaks {
    file: String,
    from: String,
    to: String,
    cut: Vec<String>,
    #[serde(flatten)]
    held: Holders,
}

/// The leaks of a file, as text or JSON.
pub(crate) fn leaks(
    file: &Path,
    from: Moment,
    to: Moment,
    view: &View,
) -> Result<String, InputError> {
    let input = Input::open(file)?;
    let mut blocks = Vec::new();
    for space in &input.history.spaces {
        let since = from.changes(space);
        let first = space.order.get(since).map(|&place| input.trace.events.at(place).sequence);
        let Some(first) = first else { continue };
        let held = live(&input.trace, space, to.changes(space));
        blocks.extend(
            held.into_iter().filter(|&place| input.trace.events.at(place).sequence >= first),
        );
    }
    let mut leaks = Leaks {
        file: input.name.clone(),
        from: from.to_string(),
        to: to.to_string(),
        cut: input.cut(),
        held: Holders::of(&input.trace, blocks, view.by),
    };
    if view.json {
        leaks.held.rows.truncate(view.top);
        return Ok(json(&leaks));
    }
    let mut text = careful(&leaks.cut);
    text += &format!(
        "{} in {} taken after {} and held {}\n",
        bytes(leaks.held.total.in_memory),
        counted(leaks.held.blocks, "block"),
        leaks.from.trim_start_matches("at "),
        leaks.to,
    );
    rows(&leaks.held.rows, view.top, &mut text);
    Ok(text)
}
