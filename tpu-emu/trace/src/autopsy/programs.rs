//! Programs that were refused when they were compiled, because a device has less than they need.
use crate::holders::user_frame;
use crate::plans::at_the_peak;
use crate::recorded::{Program, RefusedProgram, Slot};
use crate::tables::Trace;
use crate::words::{bytes, one_line, seconds};
use serde::Serialize;

/// How many temporaries are named.
const LARGEST: usize = 5;

/// Why a program was not compiled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ProgramAutopsy {
    /// Name of the program.
    pub program: String,
    /// Nanoseconds since the start of the machine.
    pub time: u64,
    /// The line that had it compiled, or the outermost of those by which its largest temporary was
    /// written: clients compile on threads of their own.
    pub line: String,
    /// Bytes that it needs on each device.
    pub needed: u64,
    /// Bytes that programs can use there.
    pub available: u64,
    /// Bytes of its arguments.
    pub arguments: u64,
    /// Bytes of its results, those in place of arguments included.
    pub results: u64,
    /// Bytes of its temporaries.
    pub temporaries: u64,
    /// The largest of those that live at their peak.
    pub largest: Vec<Temporary>,
    /// What would make it fit, each tried by compiling it so.
    pub advice: Vec<String>,
}

/// A value among a program's temporaries.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Temporary {
    /// Bytes there.
    pub size: u64,
    /// As `f32[8,128]`.
    pub array: String,
    /// What makes it.
    pub operation: String,
    /// Where that was written; empty where unknown.
    pub line: String,
}

/// All programs that were refused, in the order in which they were.
pub fn refused_programs(trace: &Trace) -> Vec<ProgramAutopsy> {
    trace.refused_programs.iter().filter_map(|of| refused(trace, of)).collect()
}

fn refused(trace: &Trace, of: &RefusedProgram) -> Option<ProgramAutopsy> {
    let program = trace.program(of.program)?;
    let line = user_frame(&trace.stacks, of.stack).map_or_else(
        || of.line.clone(),
        |part| format!("{}:{} {}", part.file, part.line, part.function),
    );
    let largest = at_their_peak(program).into_iter().take(LARGEST).map(|slot| {
        let shape: Vec<String> = slot.shape.iter().map(u64::to_string).collect();
        Temporary {
            size: slot.size,
            array: format!("{}[{}]", slot.dtype, shape.join(",")),
            operation: slot.operation.clone(),
            line: slot.line.clone(),
        }
    });
    Some(ProgramAutopsy {
        program: program.name.clone(),
        time: of.time,
        line,
        needed: program.needed,
        available: of.available,
        arguments: program.arguments,
        results: program.results,
        temporaries: program.temporaries,
        largest: largest.collect(),
        advice: of.advice.clone(),
    })
}

/// The temporaries that live where they take most, the largest first.
fn at_their_peak(program: &Program) -> Vec<&Slot> {
    // The sizes are the other compiler's where there is one.
    let slots = if program.others.is_empty() { &program.slots } else { &program.others };
    let mut found: Vec<&Slot> = at_the_peak(slots).collect();
    found.sort_by_key(|slot| std::cmp::Reverse(slot.size));
    found
}

impl ProgramAutopsy {
    /// What was refused, in one line.
    pub fn words(&self) -> String {
        let line = match &*self.line {
            "" => String::new(),
            line => format!(", by {}", one_line(line)),
        };
        format!(
            "{} needs {} of HBM on each device, which have {}{line}",
            one_line(&self.program),
            bytes(self.needed),
            bytes(self.available)
        )
    }

    /// The text for people, a line each.
    pub fn text(&self) -> String {
        let mut lines = vec![
            format!("program refused at {}: {}", seconds(self.time), self.words()),
            format!(
                "arguments {}, results {}, temporaries {}",
                bytes(self.arguments),
                bytes(self.results),
                bytes(self.temporaries)
            ),
        ];
        if !self.largest.is_empty() {
            lines.push("largest temporaries at their peak:".to_owned());
        }
        for of in &self.largest {
            let line = if of.line.is_empty() { "an unknown line" } else { &of.line };
            lines.push(format!(
                "  {:>9}  {} {} at {}",
                bytes(of.size),
                one_line(&of.array),
                one_line(&of.operation),
                one_line(line)
            ));
        }
        if !self.advice.is_empty() {
            lines.push("what would make it fit, each checked by compiling it:".to_owned());
            lines.extend(self.advice.iter().map(|words| format!("  {}", one_line(words))));
        }
        lines.join("\n") + "\n"
    }
}
