//! The child process that has the library, as its parent sees it.
use crate::serve::{READY, receive, send};
use crate::wire::{Answer, Request};
use crate::{Result, environment};
use parking_lot::Mutex;
use std::ffi::OsString;
use std::io::Read;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Child as Process, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

/// The command's word for [`crate::serve`].
pub const COMMAND: &str = "ask-libtpu";

/// How much of what the child prints is kept.
const KEPT: usize = 4096;

/// A process that has loaded the library.
#[derive(Debug)]
pub(crate) struct Child {
    process: Process,
    input: Option<ChildStdin>,
    messages: Receiver<Vec<u8>>,
    /// The last of what it has printed.
    printed: Arc<Mutex<Vec<u8>>>,
    /// Ends when all of that is there.
    prints: Receiver<()>,
}

/// Why there is no answer, as sentences.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Silence {
    /// The library cannot be used at all.
    Useless(String),
    /// This program got no answer; another may.
    Unanswered(String),
}

/// How long what an ended child has printed is waited for.
const LAST_PRINTS: Duration = Duration::from_secs(1);

impl Child {
    /// Starts a child and waits until it has loaded the library.
    pub(crate) fn start(command: &Path, library: &Path, limit: Duration) -> Result<Self, Silence> {
        let mut child = Self::spawn(command, library).map_err(|why| {
            Silence::Useless(format!("{} cannot be started: {why}", command.display()))
        })?;
        match child.message(limit) {
            Ok(message) if message == READY.as_bytes() => Ok(child),
            Ok(message) => {
                let words = String::from_utf8_lossy(&message).into_owned();
                let words = words.strip_prefix("no: ").map(str::to_owned);
                Err(Silence::Useless(words.unwrap_or_else(|| {
                    format!("{} is of another version than this library", command.display())
                })))
            }
            Err(why) => Err(Silence::Useless(format!("while it was loaded, {why}"))),
        }
    }

    fn spawn(command: &Path, library: &Path) -> std::io::Result<Self> {
        let mut asked = Command::new(command);
        asked.arg(COMMAND).arg(library);
        asked.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        for (name, _) in std::env::vars_os().filter(|(name, _)| is_of_a_host(name)) {
            asked.env_remove(name);
        }
        // It looks for no metadata server, leaves no logs, and lets others load it.
        asked.env("TPU_SKIP_MDS_QUERY", "1").env("ALLOW_MULTIPLE_LIBTPU_LOAD", "1");
        asked.env("TPU_LOG_DIR", "disabled").env("TPU_MIN_LOG_LEVEL", "2");
        let mut process = asked.spawn()?;
        let (input, output, errors) =
            (process.stdin.take(), process.stdout.take(), process.stderr.take());
        let (sender, messages) = channel();
        if let Some(mut output) = output {
            thread::Builder::new().name("tpu-emu libtpu".to_owned()).spawn(move || {
                while let Ok(Some(message)) = receive(&mut output) {
                    if sender.send(message).is_err() {
                        break;
                    }
                }
            })?;
        }
        let printed = Arc::new(Mutex::new(Vec::new()));
        let (still_prints, prints) = channel();
        if let Some(errors) = errors {
            let kept = Arc::clone(&printed);
            thread::Builder::new().name("tpu-emu libtpu".to_owned()).spawn(move || {
                keep_last(errors, &kept);
                drop(still_prints);
            })?;
        }
        Ok(Self { process, input, messages, printed, prints })
    }

    /// What the library makes of a program.
    pub(crate) fn ask(&mut self, asked: &Request, limit: Duration) -> Result<Answer, Silence> {
        // A child that has ended says so by closing its output.
        let _ = self.input.as_mut().map(|input| send(input, &asked.write()));
        let message = self.message(limit).map_err(Silence::Unanswered)?;
        let unreadable = || Silence::Unanswered("it gave an answer that cannot be read".to_owned());
        Answer::read(&message).ok_or_else(unreadable)
    }

    fn message(&mut self, limit: Duration) -> Result<Vec<u8>> {
        match self.messages.recv_timeout(limit) {
            Ok(message) => Ok(message),
            Err(RecvTimeoutError::Timeout) => {
                let _ = self.process.kill();
                Err(format!("it said nothing for {} seconds and was ended", limit.as_secs()))
            }
            Err(RecvTimeoutError::Disconnected) => Err(self.last_words()),
        }
    }

