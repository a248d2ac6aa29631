//! The child's side: loads the library, and answers what comes on standard input.
// UNSAFETY: calls functions of the system about this process and its files.
#![expect(unsafe_code, reason = "the system's C functions")]
use crate::Result;
use crate::libtpu::Libtpu;
use crate::wire::{Answer, Request};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::FromRawFd as _;
use std::path::Path;

/// The first message of a child that has loaded its library, the version of the messages included.
pub(crate) const READY: &str = "tpu-emu ask-libtpu 1";

/// The longest message.
const MOST_BYTES: u64 = 1 << 32;

/// Loads a libtpu and answers the requests of the process that has started this one, until there
/// are no more.
///
/// # Errors
/// Where standard input or output cannot be used.
pub fn serve(library: &Path) -> io::Result<()> {
    leave_with_the_parent()?;
    let mut out = messages_apart_from_prints()?;
    let mut input = io::stdin().lock();
    let mut loaded = Libtpu::load(library);
    let first = loaded.as_ref().map_or_else(|why| format!("no: {why}"), |_| READY.to_owned());
    send(&mut out, first.as_bytes())?;
    let Ok(libtpu) = &mut loaded else { return Ok(()) };
    while let Some(message) = receive(&mut input)? {
        let answer = answer(libtpu, &message).unwrap_or_else(Answer::NotAsked);
        send(&mut out, &answer.write())?;
    }
    Ok(())
}

/// Lets this process end with the one that asks, whatever it does at that moment, and without a
/// file of its memory.
fn leave_with_the_parent() -> io::Result<()> {
    // SAFETY: a number and a number.
    if unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) } != 0 {
        return Err(io::Error::last_os_error());
    }
    let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: reads one struct. The library ends its process on some programs, and nobody wants to
    // see what it was.
    unsafe { libc::setrlimit(libc::RLIMIT_CORE, &raw const none) };
    Ok(())
}

/// Standard output as a file of its own; what the library prints there goes to standard error.
fn messages_apart_from_prints() -> io::Result<File> {
    // SAFETY: makes a new descriptor.
    let out = unsafe { libc::fcntl(libc::STDOUT_FILENO, libc::F_DUPFD_CLOEXEC, 3) };
    // SAFETY: standard output is written by nobody here.
    if out < 0 || unsafe { libc::dup2(libc::STDERR_FILENO, libc::STDOUT_FILENO) } < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor was made above and is nobody else's.
    Ok(unsafe { File::from_raw_fd(out) })
}

fn answer(libtpu: &mut Libtpu, message: &[u8]) -> Result<Answer> {
    let asked = Request::read(message).ok_or("a request that cannot be read")?;
    libtpu.compile(&asked)
}

/// Sends a message: its length, and its bytes.
pub(crate) fn send(out: &mut impl Write, message: &[u8]) -> io::Result<()> {
    let length = u64::try_from(message.len()).map_err(io::Error::other)?;
    out.write_all(&length.to_le_bytes())?;
    out.write_all(message)?;
    out.flush()
}

/// The next message; `None` where the other side has closed.
pub(crate) fn receive(input: &mut impl Read) -> io::Result<Option<Vec<u8>>> {
    let mut length = [0; 8];
    match input.read_exact(&mut length) {
        Err(why) if why.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        read => read?,
    }
    let length = u64::from_le_bytes(length);
    if length > MOST_BYTES {
        return Err(io::Error::other(format!("a message of {length} bytes")));
    }
    let mut message = Vec::new();
    input.take(length).read_to_end(&mut message)?;
    let is_whole = u64::try_from(message.len()) == Ok(length);
    is_whole.then_some(Some(message)).ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
}
