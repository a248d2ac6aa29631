//! Peak, origins, what is held at the end, padding and temporaries of each memory space.
use crate::View;
use crate::input::{Input, InputError};
use crate::text::{bytes, careful, counted, json, one_line, rows, seconds};
use serde::Serialize;
use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use tpu_base::units::Bytes;
use tpu_trace::{
    Autopsy, By, Holders, Moment, ProgramAutopsy, Row, Size, SpaceHistory, Trace, autopsy,
    refused_programs,
};

/// All of it.
#[derive(Debug, Serialize)]
pub(crate) struct Summary {
    file: String,
    version: String,
    process: u64,
    topology: String,
    changes: usize,
    refusals: usize,
    custom_calls: usize,
    refused_calls: usize,
    /// What would have made the first refusal fit; `null` where nothing was refused.
    refused: Option<Refused>,
    /// Programs that were refused when they were compiled, in words.
    refused_programs: Vec<String>,
    /// Why the trace may say less than its process did.
    cut: Vec<String>,
    /// Who has planned the temporaries of the programs, each once.
    planners: Vec<String>,
    /// Those in which anything lived.
    spaces: Vec<SpaceSummary>,
}

/// The first allocation that found no room.
#[derive(Debug, Serialize)]
struct Refused {
    space: String,
    time: u64,
    asked: u64,
    line: String,
    what: String,
    /// What helps first, in words; `null` where nothing that was tried does.
    advice: Option<String>,
}

impl Refused {
    fn first(input: &Input) -> Option<Self> {
        let found = autopsy(&input.trace, &input.history, 0)?;
        let advice = found.advice.iter().find(|advice| advice.helps);
        let advice = advice.map(|advice| advice.words.clone());
        let Autopsy { space, time, asked, line, what, .. } = found;
        Some(Self { space, time, asked, line, what, advice })
    }
}

/// One memory space.
#[derive(Debug, Serialize)]
struct SpaceSummary {
    space: String,
    device: Option<u64>,
    capacity: u64,
    peak: Point,
    /// Before the client's clean-up.
    end: Point,
    /// Of what lived at the peak.
    padding: u64,
    /// The largest blocks that programs took for their temporaries, one a label.
    temporaries: Vec<Row>,
}

/// What lived at a point.
#[derive(Debug, Serialize)]
struct Point {
    /// Nanoseconds since the start of the machine; `None` before the first change.
    time: Option<u64>,
    size: Size,
    blocks: u64,
    /// By origin.
    rows: Vec<Row>,
}

impl Point {
    fn of(input: &Input, space: &SpaceHistory, moment: Moment, by: By) -> Self {
        let Holders { total, blocks, rows } = Holders::in_space(&input.trace, space, moment, by);
        Self { time: space.time_after(moment.changes(space)), size: total, blocks, rows }
    }
}

/// The summary of a file, as text or JSON, and whether no device held more than a limit.
pub(crate) fn summary(
    file: &Path,
    view: &View,
    limit: Option<Bytes>,
) -> Result<(String, bool), InputError> {
    let input = Input::open(file)?;
    let summary = of(&input, view.by, if view.json { view.top } else { usize::MAX });
    let devices = summary.spaces.iter().filter(|space| space.device.is_some());
    let over = limit.and_then(|Bytes(limit)| {
        let peak = devices.map(|space| space.peak.size.in_memory).max().filter(|&it| it > limit);
        peak.map(|peak| format!("The peak of {peak} bytes is over the limit of {limit}.\n"))
    });
    let is_within = over.is_none();
    Ok(match view.json {
        true => (json(&summary), is_within),
        false => (text(&summary, view) + &over.unwrap_or_default(), is_within),
    })
}

/// The summary of a trace, its tables cut to so many rows.
pub(crate) fn of(input: &Input, by: By, top: usize) -> Summary {
    let trace = &input.trace;
    let spaces = trace.spaces.iter().zip(&input.history.spaces);
    let mut summary = Summary {
        file: input.name.clone(),
        version: trace.header.version.clone(),
        process: trace.header.process,
        topology: trace.header.topology.clone(),
        changes: trace.events.len() - input.history.refusals.len(),
        refusals: input.history.refusals.len(),
        custom_calls: trace.dispatches.len(),
        refused_calls: trace.faults.len(),
        refused: Refused::first(input),
        refused_programs: refused_programs(trace).iter().map(ProgramAutopsy::words).collect(),
        cut: input.cut(),
        planners: planners(trace),
        spaces: spaces
            .filter(|(_, history)| !history.order.is_empty())
            .map(|(space, history)| {
                let peak = Point::of(input, history, Moment::Peak, by);
                SpaceSummary {
                    space: space.name(),
                    device: space.device,
                    capacity: space.capacity,
                    padding: peak.size.padding(),
                    peak,
                    end: Point::of(input, history, Moment::End, by),
                    temporaries: temporaries(input, history),
                }
            })
            .collect(),
    };
    for space in &mut summary.spaces {
        for rows in [&mut space.peak.rows, &mut space.end.rows, &mut space.temporaries] {
            rows.truncate(top);
        }
    }
    summary
}

