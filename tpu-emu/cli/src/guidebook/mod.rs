//! What a program called of the TPU's interfaces, in the order of first call.
use crate::environment;
use crate::input::{Input, InputError};
use crate::text::{counted, json, one_line};
use clap::{Args, ValueEnum};
use serde::Serialize;
use std::path::{Path, PathBuf};
use tpu_trace::{Face, Links};

pub(crate) mod functions;
mod html;
mod markdown;

use functions::{Function, functions};

/// What a program called, how often, how long, with how many bytes, and from where.
#[derive(Debug, Args)]
pub(crate) struct Guidebook {
    /// A trace that TPU_EMU_TRACE=FILE wrote.
    file: PathBuf,
    /// Where it is written, if not to standard output; a name with `.html` chooses that form.
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// The form: Markdown, if nothing says otherwise.
    #[arg(long)]
    format: Option<Form>,
    /// python (without JAX's own), mixed (without the interpreter's native ones) or full.
    #[arg(long, default_value = "mixed")]
    frames: Face,
    /// How many stacks each function has at most, those with most calls first.
    #[arg(long, default_value_t = 5, value_name = "COUNT")]
    stacks: usize,
    /// Prints it as JSON, for programs.
    #[arg(long)]
    json: bool,
}

/// How the guidebook is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Form {
    /// Markdown.
    Md,
    /// One page of HTML.
    Html,
}

/// All of it.
#[derive(Debug, Serialize)]
pub(crate) struct Book {
    pub(crate) file: String,
    pub(crate) process: u64,
    pub(crate) version: String,
    pub(crate) topology: String,
    /// Why it may say less than the process did.
    pub(crate) cut: Vec<String>,
    /// Whether calls were counted. Else the functions are those that changed memory, and times are
    /// not known.
    pub(crate) has_calls: bool,
    pub(crate) functions: Vec<Function>,
}

impl Guidebook {
    /// Writes the guidebook; gives what is printed.
    ///
    /// # Errors
    /// Where the trace cannot be read, or the file not be written.
    pub(crate) fn write(&self) -> Result<Vec<u8>, GuidebookError> {
        let editor = environment::text("TPU_EMU_EDITOR");
        let input = Input::open(&self.file)?;
        let links = Links::new(editor.as_deref(), &input.trace.header.version)
            .map_err(GuidebookError::Editor)?;
        let book = book(&input, self.frames, self.stacks, &links);
        let text = match (self.json, self.form()) {
            (true, _) => json(&book),
            (_, Form::Md) => markdown::page(&book),
            (_, Form::Html) => html::page(&book),
        };
        let Some(output) = &self.output else { return Ok(text.into_bytes()) };
        std::fs::write(output, text)
            .map_err(|why| GuidebookError::Output(output.display().to_string(), why))?;
        Ok(format!("{}\n", output.display()).into_bytes())
    }

    fn form(&self) -> Form {
        let is_html = |path: &Path| path.extension().is_some_and(|end| end == "html");
        let by_name = self.output.as_deref().filter(|path| is_html(path)).map(|_| Form::Html);
        self.format.or(by_name).unwrap_or(Form::Md)
    }
}

/// Why there is no guidebook.
#[derive(Debug, thiserror::Error)]
pub(crate) enum GuidebookError {
    #[error(transparent)]
    Input(#[from] InputError),
    #[error("{0}: {1}")]
    Output(String, std::io::Error),
    #[error("TPU_EMU_EDITOR: {0}")]
    Editor(String),
}

/// The guidebook of a trace.
pub(crate) fn book(input: &Input, face: Face, stacks: usize, links: &Links) -> Book {
    let header = &input.trace.header;
    Book {
        file: input.name.clone(),
        process: header.process,
        version: header.version.clone(),
        topology: header.topology.clone(),
        cut: input.cut(),
        has_calls: !input.trace.calls.is_empty(),
        functions: functions(&input.trace, face, stacks, links),
    }
}

impl Book {
    /// What stands under the title.
    fn introduction(&self) -> String {
        let calls: u64 = self.functions.iter().map(|function| function.count).sum();
        let what = match self.has_calls {
            true => "called",
            false => "changed memory in (this trace has no counts of calls: TPU_EMU_CALLS=stacks)",
        };
        format!(
            "tpu-emu {}, process {}, {}. The program {what} {}, {}; they \
             stand in the order of first call, frames from the outermost to the function.",
            one_line(&self.version),
            self.process,
            one_line(&self.topology),
            counted(self.functions.len() as u64, "function"),
            counted(calls, "time"),
        )
    }
}
