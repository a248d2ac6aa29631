//! The command `tpu-emu`: who held an emulated TPU's memory, and when.
use clap::error::ErrorKind;
use clap::{Args, CommandFactory, Parser, Subcommand};
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;
use tpu_trace::{By, Face, MomentName};

mod autopsy;
mod diff;
mod doctor;
mod environment;
mod export;
mod fit;
#[cfg(versions_of_glibc)]
#[path = "../../../pjrt-plugin/glibc/src/jumps.rs"]
mod glibc;
mod guidebook;
mod holes;
mod input;
mod installed;
mod leaks;
mod lifetimes;
mod padding;
mod paint;
mod plans;
mod progress;
mod report;
mod run;
mod spaces;
mod summary;
mod text;
mod timeline;
mod top;
mod topologies;
mod tpu_info;
mod tree;
mod walkthrough;

use input::InputError;
use paint::Paint;
use tpu_base::units::Bytes;
use tpu_topology::hbm_size;

/// The exit code of a budget that is exceeded.
const OVER_BUDGET: u8 = 3;

#[derive(Debug, Parser)]
#[command(name = "tpu-emu", version, about, max_term_width = 100)]
struct Command {
    #[command(subcommand)]
    kind: Kind,
}

#[derive(Debug, Subcommand)]
enum Kind {
    Run(run::Run),
    /// Peak, origins, what is held at the end, padding and temporaries of each memory space.
    Summary {
        /// A trace that TPU_EMU_TRACE=FILE wrote.
        file: PathBuf,
        /// Ends with code 3 where a device held more than this at its peak, as 2GiB.
        #[arg(long, value_name = "SIZE", value_parser = hbm_size)]
        limit: Option<Bytes>,
        #[command(flatten)]
        view: View,
    },
    /// The calls that took what lives at a moment, as a tree.
    Tree {
        /// A trace that TPU_EMU_TRACE=FILE wrote.
        file: PathBuf,
        /// peak, end, last, a mark, refusal, or a time since the start such as 12.5s.
        #[arg(long, default_value = "peak")]
        at: MomentName,
        /// python (without JAX's own), mixed (without the interpreter's native ones) or full.
        #[arg(long, default_value = "python")]
        frames: Face,
        /// Leaves out branches with less than so many hundredths of all.
        #[arg(long, default_value_t = 1.0, value_name = "PERCENT", value_parser = tree::least_share)]
        least: f64,
        /// Prints the tree as JSON, for programs.
        #[arg(long)]
        json: bool,
    },
    /// What was taken after a moment and still lives at a later one.
    Leaks {
        /// A trace that TPU_EMU_TRACE=FILE wrote.
        file: PathBuf,
        /// What was taken before is no leak: end, last, a mark, or a time since the start such as 12.5s.
        #[arg(long, default_value = "0s")]
        from: MomentName,
        /// When a leak still lives.
        #[arg(long, default_value = "end")]
        to: MomentName,
        #[command(flatten)]
        view: View,
    },
    Padding(padding::Padding),
    Plans(plans::Plans),
    Holes(holes::Holes),
    Timeline(timeline::Timeline),
    /// How long the blocks of each origin lived, those that took most bytes first.
    Lifetimes {
        /// A trace that TPU_EMU_TRACE=FILE wrote.
        file: PathBuf,
        #[command(flatten)]
        view: View,
    },
    /// What a trace has as a file for another program, on standard output.
    Export(export::Export),
    /// One HTML file with all of a trace, which a browser opens from the disk.
    Report {
        /// A trace that TPU_EMU_TRACE=FILE wrote.
        file: PathBuf,
        /// Where it goes; `-` is standard output. Without it, the trace's name with .html.
        #[arg(short, long, value_name = "FILE.html")]
        output: Option<PathBuf>,
        /// What it shows first: peak, end, last, a mark, refusal, or a time such as 12.5s.
        #[arg(long)]
        at: Option<MomentName>,
    },
    /// What a trace holds more or less than another.
    Diff {
        /// The trace that is compared with.
        before: PathBuf,
        /// The trace that is compared.
        after: PathBuf,
        /// peak, end, last, a mark, or a time since the start such as 12.5s; of both.
        #[arg(long, default_value = "peak")]
        at: MomentName,
        #[command(flatten)]
        view: View,
    },
    Top(top::Top),
    Walkthrough(walkthrough::Walkthrough),
    Guidebook(guidebook::Guidebook),
    Autopsy(autopsy::Autopsy),
    Fit(fit::Fit),
    Topologies(topologies::Topologies),
    TpuInfo(tpu_info::TpuInfo),
    Doctor(doctor::Doctor),
    /// Loads a libtpu and answers the library's questions on standard input.
    #[command(hide = true, name = tpu_aot::COMMAND)]
    AskLibtpu {
        /// The file of the libtpu.
        file: PathBuf,
    },
}

/// What of it is shown, and how.
#[derive(Debug, Args)]
struct View {
    /// line, function, executable, label, array, stack, entry or space.
    #[arg(long, default_value = "line")]
    by: By,
    /// How many lines each table has.
    #[arg(long, default_value_t = 5, value_name = "LINES")]
    top: usize,
    /// Prints the tables as JSON, for programs.
    #[arg(long)]
    json: bool,
}