/// Who has planned the temporaries of the programs, each once.
pub(crate) fn planners(trace: &Trace) -> Vec<String> {
    let names = trace.programs.iter().map(|program| match &*program.planner {
        "" => "tpu-emu".to_owned(),
        name => name.to_owned(),
    });
    names.collect::<BTreeSet<_>>().into_iter().collect()
}

/// The largest block that each program took for temporaries.
fn temporaries(input: &Input, space: &SpaceHistory) -> Vec<Row> {
    let trace = &input.trace;
    let is_temporary = |&place: &u32| {
        let label = trace.events.at(place).label;
        trace.labels[label as usize].starts_with("temporaries of ")
    };
    let mut largest: HashMap<u32, u32> = HashMap::new();
    for &place in space.order.iter().filter(|place| is_temporary(place)) {
        let event = trace.events.at(place);
        let known = largest.entry(event.label).or_insert(place);
        if trace.events.at(*known).size < event.size {
            *known = place;
        }
    }
    let mut blocks: Vec<u32> = largest.into_values().collect();
    blocks.sort_unstable();
    Holders::of(trace, blocks, By::Label).rows
}

fn text(summary: &Summary, view: &View) -> String {
    let mut text = format!(
        "{}: tpu-emu {}, process {}, {}; {}, {}\n",
        one_line(&summary.file),
        one_line(&summary.version),
        summary.process,
        one_line(&summary.topology),
        counted(summary.changes as u64, "change"),
        counted(summary.refusals as u64, "refusal"),
    );
    text += &careful(&summary.cut);
    let mut line = |words: String| {
        text.push_str(&words);
        text.push('\n');
    };
    if summary.spaces.is_empty() {
        line("Nothing was allocated.".to_owned());
    }
    if let Some(refused) = &summary.refused {
        line(format!(
            "No room on {} at {} for {} of {} ({})",
            one_line(&refused.space),
            seconds(refused.time),
            bytes(refused.asked),
            one_line(&refused.line),
            one_line(&refused.what),
        ));
        line(match &refused.advice {
            Some(advice) => format!(" it would fit: {}", one_line(advice)),
            None => " nothing that was tried makes it fit (tpu-emu autopsy)".to_owned(),
        });
    }
    for program in summary.refused_programs.iter().take(view.top) {
        line(format!("Not compiled: {program} (tpu-emu autopsy)"));
    }
    if let Some(left) = summary.refused_programs.len().checked_sub(view.top).filter(|&n| n > 0) {
        line(format!("Nor were {}", counted(left as u64, "other program")));
    }
    for space in &summary.spaces {
        let of = u128::from(space.peak.size.in_memory) * 1000 / u128::from(space.capacity.max(1));
        // How many semaphores there are is not known.
        let share = match space.capacity {
            0 => String::new(),
            capacity => format!(" ({}.{} % of {})", of / 10, of % 10, bytes(capacity)),
        };
        line(format!(
            "{}: at most {}{share} at {}, {} of it padding",
            one_line(&space.space),
            bytes(space.peak.size.in_memory),
            seconds(space.peak.time.unwrap_or(0)),
            bytes(space.padding),
        ));
        text_rows(&mut line, "who held it at the peak", &space.peak.rows, view.top);
        let held = format!(
            "{} in {} held at the end, before the client's clean-up",
            bytes(space.end.size.in_memory),
            counted(space.end.blocks, "block")
        );
        text_rows(&mut line, &held, &space.end.rows, view.top);
        if !space.temporaries.is_empty() {
            let by: Vec<String> = summary.planners.iter().map(|name| one_line(name)).collect();
            let head = match by.is_empty() {
                true => "largest temporaries".to_owned(),
                false => format!("largest temporaries, planned by {}", by.join(" and ")),
            };
            text_rows(&mut line, &head, &space.temporaries, view.top);
        }
    }
    text
}

fn text_rows(line: &mut impl FnMut(String), head: &str, found: &[Row], top: usize) {
    let mut table = String::new();
    rows(found, top, &mut table);
    line(format!(" {head}"));
    table.lines().for_each(|row| line(row.to_owned()));
}
