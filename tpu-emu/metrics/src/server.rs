//! Answers calls, on one thread.
use crate::Source;
use crate::answer::{Refusal, answer};
use crate::grpc::{Status, framed, unframed};
use crate::listener::{CLIENTS, Listed};
use crate::socket::{Socket, Task};
use bytes::Bytes;
use h2::server::SendResponse;
use h2::{RecvStream, SendStream};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};
use rustix::event::{PollFd, PollFlags, poll};
use std::future::{Future, poll_fn};
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::AsRawFd as _;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::thread;
use std::time::Duration;

/// The longest request.
const LONGEST: usize = 1 << 16;
/// Calls of one client at once: a client that takes no answers has so many waiting for it.
const CALLS: u32 = 8;

/// One client. Its descriptor is off the list before it is closed, and its number somebody else's.
struct Served {
    _listed: Listed,
    task: Task<()>,
}

/// Answers calls at a port of this host from now on.
///
/// # Errors
/// Where the port cannot be had.
pub fn serve(port: u16, source: Arc<dyn Source>) -> io::Result<()> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
    listener.set_nonblocking(true)?;
    let listed = Listed::new(listener.as_raw_fd())
        .ok_or_else(|| io::Error::other("this process serves its metrics already"))?;
    let thread = thread::Builder::new().name("tpu-emu-metrics".to_owned());
    thread.spawn(move || {
        let _listed = listed;
        run(&listener, &source);
    })?;
    Ok(())
}

fn run(listener: &TcpListener, source: &Arc<dyn Source>) {
    // The oldest first.
    let mut served: Vec<Served> = Vec::new();
    loop {
        served.retain_mut(|one| one.task.go_on().is_none());
        let mut waited = vec![PollFd::new(listener, PollFlags::IN)];
        waited.extend(served.iter().map(|one| one.task.waits_for()));
        if poll(&mut waited, None).is_err() {
            // Interrupted; of what else there may be, another look is as good as any.
            thread::park_timeout(Duration::from_millis(1));
            continue;
        }
        let told: Vec<PollFlags> = waited.iter().map(PollFd::revents).collect();
        let (arrived, told) =
            told.split_first().map_or((false, &[][..]), |(at, rest)| (!at.is_empty(), rest));
        let mut told = told.iter();
        served.retain(|one| {
            let told = told.next().copied().unwrap_or(PollFlags::empty());
            if !told.is_empty() {
                one.task.wake();
            }
            // Who is gone hears no answer, and would be told of for ever.
            !told.intersects(PollFlags::ERR | PollFlags::HUP | PollFlags::NVAL)
        });
        if arrived {
            accept(listener, source, &mut served);
        }
    }
}

/// Takes who has arrived. Where all places are taken, the oldest goes.
fn accept(listener: &TcpListener, source: &Arc<dyn Source>, served: &mut Vec<Served>) {
    let stream = match listener.accept() {
        Ok((stream, _)) => stream,
        Err(why) if why.kind() == io::ErrorKind::WouldBlock => return,
        Err(_) => {
            // The process has no descriptor left, or who came is gone: not at once again.
            return thread::park_timeout(Duration::from_millis(100));
        }
    };
    if served.len() == CLIENTS {
        served.remove(0);
    }
    let Some(listed) = Listed::new(stream.as_raw_fd()) else { return };
    let source = Arc::clone(source);
    if let Ok(task) = Task::new(stream, |socket| converse(socket, source)) {
        served.push(Served { _listed: listed, task });
    }
}

/// All calls of one client.
async fn converse(socket: Socket, source: Arc<dyn Source>) {
    let mut builder = h2::server::Builder::new();
    builder.max_concurrent_streams(CALLS).max_header_list_size(1 << 14);
    let Ok(mut connection) = builder.handshake::<_, Bytes>(socket).await else { return };
    let mut calls: Vec<Pin<Box<dyn Future<Output = ()>>>> = Vec::new();
    poll_fn(|context| {
        loop {
            match connection.poll_accept(context) {
                Poll::Ready(Some(Ok((request, respond)))) => {
                    calls.push(Box::pin(one_call(request, respond, Arc::clone(&source))));
                }
                Poll::Ready(Some(Err(_)) | None) => return Poll::Ready(()),
                Poll::Pending => break,
            }
        }
        calls.retain_mut(|call| call.as_mut().poll(context).is_pending());
        Poll::Pending
    })
    .await;
}

async fn one_call(
    request: Request<RecvStream>,
    mut respond: SendResponse<Bytes>,
    source: Arc<dyn Source>,
) {
    let (head, body) = request.into_parts();
    let is_grpc = head
        .headers
        .get("content-type")
        .is_some_and(|of| of.to_str().is_ok_and(|of| of.starts_with("application/grpc")));
    if head.method != Method::POST || !is_grpc {
        let mut refused = Response::new(());
        *refused.status_mut() = StatusCode::UNSUPPORTED_MEDIA_TYPE;
        // A client that is gone needs no answer, here and below.
        let _ = respond.send_response(refused, true);
        return;
    }
    let answered = match all(body).await {
        Ok(Some(body)) => unframed(&body)
            .map_err(|(status, why)| (status, why.to_owned()))
            .and_then(|message| answer(&*source, head.uri.path(), message)),
        Ok(None) => Err((Status::ResourceExhausted, "the request is too long".to_owned())),
        Err(_) => return,
    };
    let _ = send(&mut respond, answered);
}

/// A whole body; `None` where it is too long.
async fn all(mut body: RecvStream) -> Result<Option<Vec<u8>>, h2::Error> {
    let mut bytes = Vec::new();
    while let Some(part) = body.data().await {
        let part = part?;
        body.flow_control().release_capacity(part.len())?;
        bytes.extend(&part);
        if bytes.len() > LONGEST {
            return Ok(None);
        }
    }
    Ok(Some(bytes))
}

fn send(
    respond: &mut SendResponse<Bytes>,
    answered: Result<Vec<u8>, Refusal>,
) -> Result<(), h2::Error> {
    let mut response = Response::new(());
    response.headers_mut().insert("content-type", HeaderValue::from_static("application/grpc"));
    let message = match answered {
        Ok(message) => message,
        Err((status, why)) => {
            response.headers_mut().insert("grpc-status", HeaderValue::from_static(status.text()));
            response.headers_mut().insert("grpc-message", words(&why));
            return respond.send_response(response, true).map(drop);
        }
    };
    let mut stream: SendStream<Bytes> = respond.send_response(response, false)?;
    stream.send_data(framed(&message).into(), false)?;
    let mut ended = HeaderMap::new();
    ended.insert("grpc-status", HeaderValue::from_static("0"));
    stream.send_trailers(ended)
}

/// A sentence as a header has it: what is not plain ASCII by its bytes.
fn words(why: &str) -> HeaderValue {
    let mut text = String::new();
    for byte in why.bytes() {
        match byte {
            b' '..=b'$' | b'&'..=b'~' => text.push(byte.into()),
            _ => text += &format!("%{byte:02X}"),
        }
    }
    HeaderValue::from_str(&text).unwrap_or_else(|_| HeaderValue::from_static("refused"))
}
