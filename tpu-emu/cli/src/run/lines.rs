//! The lines at the end of a run.
use crate::input::Input;
use crate::paint::Paint;
use crate::summary::planners;
use crate::text::{bytes, counted, grouped, one_line, seconds};
use std::collections::HashMap;
use std::path::Path;
use tpu_trace::{By, Holders, Moment, Row, Space, SpaceHistory, refused_programs, user_frame};

/// How many origins, devices and programs are named.
const ORIGINS: usize = 5;
const DEVICES: usize = 7;
const PROGRAMS: usize = 4;
/// The width of the words before each line.
const WIDTH: usize = 12;

/// What a process did with the memories: who held them at the peak and at the end, what padding
/// took, what programs took for temporaries.
pub(crate) fn lines(input: &Input, paint: &Paint) -> Vec<String> {
    let trace = &input.trace;
    let mut lines: Vec<String> =
        input.cut().iter().map(|why| paint.doubtful(&format!("Careful: {why}."))).collect();
    let mut used: Vec<(&Space, &SpaceHistory)> = trace
        .spaces
        .iter()
        .zip(&input.history.spaces)
        .filter(|(space, history)| space.device.is_some() && !history.order.is_empty())
        .collect();
    // The fullest first.
    used.sort_by_key(|(space, history)| (std::cmp::Reverse(history.peak()), space.device));
    let Some(&(space, history)) = used.first() else {
        lines.push("It allocated nothing on the emulated TPU.".to_owned());
        lines.extend(not_compiled(input, paint));
        return lines;
    };
    let mut say = |head: &str, words: String| {
        lines.push(format!("{}{words}", paint.strong(&format!("{head:WIDTH$}"))));
    };
    let peak = Holders::in_space(trace, history, Moment::Peak, By::Line);
    say("peak", {
        let at = seconds(history.time_after(history.peak_at).unwrap_or(0));
        let of = share(peak.total.in_memory, space.capacity);
        let (peak, capacity) = (bytes(peak.total.in_memory), bytes(space.capacity));
        format!("{peak} of {capacity} ({of}) on {} at {at}", one_line(&space.name()))
    });
    for row in peak.rows.iter().take(ORIGINS) {
        let (size, blocks) = (bytes(row.size.in_memory), counted(row.blocks, "block"));
        say("", format!("{size:>9}  {blocks:>10}  {}", origin(input, row, paint)));
    }
    if used.len() > 1 {
        say("", others(&used[1..]));
    }
    let end = Holders::at(trace, &input.history, Moment::End, By::Line);
    say("end", {
        let most = end.rows.first().map_or_else(String::new, |row| {
            format!("; most: {} at {}", bytes(row.size.in_memory), origin(input, row, paint))
        });
        let (held, blocks) = (bytes(end.total.in_memory), counted(end.blocks, "block"));
        format!("{held} in {blocks} held on all devices before the client's clean-up{most}")
    });
    say("padding", {
        let padding = peak.total.padding();
        let of = share(padding, peak.total.in_memory);
        format!("{} of the peak ({of})", bytes(padding))
    });
    let temporaries = temporaries(input, history);
    if !temporaries.is_empty() {
        let named: Vec<String> = temporaries
            .iter()
            .take(PROGRAMS)
            .map(|(program, size)| format!("{} {}", one_line(program), bytes(*size)))
            .collect();
        let left = temporaries.len().saturating_sub(PROGRAMS);
        let left = if left > 0 { format!(" and {left} more") } else { String::new() };
        let by = planners(trace).into_iter().filter(|name| name != "tpu-emu");
        let by: Vec<String> = by.map(|name| one_line(&name)).collect();
        let by = if by.is_empty() {
            String::new()
        } else {
            format!(", planned by {}", by.join(" and "))
        };
        say("temporaries", format!("{}{left}{by}", named.join(", ")));
    }
    if let Some(&refusal) = input.history.refusals.last() {
        let event = trace.events.at(refusal);
        let count = input.history.refusals.len() as u64;
        let frame = user_frame(&trace.stacks, event.stack);
        let place = frame.map_or_else(String::new, |frame| {
            let text = format!("{}:{} {}", shown(&frame.file), frame.line, frame.function);
            format!(" at {}", paint.link(&one_line(&text), Some(frame)))
        });
        let asked = bytes(event.size);
        let space = trace.spaces[event.space as usize].name();
        let last = format!("{}, the last of {asked} on {space}{place}", counted(count, "time"));
        say("refused", paint.bad(&last));
    }
    lines.extend(not_compiled(input, paint));
    lines
}