    /// How it ended, and the last that it printed.
    fn last_words(&mut self) -> String {
        self.input = None;
        let status = self.end();
        // What it has started may print on.
        let _ = self.prints.recv_timeout(LAST_PRINTS);
        let how = match status {
            Some(status) => match (status.code(), status.signal()) {
                (Some(code), _) => format!("its process ended with code {code}"),
                (None, Some(signal)) => format!("its process was ended by signal {signal}"),
                (None, None) => "its process ended".to_owned(),
            },
            None => "its process ended".to_owned(),
        };
        let printed = String::from_utf8_lossy(&self.printed.lock()).into_owned();
        match telling_line(&printed) {
            Some(line) => format!("{how}: {line}"),
            None => how,
        }
    }

    /// How it ended. One that has closed its output and lives on is ended; what has ended already
    /// keeps its own end.
    fn end(&mut self) -> Option<ExitStatus> {
        let _ = self.process.kill();
        self.process.wait().ok()
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Whether a variable tells a libtpu of a host that is not here.
fn is_of_a_host(name: &OsString) -> bool {
    let name = name.to_string_lossy();
    let is_of_tpu = name.starts_with("TPU_") && !name.starts_with("TPU_EMU_");
    is_of_tpu || name.starts_with("MEGASCALE_") || name == "CLOUD_TPU_TASK_ID"
}

/// What the library reads of the environment, beside what is taken away from it.
pub(crate) fn told() -> Vec<(OsString, OsString)> {
    let read = ["LIBTPU_INIT_ARGS", "XLA_FLAGS"];
    read.iter().filter_map(|name| Some((name.into(), environment::variable(name)?))).collect()
}

fn keep_last(mut errors: impl Read, kept: &Mutex<Vec<u8>>) {
    let mut buffer = [0; 1024];
    while let Ok(count) = errors.read(&mut buffer) {
        if count == 0 {
            break;
        }
        let mut kept = kept.lock();
        kept.extend_from_slice(&buffer[..count]);
        let over = kept.len().saturating_sub(KEPT);
        kept.drain(..over);
    }
}

/// The line of what was printed that says most: that of a failed check or an error, else the last.
fn telling_line(printed: &str) -> Option<&str> {
    let lines = || printed.lines().map(str::trim).filter(|line| !line.is_empty());
    let fatal = lines().find(|line| line.starts_with('F') && line.contains("] "));
    let failed = || lines().find(|line| line.contains("Check failed") || line.contains("error:"));
    fatal.or_else(failed).or_else(|| lines().next_back())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_what_was_printed_the_line_of_the_failure_is_told() {
        let text = "I0101 start\nF0101 12:00:00 x.cc:1] Check failed: a == b\n*** stack\n  @ 0x1\n";
        assert_eq!(telling_line(text), Some("F0101 12:00:00 x.cc:1] Check failed: a == b"));
        assert_eq!(telling_line("one\ntwo\n\n"), Some("two"));
        assert_eq!(telling_line(""), None);
    }

    #[test]
    fn variables_of_a_host_are_kept_from_the_child() {
        let is_kept = |name: &str| !is_of_a_host(&name.into());
        let kept = ["PATH", "TPU_EMU_TOPOLOGY", "LIBTPU_INIT_ARGS", "XLA_FLAGS"];
        assert!(kept.into_iter().all(is_kept));
        let taken = ["TPU_VISIBLE_CHIPS", "TPU_LIBRARY_PATH", "CLOUD_TPU_TASK_ID", "TPU_NAME"];
        assert!(!taken.into_iter().any(is_kept));
    }

    #[test]
    fn of_much_that_is_printed_the_last_is_kept() {
        let kept = Mutex::default();
        keep_last(&vec![b'a'; 10_000][..], &kept);
        keep_last(&b"end"[..], &kept);
        assert_eq!(kept.lock().len(), KEPT);
        assert!(kept.lock().ends_with(b"aend"));
    }

    #[test]
    fn a_command_that_is_none_is_useless() {
        let second = Duration::from_secs(5);
        let start = |command: &str| Child::start(Path::new(command), Path::new("x.so"), second);
        let Err(Silence::Useless(text)) = start("/nowhere/tpu-emu") else { panic!() };
        assert!(text.starts_with("/nowhere/tpu-emu cannot be started"), "{text}");
        let Err(Silence::Useless(text)) = start("/bin/false") else { panic!() };
        assert_eq!(text, "while it was loaded, its process ended with code 1");
    }
}
