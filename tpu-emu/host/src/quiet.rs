//! Writing whose failure is an error and never a signal: a library does not own its process's
//! signals, and a reader that goes away (`SIGPIPE`) or a limit on the size of files (`SIGXFSZ`)
//! ends a process that has not asked for anything else.
// UNSAFETY: masks and takes signals of the calling thread, and waits for a file.
#![expect(unsafe_code, reason = "pthread_sigmask, sigtimedwait and poll")]
use libc::{c_int, sigset_t};
use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, RawFd};
use std::ptr;

/// The signals that writing raises, on the thread that writes.
const RAISED: [c_int; 2] = [libc::SIGPIPE, libc::SIGXFSZ];

/// Runs something that writes; what would have been a signal is its error alone.
pub(crate) fn quietly<R>(write: impl FnOnce() -> io::Result<R>) -> io::Result<R> {
    let mut old = MaybeUninit::<sigset_t>::uninit();
    // SAFETY: both sets are this function's.
    let masked = unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &of(&RAISED), old.as_mut_ptr()) };
    let done = write();
    if masked != 0 {
        return done;
    }
    // SAFETY: filled above, as there was no error.
    let old = unsafe { old.assume_init() };
    if done.is_err() {
        // One that was blocked before may be somebody's who waits for it.
        let ours = RAISED.iter().filter(|&&signal| {
            // SAFETY: the set is a valid one.
            unsafe { libc::sigismember(&raw const old, signal) == 0 }
        });
        let ours: Vec<c_int> = ours.copied().collect();
        let (set, now) = (of(&ours), libc::timespec { tv_sec: 0, tv_nsec: 0 });
        // SAFETY: the set and the time are this function's; what it was is not asked for.
        let take =
            || unsafe { libc::sigtimedwait(&raw const set, ptr::null_mut(), &raw const now) };
        while !ours.is_empty() && take() > 0 {}
    }
    // SAFETY: `old` is what the mask was.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const old, ptr::null_mut()) };
    done
}

/// Writes all of it, in one piece where the system takes it so. A file that takes no more for now
/// is waited for.
pub(crate) fn write_all<W: Write + AsRawFd>(to: &mut W, mut bytes: &[u8]) -> io::Result<()> {
    quietly(|| {
        while !bytes.is_empty() {
            match to.write(bytes) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(count) => bytes = &bytes[count..],
                Err(why) if why.kind() == ErrorKind::Interrupted => {}
                Err(why) if why.kind() == ErrorKind::WouldBlock => wait(to.as_raw_fd())?,
                Err(why) => return Err(why),
            }
        }
        Ok(())
    })
}

/// Whether the files of this process have a limit, past which a write raises a signal.
pub(crate) fn is_limited() -> bool {
    let mut limit = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: 0 };
    // SAFETY: the place is this function's.
    let failed = unsafe { libc::getrlimit(libc::RLIMIT_FSIZE, &raw mut limit) };
    failed != 0 || limit.rlim_cur != libc::RLIM_INFINITY
}

/// Lets writes go to a place of a file that was opened to append.
pub(crate) fn write_in_place(file: &File) {
    let file = file.as_raw_fd();
    // SAFETY: the descriptor is open; only how it appends changes.
    let flags = unsafe { libc::fcntl(file, libc::F_GETFL) };
    if flags >= 0 {
        // SAFETY: as above.
        unsafe { libc::fcntl(file, libc::F_SETFL, flags & !libc::O_APPEND) };
    }
}

/// Lets writes go to the end of a file, wherever others have moved that.
pub(crate) fn append(file: &File) {
    let file = file.as_raw_fd();
    // SAFETY: the descriptor is open; only how it appends changes.
    let flags = unsafe { libc::fcntl(file, libc::F_GETFL) };
    if flags >= 0 {
        // SAFETY: as above.
        unsafe { libc::fcntl(file, libc::F_SETFL, flags | libc::O_APPEND) };
    }
}

/// Waits until a file takes bytes, or has an error.
fn wait(file: RawFd) -> io::Result<()> {
    let mut asked = libc::pollfd { fd: file, events: libc::POLLOUT, revents: 0 };
    // SAFETY: one entry, which is this function's.
    match unsafe { libc::poll(&raw mut asked, 1, -1) } {
        -1 => match io::Error::last_os_error() {
            why if why.kind() == ErrorKind::Interrupted => Ok(()),
            why => Err(why),
        },
        _ => Ok(()),
    }
}

fn of(signals: &[c_int]) -> sigset_t {
    let mut set = MaybeUninit::uninit();
    // SAFETY: `sigemptyset` fills the set, and the numbers are those of signals.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        for &signal in signals {
            libc::sigaddset(set.as_mut_ptr(), signal);
        }
        set.assume_init()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::FromRawFd;

    fn pipe(flags: c_int) -> [File; 2] {
        let mut ends = [0; 2];
        // SAFETY: two places for two descriptors, which nobody else has.
        unsafe {
            assert_eq!(libc::pipe2(ends.as_mut_ptr(), flags), 0);
            ends.map(|end| File::from_raw_fd(end))
        }
    }

    #[test]
    fn a_reader_that_went_away_is_an_error_and_no_signal() {
        let [reader, mut writer] = pipe(libc::O_CLOEXEC);
        drop(reader);
        // A test program of Rust ignores the signal; a program in C ends by it.
        // SAFETY: the default again, for this test alone in its process's life.
        let before = unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
        let errors = [(); 2].map(|()| write_all(&mut writer, b"text").unwrap_err().kind());
        // SAFETY: what it was.
        unsafe { libc::signal(libc::SIGPIPE, before) };
        assert_eq!(errors, [ErrorKind::BrokenPipe; 2]);
    }

    #[test]
    fn a_full_pipe_that_does_not_block_is_waited_for() {
        let [mut reader, mut writer] = pipe(libc::O_CLOEXEC | libc::O_NONBLOCK);
        let sent = vec![7; 1 << 20];
        let got = std::thread::scope(|scope| {
            let writing = scope.spawn(|| write_all(&mut writer, &sent));
            let mut got = 0;
            let mut some = vec![0; 1 << 16];
            while got < sent.len() {
                got += io::Read::read(&mut reader, &mut some).unwrap_or_default();
            }
            writing.join().unwrap().unwrap();
            got
        });
        assert_eq!(got, sent.len());
    }
}
