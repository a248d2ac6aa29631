//! Runs a program on the emulated TPU, and says at its end who held what.
use crate::OVER_BUDGET;
use crate::input::Input;
use crate::installed;
use crate::paint::Paint;
use crate::report;
use crate::summary::{self, Summary};
use crate::text::json;
use clap::Args;
use serde::Serialize;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use tpu_base::units::Bytes;
use tpu_topology::{Topology, hbm_size};
use tpu_trace::{By, Moment};

mod child;
mod lines;
mod traces;
pub(crate) mod words;

use child::Ended;
use traces::Traces;

/// How many further processes have a line of their own.
const FURTHER: usize = 8;
/// The variable that has each call recorded.
const CALLS: &str = "TPU_EMU_CALLS";
/// How many rows each table has in the JSON.
const JSON_ROWS: usize = 20;

/// Runs a Python script, a module or any command on the emulated TPU.
#[derive(Debug, Args)]
#[command(
    override_usage = "tpu-emu run [OPTIONS] SCRIPT [ARGUMENTS]...\n       \
                      tpu-emu run [OPTIONS] -m MODULE [ARGUMENTS]...\n       \
                      tpu-emu run [OPTIONS] -- COMMAND [ARGUMENTS]...",
    after_help = "Options may stand behind the script too; words behind `--` are the program's.\n\
                  The exit code is the program's, or 128 and the number of the signal that ended \
                  it."
)]
pub(crate) struct Run {
    /// The chips, as TPU_EMU_TOPOLOGY takes them: v5p:2x2x1; `tpu-emu topologies` lists them.
    #[arg(long, value_name = "TOPOLOGY", value_parser = Topology::parse)]
    topology: Option<Topology>,
    /// The HBM of each device, as 2GiB.
    #[arg(long, value_name = "SIZE", value_parser = hbm_size)]
    hbm: Option<Bytes>,
    /// Keeps the trace; further processes write theirs to FILE.PID.
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// Writes the HTML report.
    #[arg(long, value_name = "FILE.html")]
    report: Option<PathBuf>,
    /// Writes the summary as JSON; `-` is standard output.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Ends with code 3 where a device held more than this at its peak, and the program ended well.
    #[arg(long, value_name = "SIZE", value_parser = hbm_size)]
    limit: Option<Bytes>,
    /// The Python for scripts and modules, if not the one beside this command or on the path.
    #[arg(long, value_name = "PROGRAM")]
    python: Option<PathBuf>,
    #[arg(long, hide = true, default_value = "script")]
    kind: words::Kind,
    /// The program and its arguments.
    #[arg(last = true, required = true, hide = true)]
    program: Vec<OsString>,
}

impl Run {
    /// Runs the program to its end and prints the lines.
    ///
    /// # Errors
    /// A sentence, where it cannot begin, or where its traces cannot be read.
    pub(crate) fn run(self) -> Result<ExitCode, String> {
        let paint = Paint::of(&io::stderr())?;
        let python = installed::python(self.python.as_deref());
        let library = installed::library(&python)?;
        // Before the program, which may run for hours.
        for out in [&self.report, &self.json].into_iter().flatten() {
            can_be_made(out).map_err(|why| format!("{}: {why}", out.display()))?;
        }
        let name = self.trace.as_deref();
        let traces = Traces::begin(name).map_err(|why| match name {
            Some(name) => format!("{}: {why}", name.display()),
            None => format!("no place for the trace: {why}"),
        })?;
        let command = self.command(&python, &library, &traces.file);
        let program = command.get_program().to_string_lossy().into_owned();
        let ended = child::run(command).map_err(|why| format!("{program}: {why}"))?;
        let found = traces.collect(ended.process);
        let found = found.map_err(|why| format!("{}: {why}", traces.file.display()))?;
        self.end(&traces, &found, ended, &paint, &python)
    }