fn main() -> ExitCode {
    let Command { kind } = Command::parse_from(run::words::sorted(std::env::args_os().collect()));
    let printed = match kind {
        Kind::Run(run) => return run.run().unwrap_or_else(|why| failed(&why)),
        Kind::AskLibtpu { file } => {
            return match tpu_aot::serve(&file) {
                Ok(()) => ExitCode::SUCCESS,
                Err(why) => failed(&why.to_string()),
            };
        }
        Kind::Doctor(doctor) => {
            return painted(|paint| {
                let (text, is_well) = doctor.look(paint);
                (text, if is_well { ExitCode::SUCCESS } else { ExitCode::from(1) })
            });
        }
        Kind::Top(asked) => {
            return match asked.show() {
                Ok(text) => print(text.as_bytes()),
                Err(why) => failed(&why),
            };
        }
        Kind::Walkthrough(asked) => {
            return match Paint::of(&io::stdout()).and_then(|paint| asked.walk(&paint)) {
                Ok((text, code)) => ending(print(text.as_bytes()), code),
                Err(why) => failed(&why),
            };
        }
        Kind::Guidebook(asked) => {
            return match asked.write() {
                Ok(text) => print(&text),
                Err(why) => failed(&why.to_string()),
            };
        }
        Kind::Fit(asked) => {
            return match asked.answer() {
                Ok((text, true)) => print(text.as_bytes()),
                Ok((text, false)) => ending(print(text.as_bytes()), OVER_BUDGET),
                Err(why) => refused(&why),
            };
        }
        Kind::TpuInfo(asked) => {
            return match Paint::of(&io::stdout()).and_then(|paint| asked.show(&paint)) {
                Ok(text) => print(text.as_bytes()),
                Err(why) => failed(&why),
            };
        }
        Kind::Topologies(asked) => {
            return painted(|paint| (asked.text(paint), ExitCode::SUCCESS));
        }
        Kind::Autopsy(asked) => asked.answer().map(String::into_bytes),
        Kind::Summary { file, limit, view } => {
            return match summary::summary(&file, &view, limit) {
                Ok((text, is_within)) => {
                    ending(print(text.as_bytes()), if is_within { 0 } else { OVER_BUDGET })
                }
                Err(why) => refused(&why),
            };
        }
        Kind::Padding(asked) => asked.answer().map(String::into_bytes),
        Kind::Plans(asked) => asked.answer().map(String::into_bytes),
        Kind::Holes(asked) => asked.answer().map(String::into_bytes),
        Kind::Timeline(asked) => asked.answer().map(String::into_bytes),
        Kind::Lifetimes { file, view } => {
            lifetimes::lifetimes(&file, &view).map(String::into_bytes)
        }
        Kind::Tree { file, at, frames, least, json } => {
            tree::tree(&file, &at, frames, least, json).map(String::into_bytes)
        }
        Kind::Leaks { file, from, to, view } => {
            leaks::leaks(&file, &from, &to, &view).map(String::into_bytes)
        }
        Kind::Export(asked) if asked.conflict().is_some() => {
            let why = asked.conflict().unwrap_or_default();
            Command::command().error(ErrorKind::ArgumentConflict, why).exit()
        }
        Kind::Export(asked) => export::export(&asked).map(|(bytes, said)| {
            // What is lacking is said beside the file, which has no place for it.
            let _ = said.iter().try_for_each(|why| writeln!(io::stderr(), "Careful: {why}."));
            bytes
        }),
        Kind::Report { file, output, at } => report::report(&file, output.as_deref(), at.as_ref()),
        Kind::Diff { before, after, at, view } => {
            diff::diff(&before, &after, &at, &view).map(String::into_bytes)
        }
    };
    match printed {
        Ok(bytes) => print(&bytes),
        Err(why) => refused(&why),
    }
}

/// Says why a file cannot be read, or lacks what is asked for.
fn refused(why: &InputError) -> ExitCode {
    let _ = failed(&why.to_string());
    ExitCode::from(why.exit_code())
}

/// Says why a command ends early.
fn failed(why: &str) -> ExitCode {
    // Nobody is left to hear of a standard error that is closed.
    let _ = writeln!(io::stderr(), "tpu-emu: {}", text::one_line(why));
    ExitCode::from(1)
}

/// Prints a text for a person, and ends with its code.
fn painted(text: impl FnOnce(&Paint) -> (String, ExitCode)) -> ExitCode {
    match Paint::of(&io::stdout()) {
        Err(why) => failed(&why),
        Ok(paint) => {
            let (text, code) = text(&paint);
            let printed = print(text.as_bytes());
            if printed == ExitCode::SUCCESS { code } else { printed }
        }
    }
}

/// The code of what was shown, unless it could not be.
fn ending(printed: ExitCode, code: u8) -> ExitCode {
    if printed == ExitCode::SUCCESS { ExitCode::from(code) } else { printed }
}

/// Writes to standard output. Who closes it has seen enough.
fn print(bytes: &[u8]) -> ExitCode {
    let mut out = io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Err(why) if why.kind() != io::ErrorKind::BrokenPipe => {
            let _ = writeln!(io::stderr(), "tpu-emu: standard output: {why}");
            ExitCode::from(1)
        }
        _ => ExitCode::SUCCESS,
    }
}
