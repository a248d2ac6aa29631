//! A socket that never blocks, by the traits that HTTP/2 asks for, and work that waits for it.
use rustix::event::{PollFd, PollFlags};
use std::future::Future;
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Bytes that are read in one turn: a peer that never stops must leave time for the others.
const TURN: usize = 1 << 18;

/// A socket that two hold: who speaks over it, and who waits for it.
///
/// What it is waited for is what this turn asked of it in vain: work that cannot write does not
/// read either, and bytes that nobody takes would wake it again and again.
#[derive(Debug)]
struct Shared {
    stream: TcpStream,
    /// Whether it had no more, or no more was read in this turn.
    is_empty: AtomicBool,
    /// Whether it took no more.
    is_full: AtomicBool,
    /// Bytes that may still be read in this turn.
    left: AtomicUsize,
}

impl Shared {
    /// Begins a turn.
    fn begin(&self) {
        self.is_empty.store(false, Ordering::Relaxed);
        self.is_full.store(false, Ordering::Relaxed);
        self.left.store(TURN, Ordering::Relaxed);
    }
}

/// Who speaks over it.
#[derive(Debug)]
pub(crate) struct Socket(Arc<Shared>);

impl AsyncRead for Socket {
    fn poll_read(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let left = self.0.left.load(Ordering::Relaxed);
        let read = match left {
            0 => Poll::Pending,
            _ => {
                let into = into.initialize_unfilled_to(into.remaining().min(left));
                until_told((&self.0.stream).read(into), |count| count)
            }
        };
        self.0.is_empty.store(read.is_pending(), Ordering::Relaxed);
        read.map_ok(|count| {
            self.0.left.store(left.saturating_sub(count), Ordering::Relaxed);
            into.advance(count);
        })
    }
}

impl AsyncWrite for Socket {
    fn poll_write(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = until_told((&self.0.stream).write(bytes), |count| count);
        self.0.is_full.store(written.is_pending(), Ordering::Relaxed);
        written
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        // Whoever closed it first has nothing to hear.
        Poll::Ready(self.0.stream.shutdown(Shutdown::Write).or(Ok(())))
    }
}

/// What a call without waiting gave; nothing yet where it would have to wait.
fn until_told<R>(done: io::Result<usize>, then: impl FnOnce(usize) -> R) -> Poll<io::Result<R>> {
    match done {
        Ok(count) => Poll::Ready(Ok(then(count))),
        Err(why) if why.kind() == ErrorKind::WouldBlock => Poll::Pending,
        Err(why) => Poll::Ready(Err(why)),
    }
}

/// Whether work can go on.
#[derive(Debug)]
struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Release);
    }
}

/// Work over one socket.
pub(crate) struct Task<R> {
    shared: Arc<Shared>,
    work: Pin<Box<dyn Future<Output = R>>>,
    woken: Arc<Woken>,
}

impl<R> Task<R> {
    /// Work that `begin` makes of a socket.
    ///
    /// # Errors
    /// Where the socket cannot be made not to block.
    pub(crate) fn new<F: Future<Output = R> + 'static>(
        stream: TcpStream,
        begin: impl FnOnce(Socket) -> F,
    ) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        stream.set_nodelay(true)?;
        let no = AtomicBool::default;
        let left = AtomicUsize::new(TURN);
        let shared = Arc::new(Shared { stream, is_empty: no(), is_full: no(), left });
        let work = Box::pin(begin(Socket(Arc::clone(&shared))));
        Ok(Self { shared, work, woken: Arc::new(Woken(AtomicBool::new(true))) })
    }

    /// Goes on as far as it can; what it gives when it has ended.
    pub(crate) fn go_on(&mut self) -> Option<R> {
        let waker = Waker::from(Arc::clone(&self.woken));
        let mut context = Context::from_waker(&waker);
        while self.woken.0.swap(false, Ordering::Acquire) {
            if let Poll::Ready(ended) = self.work.as_mut().poll(&mut context) {
                return Some(ended);
            }
        }
        None
    }

    /// Says that its socket has something for it: its next turn begins.
    pub(crate) fn wake(&self) {
        self.shared.begin();
        self.woken.0.store(true, Ordering::Release);
    }

    /// What it waits for.
    pub(crate) fn waits_for(&self) -> PollFd<'_> {
        let of = |asked: &AtomicBool, flags| match asked.load(Ordering::Relaxed) {
            true => flags,
            false => PollFlags::empty(),
        };
        let flags =
            of(&self.shared.is_empty, PollFlags::IN) | of(&self.shared.is_full, PollFlags::OUT);
        PollFd::new(&self.shared.stream, flags)
    }
}
