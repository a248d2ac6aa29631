//! The program that is run: it gets what the terminal and others signal, and its end is handed on.
use rustix::process::{Pid, Signal, getpgrp, kill_process};
use rustix::termios::tcgetpgrp;
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::Signals;
use std::fs;
use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// A program that has ended.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ended {
    /// Of the process that was started.
    pub(crate) process: u32,
    status: ExitStatus,
}

impl Ended {
    /// What is handed on: the program's own code, or 128 and the signal that ended it, as shells do.
    pub(crate) fn code(self) -> u8 {
        let signal = self.status.signal().map(|signal| 128 + signal);
        let code = self.status.code().or(signal).unwrap_or(1);
        u8::try_from(code).unwrap_or(1)
    }

    /// The number of the signal that ended it.
    pub(crate) fn signal(self) -> Option<i32> {
        self.status.signal()
    }

    /// How it ended, in words.
    pub(crate) fn text(self) -> String {
        match self.status.signal() {
            Some(signal) => {
                let name = signal_hook::low_level::signal_name(signal);
                name.map_or_else(
                    || format!("ended by signal {signal}"),
                    |name| format!("ended by signal {signal} ({name})"),
                )
            }
            None => format!("exit code {}", self.code()),
        }
    }
}

/// Runs a program to its end. Signals that would end this process are the program's meanwhile.
pub(crate) fn run(mut command: Command) -> io::Result<Ended> {
    // What is ignored stays so, for the program too: nohup says it that way.
    let ignored = ignored_signals();
    let heard = [SIGINT, SIGQUIT, SIGTERM, SIGHUP];
    let mut signals = Signals::new(heard.iter().filter(|&&of| ignored & (1 << (of - 1)) == 0))?;
    let mut child = command.spawn()?;
    let process = child.id();
    let has_ended = Arc::new(AtomicBool::new(false));
    let ended = Arc::clone(&has_ended);
    thread::spawn(move || {
        for signal in signals.forever() {
            if ended.load(Ordering::SeqCst) {
                // What follows the program's end is ours, and may be interrupted.
                let _ = signal_hook::low_level::emulate_default_handler(signal);
            } else {
                hand_on(signal, process);
            }
        }
    });
    let status = child.wait();
    has_ended.store(true, Ordering::SeqCst);
    Ok(Ended { process, status: status? })
}

/// Sends a signal on to the program, but for what a terminal has sent to both.
fn hand_on(signal: i32, process: u32) {
    let is_of_terminal = signal != SIGTERM
        && fs::File::open("/dev/tty").is_ok_and(|terminal| {
            tcgetpgrp(&terminal).is_ok_and(|foreground| foreground == getpgrp())
        });
    let process = i32::try_from(process).ok().and_then(Pid::from_raw);
    let signal = Signal::from_named_raw(signal);
    if let (false, Some(process), Some(signal)) = (is_of_terminal, process, signal) {
        // It may have ended meanwhile.
        let _ = kill_process(process, signal);
    }
}

/// The signals that this process was told to ignore, a bit each from signal 1 on.
fn ignored_signals() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}
