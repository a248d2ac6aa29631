//! The page: its frame, its data, its script.
use crate::columns::Columns;
use crate::order::Order;
use crate::sites::{Keys, Sites, event_of};
use crate::tables::Tables;
use std::collections::HashMap;
use std::io::{self, Write};
use tpu_trace::{By, ChangeKind, History, Launch, Moment, Trace, key_text};

const STYLE: &str = include_str!("../built/report.css");
const SCRIPT: &str = include_str!("../built/report.js");
/// The licence of what the script has of others.
const LICENCES: &str = include_str!("../built/licences.txt");

/// What a page says beside its trace.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// What people call the trace.
    pub name: String,
    /// Why the trace may say less than its process did, a sentence each.
    pub cut: Vec<String>,
    /// How links open files: a name of [`tpu_trace::EDITORS`], or an address with `{path}` and
    /// `{line}`; the browser itself where there is none.
    pub editor: Option<String>,
    /// The moment that the page shows first; the peak where there is none.
    pub at: Option<Moment>,
}

/// The most changes of a page. Ten million are known to open; a browser gives a page some gigabytes,
/// and this many take about two.
const MOST_CHANGES: usize = 40_000_000;

/// Writes a trace as a page.
///
/// # Errors
/// Those of the output, and a sentence for a trace with more changes than a browser can hold.
pub fn write_report(
    trace: &Trace,
    history: &History,
    options: &Options,
    out: &mut impl Write,
) -> io::Result<()> {
    if let Some(why) = too_many(trace.events.len()) {
        return Err(io::Error::other(why));
    }
    let order = Order::new(trace, history);
    let mut tables = Tables::new(trace, history, &order, options);
    writeln!(
        out,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
         script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>tpu-emu report</title>\n<!--\n{LICENCES}-->\n<style>\n{STYLE}</style>\n</head>\n\
         <body>\n<div id=\"app\"><p id=\"reading\">Reading the trace …</p>\
         <noscript>This report needs JavaScript, which is switched off.</noscript></div>"
    )?;
    let mut columns = Columns::new(out);
    write_columns(trace, history, &order, &mut tables, &mut columns)?;
    let text = serde_json::to_vec(&tables).map_err(io::Error::other)?;
    columns.text("tables", &text)?;
    let out = columns.finish()?;
    writeln!(out, "<script>\n{SCRIPT}</script>\n</body>\n</html>")
}

fn write_columns<W: Write>(
    trace: &Trace,
    history: &History,
    order: &Order,
    tables: &mut Tables,
    columns: &mut Columns<W>,
) -> io::Result<()> {
    let steps = || order.steps.iter();
    let times = steps().scan(0, |latest: &mut u64, step| {
        *latest = history.spaces[step.space as usize].times[step.at as usize].max(*latest);
        Some(*latest)
    });
    columns.rising("time", times)?;
    columns.numbers("back", order.back.iter().map(|&back| back.into()))?;

    let allocations = || {
        let events = steps().map(|&step| event_of(trace, history, step));
        events.filter(|event| event.kind == ChangeKind::Allocate)
    };
    let frees = || {
        let events = steps().map(|&step| event_of(trace, history, step));
        events.filter(|event| event.kind != ChangeKind::Allocate)
    };
    let mut threads: HashMap<u32, u64> = HashMap::new();
    for step in steps() {
        let thread = event_of(trace, history, *step).thread;
        if !threads.contains_key(&thread) {
            threads.insert(thread, threads.len() as u64);
            tables.threads.push(thread);
        }
    }
    let thread = |thread: u32| threads.get(&thread).copied().unwrap_or(0);
    columns.numbers("space", allocations().map(|event| event.space.into()))?;
    columns.numbers("size", allocations().map(|event| event.size))?;
    columns.numbers("address", allocations().map(|event| event.address))?;
    columns.numbers("thread", allocations().map(|event| thread(event.thread)))?;
    columns.numbers("free_thread", frees().map(|event| thread(event.thread)))?;

    let sites = Sites::new(trace, history, order);
    columns.numbers("site", sites.taken_at.iter().map(|&at| at.into()))?;
    columns.numbers("free_site", sites.given_at.iter().map(|&at| at.into()))?;
    let parts = ["site_stack", "site_label", "site_spec", "site_entry"];
    for (part, name) in parts.into_iter().enumerate() {
        columns.numbers(name, sites.taken.iter().map(|site| site[part].into()))?;
    }
    for (part, name) in ["free_stack", "free_entry"].into_iter().enumerate() {
        columns.numbers(name, sites.given.iter().map(|site| site[part].into()))?;
    }
    let keys = [
        (By::Line, "line", "site_line", 0),
        (By::Function, "function", "site_function", 0),
        (By::Executable, "executable", "site_executable", 1),
    ];
    for (by, name, column, part) in keys {
        let mut keys = Keys::new(trace, by);
        let of: Vec<u32> = sites.taken.iter().map(|site| keys.of(site[part])).collect();
        columns.numbers(column, of.into_iter().map(u64::from))?;
        tables.keys.insert(name, keys.words);
    }
    for (by, name, count) in [
        (By::Label, "label", trace.labels.len()),
        (By::Array, "array", trace.specs.len()),
        (By::Entry, "entry", trace.entries.len()),
        (By::Space, "space", trace.spaces.len()),
    ] {
        let words = (0..).take(count).map(|place| key_text(trace, by, place));
        tables.keys.insert(name, words.collect());
    }
    let stacks = u32::try_from(trace.stacks.len()).unwrap_or(u32::MAX);
    let nodes = || (1..stacks).filter_map(|stack| trace.stacks.link(stack));
    columns.numbers("stack_caller", nodes().map(|(caller, _)| caller.into()))?;
    columns.numbers("stack_frame", nodes().map(|(_, frame)| frame.into()))?;
    write_launches(trace, columns)
}

/// Every run of a program on a device, by the time at which it was launched.
fn write_launches<W: Write>(trace: &Trace, columns: &mut Columns<W>) -> io::Result<()> {
    let places: HashMap<u64, u64> =
        trace.programs.iter().map(|program| program.number).zip(0..).collect();
    let mut launches: Vec<&Launch> =
        trace.launches.iter().filter(|launch| places.contains_key(&launch.program)).collect();
    launches.sort_by_key(|launch| (launch.enqueued, launch.run, launch.device));
    let all = || launches.iter();
    columns.rising("launch_time", all().map(|of| of.enqueued))?;
    columns.numbers("launch_waited", all().map(|of| of.started.saturating_sub(of.enqueued)))?;
    columns.numbers("launch_ran", all().map(|of| of.ended.saturating_sub(of.started)))?;
    columns.numbers("launch_program", all().map(|of| places[&of.program]))?;
    columns.numbers("launch_device", all().map(|of| of.device))?;
    columns.numbers("launch_run", all().map(|of| of.run))?;
    columns.numbers("launch_status", all().map(|of| of.status))?;
    columns.numbers("launch_stack", all().map(|of| of.stack.into()))
}

/// Why there is no page of so many changes.
fn too_many(changes: usize) -> Option<String> {
    (changes > MOST_CHANGES).then(|| {
        format!(
            "it has {changes} changes, and a browser holds a report of {MOST_CHANGES} at most; \
             `tpu-emu summary` says what it can, `tpu-emu export --last N` takes a part of it"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_browser_cannot_hold_is_refused_by_a_sentence() {
        assert_eq!(too_many(MOST_CHANGES), None);
        let why = too_many(MOST_CHANGES + 1).unwrap();
        assert!(why.starts_with("it has 40000001 changes"), "{why}");
    }
}
