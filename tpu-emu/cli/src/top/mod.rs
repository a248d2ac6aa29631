//! What lives now in the memories of a process that runs.
use crate::environment;
use crate::text::json;
use clap::Args;
use ratatui::Terminal;
use ratatui::backend::TermionBackend;
use ratatui::termion::event::Key;
use ratatui::termion::input::TermRead as _;
use ratatui::termion::raw::IntoRawMode as _;
use ratatui::termion::screen::IntoAlternateScreen as _;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, IsTerminal as _};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;
use tpu_trace::{By, Follower};

mod find;
mod screen;
mod state;

use find::Found;
use screen::Picture;
use state::State;

/// Rows of a frame that is printed, and its width where no terminal has one.
const ROWS: usize = 20;
const WIDTH: u16 = 120;

/// What lives now, by who holds it: of a process, of a file that is written, or of the only process
/// that writes a trace. Keys: `b` sums up by something else, `q` ends.
#[derive(Debug, Args)]
pub(crate) struct Top {
    /// A process, or a trace.
    #[arg(value_name = "PID | FILE")]
    of: Option<OsString>,
    /// Prints one frame as plain text, as it does where standard output is no terminal.
    #[arg(long)]
    once: bool,
    /// line, function, executable, label, array, stack, entry or space.
    #[arg(long, default_value = "line")]
    by: By,
    /// Prints one frame as JSON, for programs.
    #[arg(long)]
    json: bool,
    /// Seconds between frames.
    #[arg(long, default_value = "1", value_name = "SECONDS", value_parser = interval)]
    every: Duration,
}

/// A time between frames.
fn interval(text: &str) -> Result<Duration, String> {
    let seconds = text.parse::<f64>().ok().filter(|seconds| (0.05..=86_400.0).contains(seconds));
    seconds.map(Duration::from_secs_f64).ok_or_else(|| "seconds from 0.05 to 86400".to_owned())
}

/// A trace that is followed.
struct Watched {
    found: Found,
    follower: Follower<File>,
    state: State,
}

impl Watched {
    fn open(found: Found) -> Result<Self, String> {
        let file = File::open(&found.file).map_err(|why| format!("{}: {why}", found.name))?;
        if file.metadata().is_ok_and(|of| of.is_dir()) {
            return Err(format!("{}: a folder", found.name));
        }
        Ok(Self { found, follower: Follower::new(file), state: State::default() })
    }

    /// What there is to see now; `None` as long as the trace has not begun.
    fn look(&mut self, by: By, rows: usize) -> Result<Option<Picture>, String> {
        // A program that begins anew empties its file.
        let length = fs::metadata(&self.found.file).map_or(u64::MAX, |of| of.len());
        if length < self.follower.position() {
            let file = File::open(&self.found.file);
            let file = file.map_err(|why| format!("{}: {why}", self.found.name))?;
            (self.follower, self.state) = (Follower::new(file), State::default());
        }
        let trace = self.follower.more().map_err(|why| format!("{}: {why}", self.found.name))?;
        let Some(trace) = trace else { return Ok(None) };
        self.state.follow(trace);
        let process = self.found.process.map_or(trace.header.process, u64::from);
        let is_known = self.found.process.is_some();
        let is_there = || fs::exists(format!("/proc/{process}")).unwrap_or(false);
        let mut held = self.state.holders(trace, by);
        held.truncate(rows);
        Ok(Some(Picture {
            name: self.found.name.clone(),
            process,
            topology: trace.header.topology.clone(),
            time: self.state.time,
            changes: self.state.changes,
            refusals: self.state.refusals,
            is_running: is_known.then(is_there),
            by: name(by),
            spaces: self.state.shown(trace),
            rows: held,
        }))
    }
}

impl Top {
    /// Shows frames until a key ends it, or prints one.
    ///
    /// # Errors
    /// A sentence, where there is nothing to follow.
    pub(crate) fn show(&self) -> Result<String, String> {
        let mut watched = Watched::open(find::trace(self.of.as_deref())?)?;
        if self.once || self.json || !io::stdout().is_terminal() {
            let width = ratatui::termion::terminal_size().map_or(WIDTH, |(width, _)| width);
            let picture = watched.look(self.by, ROWS)?;
            let picture = picture
                .ok_or_else(|| format!("{}: the trace has not begun yet", watched.found.name))?;
            return match self.json {
                true => Ok(json(&picture)),
                false => screen::plain(&picture, width),
            };
        }
        self.live(&mut watched).map(|()| String::new())
    }

    fn live(&self, watched: &mut Watched) -> Result<(), String> {
        let failed = |why: io::Error| format!("standard output: {why}");
        let screen = io::stdout().into_raw_mode().map_err(failed)?;
        let screen = screen.into_alternate_screen().map_err(failed)?;
        let mut terminal = Terminal::new(TermionBackend::new(screen)).map_err(failed)?;
        let is_coloured = environment::variable("NO_COLOR").is_none();
        let keys = keys();
        let mut by = self.by;
        loop {
            let rows = terminal.size().map_err(failed)?.height.into();
            if let Some(picture) = watched.look(by, rows)? {
                terminal
                    .draw(|frame| screen::draw(&picture, is_coloured, frame))
                    .map_err(failed)?;
            }
            match keys.recv_timeout(self.every) {
                Ok(Key::Char('q') | Key::Ctrl('c') | Key::Esc)
                | Err(RecvTimeoutError::Disconnected) => return Ok(()),
                Ok(Key::Char('b')) => by = following(by),
                Ok(_) | Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }
}

/// The keys that are pressed.
fn keys() -> Receiver<Key> {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        for key in io::stdin().keys().map_while(Result::ok) {
            if sender.send(key).is_err() {
                break;
            }
        }
    });
    receiver
}

fn name(by: By) -> &'static str {
    By::ALL.iter().find(|(_, other)| *other == by).map_or("", |(name, _)| name)
}

/// What comes after a way to sum up.
fn following(by: By) -> By {
    let at = By::ALL.iter().position(|(_, other)| *other == by).unwrap_or(0);
    By::ALL[(at + 1) % By::ALL.len()].1
}
