//! Hears that a process of this machine has ended.
//!
//! The system closes the connections of a process that ends, unless a child that it forked has
//! them too. So the end of the process itself is watched as well.
// UNSAFETY: system calls, and a file descriptor that one of them gives.
#![expect(unsafe_code, reason = "system calls that the standard library does not have")]
use std::fs;
use std::io;
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd, RawFd};
use std::thread;

/// This process, as others of its machine find it: its number, and what the number counts in.
pub(crate) fn identity() -> String {
    format!("{} {}", std::process::id(), numbering())
}

/// What the numbers of processes count in: containers have a count of their own. Empty where the
/// system does not say.
fn numbering() -> String {
    let link = fs::read_link("/proc/self/ns/pid").unwrap_or_default();
    link.to_string_lossy().into_owned()
}

/// A process whose end is heard of.
#[derive(Debug)]
pub(crate) struct Watched {
    /// The process's number in the slice.
    process: usize,
    /// Readable once the process has ended.
    end: OwnedFd,
}

impl Watched {
    /// The process with an [`identity`]; `None` where its end cannot be heard of: it counts
    /// otherwise, or the system is older than Linux 5.3.
    pub(crate) fn new(process: usize, identity: &str) -> Option<Self> {
        let (number, counted) = identity.split_once(' ')?;
        if counted.is_empty() || counted != numbering() {
            return None;
        }
        let number: libc::pid_t = number.parse().ok()?;
        // SAFETY: the call takes two numbers.
        let opened = unsafe { libc::syscall(libc::SYS_pidfd_open, number, 0) };
        let opened = RawFd::try_from(opened).ok().filter(|&opened| opened >= 0)?;
        // SAFETY: the call gave it to nobody else.
        let end = unsafe { OwnedFd::from_raw_fd(opened) };
        Some(Self { process, end })
    }
}

/// Starts a thread that tells the number of each process that has ended. It ends with the last.
///
/// # Errors
/// Where the system gives no thread.
pub(crate) fn watch(
    mut all: Vec<Watched>,
    tell: impl Fn(usize) + Send + 'static,
) -> io::Result<()> {
    if all.is_empty() {
        return Ok(());
    }
    let listen = move || {
        while !all.is_empty() {
            let ended = match wait(&all) {
                Ok(ended) => ended,
                Err(why) => return tracing::warn!(%why, "ends of processes are not heard of"),
            };
            let mut ended = ended.into_iter();
            all.retain(|one| {
                let over = ended.next();
                if over == Some(Heard::Ended) {
                    tell(one.process);
                }
                over == Some(Heard::Nothing)
            });
        }
    };
    thread::Builder::new().name("tpu-emu-ends".to_owned()).spawn(listen).map(drop)
}

/// What was heard of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Heard {
    Nothing,
    Ended,
    /// Somebody has closed what told of it.
    NoMore,
}

/// Waits until something is heard of one.
fn wait(all: &[Watched]) -> io::Result<Vec<Heard>> {
    let asked =
        |one: &Watched| libc::pollfd { fd: one.end.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    let mut polled: Vec<libc::pollfd> = all.iter().map(asked).collect();
    let count = libc::nfds_t::try_from(polled.len()).unwrap_or(libc::nfds_t::MAX);
    // SAFETY: there are so many of them, which the call reads and writes.
    let found = unsafe { libc::poll(polled.as_mut_ptr(), count, -1) };
    if found < 0 {
        let why = io::Error::last_os_error();
        if why.kind() != io::ErrorKind::Interrupted {
            return Err(why);
        }
        return Ok(vec![Heard::Nothing; all.len()]);
    }
    let heard = |one: &libc::pollfd| match one.revents {
        0 => Heard::Nothing,
        told if told & libc::POLLIN != 0 => Heard::Ended,
        _ => Heard::NoMore,
    };
    Ok(polled.iter().map(heard).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};
    use std::sync::mpsc;

    #[test]
    fn the_end_of_a_process_is_told_though_nobody_has_asked_for_its_outcome() {
        let start = || Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        let mut children = [start(), start()];
        let watched = children.iter().enumerate().map(|(number, child)| {
            Watched::new(number, &format!("{} {}", child.id(), numbering())).unwrap()
        });
        let (give, take) = mpsc::channel();
        watch(watched.collect(), move |process| give.send(process).unwrap()).unwrap();
        for process in [1, 0] {
            children[process].kill().unwrap();
            assert_eq!(take.recv().unwrap(), process);
        }
        assert!(take.recv().is_err(), "the thread has ended");
        assert!(children.iter_mut().all(|child| !child.wait().unwrap().success()));
    }

    #[test]
    fn processes_that_count_otherwise_or_are_none_are_not_watched() {
        let me = identity();
        assert!(Watched::new(0, &me).is_some());
        for other in ["", "1", "1 ", "x pid:[1]", &format!("{me}0"), &format!("-{me}")] {
            assert!(Watched::new(0, other).is_none(), "{other}");
        }
    }
}
