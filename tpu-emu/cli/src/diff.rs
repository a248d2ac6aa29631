//! What a trace holds more or less than another.
use crate::View;
use crate::input::{Input, InputError};
use crate::text::{bytes, careful, json, one_line, signed_bytes};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;
use tpu_trace::{Holders, MomentName};

/// An origin in both traces.
#[derive(Debug, Serialize)]
struct Change {
    key: String,
    /// Bytes in memory, and blocks.
    before: (u64, u64),
    after: (u64, u64),
    /// Bytes in memory that are more.
    change: i128,
}

/// The difference of two traces.
#[derive(Debug, Serialize)]
struct Diff {
    before: String,
    after: String,
    at: String,
    cut: Vec<String>,
    total: Change,
    /// The largest change first; those that are equal are left out.
    rows: Vec<Change>,
}

/// The difference of two files, as text or JSON.
pub(crate) fn diff(
    before: &Path,
    after: &Path,
    at: &MomentName,
    view: &View,
) -> Result<String, InputError> {
    let inputs = [Input::open(before)?, Input::open(after)?];
    let at = [inputs[0].moment(at)?, inputs[1].moment(at)?];
    let held = [0, 1].map(|of| {
        let Input { trace, history, .. } = &inputs[of];
        Holders::at(trace, history, at[of], view.by)
    });
    let mut origins: BTreeMap<&str, [(u64, u64); 2]> = BTreeMap::new();
    for (side, held) in held.iter().enumerate() {
        for row in &held.rows {
            origins.entry(&row.key).or_default()[side] = (row.size.in_memory, row.blocks);
        }
    }
    let mut changes: Vec<Change> =
        origins.into_iter().map(|(key, [before, after])| change(key, before, after)).collect();
    changes.retain(|row| row.before != row.after);
    changes.sort_by_key(|row| std::cmp::Reverse(row.change.unsigned_abs()));
    let [from, to] = held.each_ref().map(|held| (held.total.in_memory, held.blocks));
    let mut diff = Diff {
        before: inputs[0].name.clone(),
        after: inputs[1].name.clone(),
        at: at[0].words(&inputs[0].trace),
        cut: inputs
            .iter()
            .flat_map(|input| input.cut().into_iter().map(|why| format!("{}: {why}", input.name)))
            .collect(),
        total: change("all", from, to),
        rows: changes,
    };
    if view.json {
        diff.rows.truncate(view.top);
        return Ok(json(&diff));
    }
    let mut text = careful(&diff.cut);
    text += &format!(
        "{}: {} in {}, {} in {}, {}\n",
        one_line(&diff.at),
        bytes(diff.total.before.0),
        diff.before,
        bytes(diff.total.after.0),
        diff.after,
        signed_bytes(diff.total.change),
    );
    for row in diff.rows.iter().take(view.top) {
        text += &format!(
            "  {:>10}  {:>9} → {:<9}  {}\n",
            signed_bytes(row.change),
            bytes(row.before.0),
            bytes(row.after.0),
            one_line(&row.key)
        );
    }
    let others = diff.rows.len().saturating_sub(view.top);
    if others > 0 {
        text += &format!("  and {others} smaller changes\n");
    }
    Ok(text)
}

fn change(key: &str, before: (u64, u64), after: (u64, u64)) -> Change {
    Change {
        key: key.to_owned(),
        before,
        after,
        change: i128::from(after.0) - i128::from(before.0),
    }
}
