//! The callbacks of an execution, which take and give the data of its running program.
use crate::boundary::{Caller, handle_of};
use crate::callback::{RecvFunction, SendFunction};
use crate::state::{STREAMS, StreamEntry};
use crate::sys::{PJRT_ExecuteOptions, PJRT_RecvCallbackInfo, PJRT_SendCallbackInfo};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use tpu_emu::host_transfer::{Channel, Direction, HostTransfers};
use tpu_emu::units::{Bytes, to_u64};
use tpu_emu::{Error, Event, Result};

/// The callbacks for one device.
#[derive(Debug)]
struct Callbacks {
    sends: HashMap<i64, SendFunction>,
    recvs: HashMap<i64, RecvFunction>,
}

/// The callbacks of each device of an execution; none where the client gives none.
///
/// # Errors
/// `Null` for a missing list or function, `BadArgument` for a channel with two callbacks.
pub(crate) fn callbacks(
    caller: &Caller,
    options: &PJRT_ExecuteOptions,
    devices: usize,
) -> Result<Vec<Arc<dyn HostTransfers>>> {
    let (sends, recvs) = (options.num_send_ops, options.num_recv_ops);
    if sends == 0 && recvs == 0 {
        return Ok(Vec::new());
    }
    let of = |place: usize| -> Result<Arc<dyn HostTransfers>> {
        let list = lists(caller, options.send_callbacks, devices, sends, "send_callbacks")?[place];
        let infos: &[PJRT_SendCallbackInfo] = caller.slice(list, sends, "send_callbacks")?;
        let infos = infos.iter().map(|info| (info.channel_id, SendFunction::new(info)));
        let sends = by_channel(infos, Direction::ToHost)?;
        let list = lists(caller, options.recv_callbacks, devices, recvs, "recv_callbacks")?[place];
        let infos: &[PJRT_RecvCallbackInfo] = caller.slice(list, recvs, "recv_callbacks")?;
        let infos = infos.iter().map(|info| (info.channel_id, RecvFunction::new(info)));
        let recvs = by_channel(infos, Direction::ToDevice)?;
        Ok(Arc::new(Callbacks { sends, recvs }))
    };
    (0..devices).map(of).collect()
}

/// The list of each device; null ones where there is nothing to list.
fn lists<T>(
    caller: &Caller,
    lists: *mut *mut T,
    devices: usize,
    count: usize,
    what: &'static str,
) -> Result<Vec<*const T>> {
    if count == 0 {
        return Ok(vec![std::ptr::null(); devices]);
    }
    let lists = caller.slice(lists.cast_const(), devices, what)?;
    Ok(lists.iter().map(|list| list.cast_const()).collect())
}

fn by_channel<F>(
    infos: impl Iterator<Item = (i64, Result<F>)>,
    direction: Direction,
) -> Result<HashMap<i64, F>> {
    let mut functions = HashMap::new();
    for (channel, function) in infos {
        if functions.insert(channel, function?).is_some() {
            let what = format!("two {} callbacks for channel {channel}", direction.verb());
            return Err(Error::bad(what));
        }
    }
    Ok(functions)
}

impl Callbacks {
    fn missing(channel: i64, direction: Direction) -> Error {
        Error::WrongState(format!("no {} callback for channel {channel}", direction.verb()))
    }
}

impl HostTransfers for Callbacks {
    fn serves(&self, channel: Channel) -> bool {
        match channel.direction {
            Direction::ToHost => self.sends.contains_key(&channel.id),
            Direction::ToDevice => self.recvs.contains_key(&channel.id),
        }
    }

    fn send(&self, channel: i64, bytes: &[u8]) -> Result<()> {
        let missing = || Self::missing(channel, Direction::ToHost);
        self.sends.get(&channel).ok_or_else(missing)?.call(bytes)
    }

    fn recv(&self, channel: i64, bytes: &mut [u8]) -> Result<()> {
        let missing = || Self::missing(channel, Direction::ToDevice);
        let function = self.recvs.get(&channel).ok_or_else(missing)?;
        let stream = Arc::new(Stream::new(bytes.len()));
        let entry = STREAMS.insert(StreamEntry { stream: Arc::clone(&stream) });
        if let Err(error) = function.call(handle_of(entry)) {
            // One that threw does not destroy it any more, unless it has.
            drop(STREAMS.remove(entry));
            return Err(error);
        }
        stream.done.wait()?;
        stream.read(bytes)
    }
}

/// The bytes that a client gives for one array, piece by piece.
#[derive(Debug)]
pub(crate) struct Stream {
    total: usize,
    pieces: Mutex<Pieces>,
    /// Ends when all bytes are there, or with the error that they never will be.
    done: Event,
}

#[derive(Debug, Default)]
struct Pieces {
    bytes: usize,
    list: Vec<Box<[u8]>>,
}

impl Stream {
    fn new(total: usize) -> Self {
        let done = if total == 0 { Event::ready() } else { Event::pending() };
        Self { total, pieces: Mutex::default(), done }
    }

    /// Bytes that are wanted.
    pub(crate) fn total(&self) -> usize {
        self.total
    }

    /// Bytes that have come.
    pub(crate) fn current(&self) -> usize {
        self.pieces.lock().bytes
    }

    /// Takes the next bytes.
    ///
    /// # Errors
    /// `BadArgument` for more than are wanted; then none are taken.
    pub(crate) fn add(&self, bytes: &[u8]) -> Result<()> {
        let fits = |had: usize| {
            let (more, total) = (bytes.len(), self.total);
            let what = || format!("a chunk of {more} bytes after {had} of {total} bytes");
            had.checked_add(more).filter(|&sum| sum <= total).ok_or_else(|| Error::bad(what()))
        };
        // Before the copy, so that nothing is allocated for what is refused.
        fits(self.current())?;
        let mut piece = Vec::new();
        piece.try_reserve_exact(bytes.len()).map_err(|why| Error::HostMemory {
            asked: Bytes(to_u64(bytes.len())),
            what: "a chunk of a transfer",
            why: why.to_string(),
        })?;
        piece.extend_from_slice(bytes);
        let piece = piece.into_boxed_slice();
        let complete = {
            let mut pieces = self.pieces.lock();
            pieces.bytes = fits(pieces.bytes)?;
            pieces.list.push(piece);
            pieces.bytes == self.total
        };
        if complete {
            self.done.settle(Ok(()));
        }
        Ok(())
    }

    /// Ends a stream whose client gives no more.
    pub(crate) fn end(&self) {
        if self.done.is_ready() {
            return;
        }
        let (had, total) = (self.current(), self.total);
        let what = format!("a copy-to-device stream was destroyed after {had} of {total} bytes");
        self.done.settle(Err(Error::WrongState(what)));
    }

    fn read(&self, bytes: &mut [u8]) -> Result<()> {
        let pieces = std::mem::take(&mut self.pieces.lock().list);
        let mut rest = bytes;
        for piece in pieces {
            let (to, behind) = rest.split_at_mut_checked(piece.len()).ok_or_else(|| {
                Error::WrongState(format!("more than {} bytes of a stream", self.total))
            })?;
            to.copy_from_slice(&piece);
            rest = behind;
        }
        Ok(())
    }
}
