//! How far a long piece of work is, on terminals.
use std::io::{self, IsTerminal as _, Read, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Work that is shorter says nothing.
const PATIENCE: Duration = Duration::from_secs(1);
/// How often it is said.
const STEP: Duration = Duration::from_millis(200);

/// A line on standard error that says how much of an input was read, from the first second on. It
/// goes when the work is done. Where standard error is no terminal there is none.
#[derive(Debug)]
pub(crate) struct Progress {
    read: Arc<AtomicU64>,
    line: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Progress {
    /// Begins to count the bytes of an input of a length.
    pub(crate) fn of(name: &str, length: u64) -> Self {
        let read = Arc::new(AtomicU64::new(0));
        let line = io::stderr().is_terminal().then(|| {
            let (sender, receiver) = channel();
            let (name, counted) = (name.to_owned(), Arc::clone(&read));
            let thread = thread::spawn(move || {
                let mut wait = PATIENCE;
                while receiver.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
                    let words = words(&name, counted.load(Ordering::Relaxed), length);
                    // What cannot be shown is not missed.
                    let _ = write!(io::stderr().lock(), "\r\x1b[K{words}");
                    wait = STEP;
                }
                if wait == STEP {
                    let _ = write!(io::stderr().lock(), "\r\x1b[K");
                }
            });
            (sender, thread)
        });
        Self { read, line }
    }

    /// The input, its bytes counted as they are read.
    pub(crate) fn counting<R: Read>(&self, input: R) -> Counting<R> {
        Counting { input, read: Arc::clone(&self.read) }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some((sender, thread)) = self.line.take() {
            drop(sender);
            // It has nothing to say any more.
            let _ = thread.join();
        }
    }
}

/// An input whose bytes are counted.
#[derive(Debug)]
pub(crate) struct Counting<R> {
    input: R,
    read: Arc<AtomicU64>,
}

impl<R: Read> Read for Counting<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.input.read(into)?;
        self.read.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

fn words(name: &str, read: u64, length: u64) -> String {
    let name = crate::text::one_line(name);
    match u128::from(read) * 100 / u128::from(length.max(1)) {
        // A pipe has no length; what was read is then worked on.
        hundredths @ 0..100 => format!("{name}: {hundredths} % read"),
        _ => format!("{name}: read, summing up"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_counted_as_they_are_read() {
        let progress = Progress::of("x", 10);
        let mut all = Vec::new();
        progress.counting(&b"0123456789"[..]).read_to_end(&mut all).unwrap();
        assert_eq!((all.len(), progress.read.load(Ordering::Relaxed)), (10, 10));
        assert_eq!(words("a\nb", 5, 10), "a b: 50 % read");
        assert_eq!(words("a", 10, 10), "a: read, summing up");
    }
}
