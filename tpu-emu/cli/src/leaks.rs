//! What was taken after a moment and still lives at a later one.
use crate::View;
use crate::input::{Input, InputError};
use crate::text::{bytes, careful, counted, json, one_line, rows};
use serde::Serialize;
use std::cmp::Ordering;
use std::path::Path;
use tpu_trace::{Holders, Moment, MomentName, leaks as leaked};

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
    from: &MomentName,
    to: &MomentName,
    view: &View,
) -> Result<String, InputError> {
    let input = Input::open(file)?;
    let trace = &input.trace;
    let (from, to) = (input.moment(from)?, input.moment(to)?);
    let places = input.history.spaces.iter();
    let places = places.map(|space| from.changes(space).cmp(&to.changes(space)));
    let places: Vec<Ordering> = places.collect();
    if places.contains(&Ordering::Greater) && !places.contains(&Ordering::Less) {
        let [from, to] = [from, to].map(|moment| one_line(&moment.words(trace)));
        return Err(input.asked_too_much(format!(
            "nothing is taken after the moment {from:?} and held {to:?}, which is before it"
        )));
    }
    let blocks = leaked(trace, &input.history, from, to);
    let mut leaks = Leaks {
        file: input.name.clone(),
        from: from.words(trace),
        to: to.words(trace),
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
        one_line(&leaks.from).trim_start_matches("at "),
        one_line(&leaks.to),
    );
    rows(&leaks.held.rows, view.top, &mut text);
    let returned = leaked(trace, &input.history, from, Moment::Allocated);
    if leaks.held.blocks == 0 && to == Moment::End && !returned.is_empty() {
        text += &format!(
            "{} lived behind the last allocation, and were given back before the end: --to \
             allocated says whose they were\n",
            counted(returned.len() as u64, "block")
        );
    }
    Ok(text)
}
