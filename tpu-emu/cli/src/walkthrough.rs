//! Each call that a program made of the TPU's interface, with its stack, frame by frame.
use crate::environment;
use crate::guidebook::functions::{Frame, frames};
use crate::input::Input;
use crate::installed;
use crate::paint::Paint;
use crate::run::{self, Traced};
use crate::text::{bytes, counted, duration, json, one_line, seconds};
use clap::Args;
use serde::Serialize;
use std::collections::HashMap;
use std::ffi::OsString;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use tpu_trace::{ChangeKind, Face, Links, MAGIC, SingleCall};

/// As many of the first bytes of a trace are no script, even where the trace ends behind them.
const NEARLY: usize = 4;

/// The widest line of a frame.
const WIDEST: usize = 120;

/// Runs a script and shows each call of the TPU's interface with its stack, or those of a trace.
#[derive(Debug, Args)]
pub(crate) struct Walkthrough {
    /// The Python for the script, if not the one beside this command or on the path.
    #[arg(long, value_name = "PROGRAM")]
    python: Option<PathBuf>,
    /// Shows the calls of functions with this in their names alone.
    #[arg(long, value_name = "TEXT", default_value = "")]
    only: String,
    /// Shows so many calls at most; equal ones from one stack count once.
    #[arg(long, value_name = "COUNT", default_value_t = 100)]
    most: usize,
    /// Prints them as JSON, for programs.
    #[arg(long)]
    json: bool,
    /// A script with its arguments, or a trace that was written with TPU_EMU_CALLS=each.
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    script: Vec<OsString>,
}

/// Calls of a function from one stack.
#[derive(Debug, Serialize)]
struct Step {
    function: String,
    /// Nanoseconds since the start of the machine at the first of them.
    time: u64,
    count: u64,
    nanos: u64,
    bytes: u64,
    errors: u64,
    /// Outermost first.
    frames: Vec<Frame>,
}

impl Walkthrough {
    /// The calls as text or JSON, and the code to end with.
    ///
    /// # Errors
    /// A sentence, where the script cannot be run or its trace not be read.
    pub(crate) fn walk(&self, paint: &Paint) -> Result<(String, u8), String> {
        let script = self.script.first().map(Path::new).unwrap_or(Path::new(""));
        if is_trace(script) {
            let input = Input::open(script).map_err(|why| why.to_string())?;
            return Ok((self.text(&input, paint)?, 0));
        }
        let python = installed::python(self.python.as_deref());
        let Traced { input, code, _traces } = run::traced(&python, &self.script)?;
        Ok((self.text(&input, paint)?, code))
    }

    fn text(&self, input: &Input, paint: &Paint) -> Result<String, String> {
        let editor = environment::text("TPU_EMU_EDITOR");
        let links = Links::new(editor.as_deref(), &input.trace.header.version)
            .map_err(|why| format!("TPU_EMU_EDITOR: {why}"))?;
        let mut steps = steps(input, &self.only, &links);
        let found = steps.len();
        steps.truncate(self.most);
        if self.json {
            return Ok(json(&steps));
        }
        let mut text = String::new();
        for (number, step) in (1..).zip(&steps) {
            text += &step.text(number, paint);
        }
        for why in input.cut() {
            text += &format!("Careful: {why}.\n");
        }
        text += &match found.saturating_sub(steps.len()) as u64 {
            0 => format!("{}.\n", counted(found as u64, "distinct call")),
            left => format!("{} are left out (--most).\n", counted(left, "further call")),
        };
        Ok(text)
    }
}

impl Step {
    fn text(&self, number: u64, paint: &Paint) -> String {
        let errors = match self.errors {
            0 => String::new(),
            errors => format!(", {errors} failed"),
        };
        let mut text = format!(
            "{} at {}: {}, {}, {}{errors}\n\n",
            paint.strong(&format!("{number}. {}", one_line(&self.function))),
            seconds(self.time),
            counted(self.count, "call"),
            duration(self.nanos),
            bytes(self.bytes),
        );
        if self.frames.is_empty() {
            text += "No stack was taken.\n\n";
        }
        for (title, is_python) in [("Python", true), ("Native", false)] {
            let frames: Vec<&Frame> =
                self.frames.iter().filter(|frame| frame.is_python == is_python).collect();
            if frames.is_empty() {
                continue;
            }
            text += &format!("{title}:\n\n");
            for (number, frame) in (1..).zip(frames) {
                let place = match frame.place.rsplit_once('/') {
                    Some((_, name)) => name,
                    None => &frame.place,
                };
                let line = short(&one_line(&format!("{} at {place}", frame.function)));
                text += &format!("{number:3}. {}\n", paint.link_to(&line, frame.url.as_deref()));
            }
            text.push('\n');
        }
        text
    }
}

/// The calls of a trace: each where it has them, else counts, else changes in memory; equal ones
/// from one stack once, in the order of first call.
fn steps(input: &Input, only: &str, links: &Links) -> Vec<Step> {
    let trace = &input.trace;
    let mut steps: Vec<Step> = Vec::new();
    let mut places: HashMap<(u32, u32), usize> = HashMap::new();
    let mut add = |call: &SingleCall, count: u64, errors: u64| {
        let name = &trace.entries[call.function as usize];
        if !name.contains(only) || name.is_empty() {
            return;
        }
        let place = *places.entry((call.function, call.stack)).or_insert_with(|| {
            steps.push(Step {
                function: name.clone(),
                time: call.time,
                count: 0,
                nanos: 0,
                bytes: 0,
                errors: 0,
                frames: frames(trace, call.stack, name, Face::Mixed, links),
            });
            steps.len() - 1
        });
        let step = &mut steps[place];
        step.time = step.time.min(call.time);
        step.count += count;
        step.nanos += call.duration;
        step.bytes += call.bytes;
        step.errors += errors;
    };
    if !trace.single_calls.is_empty() {
        for call in &trace.single_calls {
            add(call, 1, u64::from(call.status != 0));
        }
    } else if !trace.calls.is_empty() {
        for of in &trace.calls {
            let call = SingleCall {
                function: of.function,
                stack: of.stack,
                thread: of.thread,
                time: of.first,
                duration: of.nanos,
                bytes: of.bytes,
                status: 0,
            };
            add(&call, of.count, of.errors);
        }
    } else {
        for (_, event) in trace.events.iter() {
            let is_refused = event.kind == ChangeKind::Refused;
            let call = SingleCall {
                function: event.entry,
                stack: event.stack,
                thread: event.thread.into(),
                time: event.time,
                duration: 0,
                bytes: if event.kind == ChangeKind::Allocate { event.size } else { 0 },
                status: 0,
            };
            add(&call, 1, u64::from(is_refused));
        }
    }
    steps.sort_by(|a, b| a.time.cmp(&b.time).then_with(|| a.function.cmp(&b.function)));
    steps
}

/// A text, cut where a template's arguments make it longer than any screen.
fn short(text: &str) -> String {
    match text.char_indices().nth(WIDEST - 1) {
        Some((end, _)) if text.chars().count() > WIDEST => format!("{}…", &text[..end]),
        _ => text.to_owned(),
    }
}

/// Whether a file begins as a trace does, or is called one.
fn is_trace(file: &Path) -> bool {
    let mut first = Vec::new();
    let length = MAGIC.len() as u64;
    let is_read =
        File::open(file).is_ok_and(|file| file.take(length).read_to_end(&mut first).is_ok());
    is_read && first.len() >= NEARLY && MAGIC.starts_with(&first)
        || file.extension().is_some_and(|name| name == "trace")
}