    /// The program in its environment.
    fn command(&self, python: &Path, library: &Path, trace: &Path) -> Command {
        let mut words = self.program.iter();
        let mut command = match self.kind {
            words::Kind::Script => Command::new(python),
            words::Kind::Module => {
                let mut command = Command::new(python);
                command.arg("-m");
                command
            }
            words::Kind::Command => Command::new(words.next().cloned().unwrap_or_default()),
        };
        command.args(words).env("TPU_EMU_TRACE", trace);
        emulated(&mut command, library);
        if let Some(topology) = &self.topology {
            command.env("TPU_EMU_TOPOLOGY", topology.canonical_spec());
        }
        if let Some(Bytes(hbm)) = self.hbm {
            command.env("TPU_EMU_HBM_BYTES", hbm.to_string());
        }
        command
    }

    /// What is said and written when the program has ended.
    fn end(
        &self,
        traces: &Traces,
        found: &[PathBuf],
        ended: Ended,
        paint: &Paint,
        python: &Path,
    ) -> Result<ExitCode, String> {
        let mut said = String::new();
        // Writing to a text does not fail.
        let _ = writeln!(said, "{}", paint.strong(&format!("tpu-emu: {}", ended.text())));
        let mut peak = 0;
        let mut failed = false;
        let mut summaries = Vec::new();
        for (place, file) in found.iter().enumerate() {
            let input = match Input::open(file) {
                Ok(input) => input,
                Err(why) => {
                    failed = true;
                    let _ = writeln!(said, "{}", paint.bad(&format!("tpu-emu: {why}")));
                    continue;
                }
            };
            let spaces = input.trace.spaces.iter().zip(&input.history.spaces);
            let devices = spaces.filter(|(space, _)| space.device.is_some());
            let most = devices.map(|(_, space)| space.in_use_after(Moment::Peak.changes(space)));
            peak = most.max().unwrap_or(0).max(peak);
            if self.json.is_some() {
                summaries.push(summary::of(&input, By::Line, JSON_ROWS));
            }
            match place {
                0 => {
                    for line in lines::lines(&input, paint) {
                        let _ = writeln!(said, "{line}");
                    }
                    if let Some(out) = &self.report {
                        failed |= !write_report(&input, out, &mut said, paint);
                    }
                }
                _ if place <= FURTHER => {
                    let _ = writeln!(said, "{}", lines::further(&input, &name(file)));
                }
                _ => {}
            }
        }
        if found.len() > FURTHER + 1 {
            let _ = writeln!(said, "and {} more processes", found.len() - FURTHER - 1);
        }
        if found.is_empty() {
            let why = nothing(self.kind, python);
            let _ = writeln!(said, "No process used the emulated TPU{why}.");
            if self.report.is_some() {
                let _ = writeln!(said, "So there is no report.");
            }
        } else if traces.are_kept() {
            let _ = writeln!(said, "trace       {}", name(&traces.file));
        }
        // Nobody is left to hear of a standard error that is closed.
        let _ = io::stderr().lock().write_all(said.as_bytes());
        if let Some(file) = &self.json {
            let (code, signal) = (ended.code(), ended.signal());
            let told =
                Told { code, signal, peak, limit: self.limit.map(|of| of.0), processes: summaries };
            write(file, json(&told).as_bytes())
                .map_err(|why| format!("{}: {why}", file.display()))?;
        }
        if failed {
            return Ok(ExitCode::from(1));
        }
        if let Some(Bytes(limit)) = self.limit.filter(|&Bytes(limit)| peak > limit) {
            let words = format!("the peak of {peak} bytes is over the limit of {limit}");
            let _ = writeln!(io::stderr(), "{}", paint.bad(&format!("tpu-emu: {words}")));
            if ended.code() == 0 {
                return Ok(ExitCode::from(OVER_BUDGET));
            }
        }
        Ok(ExitCode::from(ended.code()))
    }
}

/// What a program is told of a run.
#[derive(Debug, Serialize)]
struct Told {
    /// What the command ends with, where nothing of its own fails and no limit is exceeded.
    code: u8,
    /// The signal that ended the program.
    signal: Option<i32>,
    /// Bytes of the fullest device of any process, at its peak.
    peak: u64,
    limit: Option<u64>,
    /// Of each process that used the emulated TPU, that of the program first.
    processes: Vec<Summary>,
}