/// The last of the programs that need more memory than a device has, and how many there were.
fn not_compiled(input: &Input, paint: &Paint) -> Option<String> {
    let programs = refused_programs(&input.trace);
    let last = programs.last()?;
    let count = counted(programs.len() as u64, "program");
    let words = paint.bad(&format!("{count}, the last: {}", last.words()));
    Some(format!("{}{words}", paint.strong(&format!("{:WIDTH$}", "not compiled"))))
}

/// What the other devices held at most.
fn others(used: &[(&Space, &SpaceHistory)]) -> String {
    let mut named: Vec<String> = used
        .iter()
        .take(DEVICES)
        .map(|(space, history)| format!("{} {}", one_line(&space.name()), bytes(history.peak())))
        .collect();
    let left = used.len().saturating_sub(DEVICES) as u64;
    if left > 0 {
        named.push(format!("{} less each", counted(left, "device")));
    }
    format!("others: {}", named.join(", "))
}

/// An origin as `file:line function`, which leads to its source.
fn origin(input: &Input, row: &Row, paint: &Paint) -> String {
    let stack = input.trace.events.at(row.first).stack;
    match user_frame(&input.trace.stacks, stack) {
        Some(part) => {
            let text = format!("{}:{} {}", shown(&part.file), part.line, part.function);
            paint.link(&one_line(&text), Some(part))
        }
        None => one_line(&row.key),
    }
}

/// A file from the working folder on, where it is in there.
fn shown(file: &str) -> String {
    let here = std::env::current_dir().unwrap_or_default();
    let inside = Path::new(file).strip_prefix(here).ok();
    inside.map_or_else(|| file.to_owned(), |inside| inside.display().to_string())
}

/// Programs by the largest block that each took for its temporaries.
fn temporaries(input: &Input, history: &SpaceHistory) -> Vec<(String, u64)> {
    let trace = &input.trace;
    let mut largest: HashMap<u32, u64> = HashMap::new();
    for &place in &history.order {
        let event = trace.events.at(place);
        if trace.labels[event.label as usize].starts_with("temporaries of ") {
            let size = largest.entry(event.label).or_default();
            *size = event.size.max(*size);
        }
    }
    let mut programs: HashMap<&str, u64> = HashMap::new();
    for (label, size) in largest.iter().map(|(&label, &size)| (label, size)).collect::<Vec<_>>() {
        let text = trace.labels[label as usize].trim_start_matches("temporaries of ");
        let program = text.split_once(": ").map_or(text, |(program, _)| program);
        let known = programs.entry(program).or_default();
        *known = size.max(*known);
    }
    let mut programs: Vec<(String, u64)> =
        programs.into_iter().map(|(program, size)| (program.to_owned(), size)).collect();
    programs.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    programs
}

/// How much of a whole, in tenths of a hundredth.
fn share(part: u64, whole: u64) -> String {
    let tenths = u128::from(part) * 1000 / u128::from(whole.max(1));
    format!("{}.{} %", tenths / 10, tenths % 10)
}

/// One line for a further process of a run.
pub(crate) fn further(input: &Input, file: &str) -> String {
    let fullest = input.trace.spaces.iter().zip(&input.history.spaces);
    let fullest = fullest.filter(|(space, _)| space.device.is_some());
    let peak = fullest.map(|(_, history)| history.peak()).max().unwrap_or(0);
    let changes = input.trace.events.len() - input.history.refusals.len();
    format!(
        "process {}: peak {}, {} changes; {file}",
        input.trace.header.process,
        bytes(peak),
        grouped(changes as u64)
    )
}
