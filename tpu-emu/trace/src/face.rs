//! Stacks as people look at them: of Python alone, with native calls, or as they were recorded.
use crate::event::Event;
use crate::tables::{FramePart, Trace};
use std::str::FromStr;

/// Which frames of a stack are shown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Face {
    /// Those of Python, without JAX's own.
    #[default]
    Python,
    /// Those of Python, and native ones but for those of the interpreter and of the start of a
    /// process: with them one line of Python is as many frames as the interpreter has call sites.
    Mixed,
    /// All.
    Full,
}

impl FromStr for Face {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "python" => Ok(Self::Python),
            "mixed" => Ok(Self::Mixed),
            "full" => Ok(Self::Full),
            _ => Err(format!("{text:?} is none of python, mixed, full")),
        }
    }
}

impl Face {
    /// Whether a frame is shown.
    pub fn shows(self, part: &FramePart) -> bool {
        match self {
            Self::Python => part.is_python && !is_of_jax(&part.file),
            Self::Mixed => part.is_python || !is_of_interpreter(part),
            Self::Full => true,
        }
    }
}

/// A call, as a view has it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Call {
    /// The function, or what a block was taken for.
    pub name: String,
    /// The source file; empty where unknown.
    pub file: String,
    /// The line in the file; 0 where unknown.
    pub line: u64,
}

impl Call {
    /// `file:line function`, as far as they are known.
    pub fn text(&self) -> String {
        match (&*self.file, self.line) {
            ("", _) => self.name.clone(),
            (file, 0) => format!("{file} {}", self.name),
            (file, line) => format!("{file}:{line} {}", self.name),
        }
    }
}

/// The calls that led to a block, outermost first, and what it was taken for as the last of them.
pub fn calls(trace: &Trace, event: &Event, face: Face) -> Vec<Call> {
    let parts: Vec<&FramePart> = trace.stacks.frames(event.stack).collect();
    let mut shown: Vec<&FramePart> =
        parts.iter().copied().filter(|part| face.shows(part)).collect();
    // A stack of nothing but JAX's own frames, or of no Python, would say nothing at all.
    if shown.is_empty() {
        shown = parts.into_iter().filter(|part| part.is_python).collect();
    }
    let of = |part: &&FramePart| Call {
        name: part.function.clone(),
        file: part.file.clone(),
        line: part.line,
    };
    let mut calls: Vec<Call> = shown.iter().rev().map(of).collect();
    let label = &trace.labels[event.label as usize];
    let name = match label.is_empty() {
        true => trace.specs[event.spec as usize].text(),
        false => label.clone(),
    };
    calls.push(Call { name, file: String::new(), line: 0 });
    calls
}

/// Whether a file is one of JAX's own, which its tracebacks hide as well.
pub(crate) fn is_of_jax(file: &str) -> bool {
    ["-packages/jax/", "-packages/jaxlib/", "/jax/_src/"].iter().any(|part| file.contains(part))
}

/// Whether a native frame is of the interpreter, or of what starts processes and threads.
fn is_of_interpreter(part: &FramePart) -> bool {
    let module = part.module.rsplit('/').next().unwrap_or_default();
    let theirs = ["python", "libpython", "libc.so", "libc-", "libpthread", "ld-linux"];
    theirs.iter().any(|start| module.starts_with(start))
}