/// Writes the HTML report; whether it could.
fn write_report(input: &Input, out: &Path, said: &mut String, paint: &Paint) -> bool {
    let written = report::write(input, out, None);
    // Writing to a text does not fail.
    let _ = match &written {
        Ok(()) => writeln!(said, "report      {}", name(out)),
        Err(why) => writeln!(said, "{}", paint.bad(&format!("tpu-emu: {why}"))),
    };
    written.is_ok()
}

/// Whether a file can be written, or with `-` standard output.
fn can_be_made(file: &Path) -> io::Result<()> {
    match std::fs::metadata(file) {
        _ if file.as_os_str() == "-" => Ok(()),
        Ok(found) if found.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
        Ok(_) => File::options().write(true).open(file).map(drop),
        Err(_) => {
            let part = report::partial(file);
            File::create(&part)?;
            std::fs::remove_file(part)
        }
    }
}

/// Writes to a file, or with `-` to standard output.
fn write(file: &Path, bytes: &[u8]) -> io::Result<()> {
    match file.as_os_str() == "-" {
        true => io::stdout().lock().write_all(bytes),
        false => std::fs::write(file, bytes),
    }
}

/// What a script left that was run for its calls.
#[derive(Debug)]
pub(crate) struct Traced {
    pub(crate) input: Input,
    /// The code that it ended with.
    pub(crate) code: u8,
    /// The files, which go with this.
    pub(crate) _traces: Traces,
}

/// Runs a script of Python with its arguments, and records each of its calls.
///
/// # Errors
/// A sentence, where it cannot be run or did not use the emulated TPU.
pub(crate) fn traced(python: &Path, script: &[OsString]) -> Result<Traced, String> {
    let library = installed::library(python)?;
    let traces = Traces::begin(None).map_err(|why| format!("no place for the trace: {why}"))?;
    let mut command = Command::new(python);
    command.args(script).env("TPU_EMU_TRACE", &traces.file);
    // A library that does not know the variable refuses it.
    if installed::knows(&library, CALLS).map_err(|why| format!("{}: {why}", library.display()))? {
        command.env(CALLS, "each");
    }
    emulated(&mut command, &library);
    let ended = child::run(command).map_err(|why| format!("{}: {why}", python.display()))?;
    let found = traces.collect(ended.process).map_err(|why| why.to_string())?;
    let Some(first) = found.first() else {
        let why = nothing(words::Kind::Script, python);
        return Err(format!("{}: no process used the emulated TPU{why}", ended.text()));
    };
    let input = Input::open(first).map_err(|why| why.to_string())?;
    Ok(Traced { input, code: ended.code(), _traces: traces })
}

/// Points a program at the emulated TPU.
pub(crate) fn emulated(command: &mut Command, library: &Path) {
    command.env("TPU_LIBRARY_PATH", library).env("JAX_PLATFORMS", installed::platforms());
}

/// Why a program may not have used the emulated TPU; empty where nothing is wrong to be seen.
fn nothing(kind: words::Kind, python: &Path) -> String {
    if kind == words::Kind::Command {
        return ": it ran nothing on JAX, or took another platform".to_owned();
    }
    let program = "from importlib.metadata import version; print(version('jax'), end='')";
    let mut asked = Command::new(python);
    asked.args(["-c", program]).stdin(Stdio::null()).stderr(Stdio::null());
    let python = python.display();
    match asked.output() {
        Ok(done) if done.status.success() => {
            let version = String::from_utf8_lossy(&done.stdout).into_owned();
            match crate::doctor::is_too_old(&version) {
                true => format!(
                    ": jax {version} of {python} is too old for it, 0.4.38 and later are tested"
                ),
                false => ": it ran nothing on JAX, or took another platform".to_owned(),
            }
        }
        Ok(_) => format!(": {python} has no JAX (`{python} -m pip install jax` brings it)"),
        Err(why) => format!(": {python}: {why}"),
    }
}

/// A file as people see it.
fn name(file: &Path) -> String {
    let here = std::env::current_dir().unwrap_or_default();
    file.strip_prefix(here).unwrap_or(file).display().to_string()
}
