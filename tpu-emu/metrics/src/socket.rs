//! A socket that never blocks, by the traits that HTTP/2 asks for, and work that waits for it.
use rustix::event::{PollFd, PollFlags};
use std::future::Future;
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// A socket that two hold: who speaks over it, and who waits for it.
#[derive(Debug)]
struct Shared {
    stream: TcpStream,
    /// Whether it took no more when it was written to last.
    is_full: AtomicBool,
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
        until_told((&self.0.stream).read(into.initialize_unfilled()), |count| into.advance(count))
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
        let shared = Arc::new(Shared { stream, is_full: AtomicBool::new(false) });
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

    /// Says that its socket has something for it.
    pub(crate) fn wake(&self) {
        self.woken.0.store(true, Ordering::Release);
    }

    /// What it waits for.
    pub(crate) fn waits_for(&self) -> PollFd<'_> {
        let full = self.shared.is_full.load(Ordering::Relaxed);
        let flags = if full { PollFlags::IN | PollFlags::OUT } else { PollFlags::IN };
        PollFd::new(&self.shared.stream, flags)
    }
}
