//! The engine for processes of one machine: channels of `ipc-channel`, and shared memory for what
//! is large.
use crate::ends::{self, Watched};
use crate::rendezvous::Member;
use ipc_channel::TrySelectError;
use ipc_channel::ipc::{
    self, IpcMessage, IpcOneShotServer, IpcReceiver, IpcReceiverSet, IpcSelectionResult, IpcSender,
    IpcSharedMemory,
};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, mpsc};
use std::thread;
use tpu_base::error::{Code, Error, Result};
use tpu_base::transport::{ArrayBytes, Inbox, Transport};

/// Arrays of a message that are shorter than this together go through the channel.
const SHARED_FROM: usize = 16 << 10;

/// What goes through a channel.
#[derive(Debug, Serialize, Deserialize)]
enum Packet {
    /// The first of each: who it is, and how it is answered.
    Hello { from: usize, answers: Option<IpcSender<Packet>> },
    /// A message, and the bytes of its arrays one behind the other.
    Message { head: Vec<u8>, lengths: Vec<usize>, few: Vec<u8>, many: Option<IpcSharedMemory> },
}

/// The channels to the other processes.
#[derive(Debug)]
struct Channels(BTreeMap<usize, Mutex<IpcSender<Packet>>>);

/// Connects a process with all others of its slice, and starts the thread that takes what they
/// send.
///
/// Of two processes the one with the higher number reaches for the other.
///
/// # Errors
/// Those of [`Member::arrive`] and [`Member::others`], `DeadlineExceeded` for a process that has
/// come and is not reached, and `Host` where the system refuses sockets or threads.
pub fn join(member: &Member<'_>, inbox: Arc<dyn Inbox>) -> Result<Arc<dyn Transport>> {
    let (me, count) = (member.me, member.count);
    let mut servers = Vec::new();
    // Who it is, then a name for each process with a higher number.
    let mut names = ends::identity() + "\n";
    for _ in me + 1..count {
        let (server, name) =
            IpcOneShotServer::<Packet>::new().map_err(|why| host("make a socket", why))?;
        names = names + &name + "\n";
        servers.push((server, name));
    }
    member.arrive(&names)?;
    let others = member.others()?;
    let (mut senders, mut receivers) = (BTreeMap::new(), Vec::new());
    for (process, names) in others.iter().enumerate().take(me) {
        let name = names.lines().nth(me - process).unwrap_or_default();
        let sender = IpcSender::connect(name.to_owned())
            .map_err(|why| host(&format!("reach process {process}"), why))?;
        let (answers, receiver) = ipc::channel().map_err(|why| host("make a channel", why))?;
        let hello = Packet::Hello { from: me, answers: Some(answers) };
        sender.send(hello).map_err(|why| host(&format!("greet process {process}"), why))?;
        senders.insert(process, Mutex::new(sender));
        receivers.push((process, receiver));
    }
    for (process, receiver, sender) in accept(member, servers)? {
        senders.insert(process, Mutex::new(sender));
        receivers.push((process, receiver));
    }
    let all = others.iter().enumerate().filter(|(process, _)| *process != me);
    let watched = all.filter_map(|(process, names)| Watched::new(process, names.lines().next()?));
    listen(receivers, watched.collect(), inbox)?;
    Ok(Arc::new(Channels(senders)))
}

type Accepted = (usize, IpcReceiver<Packet>, IpcSender<Packet>);

/// Waits for the processes with higher numbers.
fn accept(
    member: &Member<'_>,
    servers: Vec<(IpcOneShotServer<Packet>, String)>,
) -> Result<Vec<Accepted>> {
    let (give, take) = mpsc::channel();
    let mut waiting = BTreeMap::new();
    for (process, (server, name)) in (member.me + 1..).zip(servers) {
        waiting.insert(process, name);
        let give = give.clone();
        // What nobody takes any more goes with the process that waits no longer.
        let wait = move || drop(give.send((process, server.accept())));
        thread::Builder::new()
            .name("tpu-emu-accept".to_owned())
            .spawn(wait)
            .map_err(|why| host("start a thread", why))?;
    }
    let mut accepted = Vec::new();
    while let Some((&first, _)) = waiting.first_key_value() {
        let Ok((process, greeted)) = take.recv_timeout(member.patience) else {
            // Those who still wait are let go.
            for name in waiting.into_values() {
                drop(IpcSender::<Packet>::connect(name));
            }
            return Err(member.unreached(first));
        };
        waiting.remove(&process);
        let (receiver, hello) =
            greeted.map_err(|why| host(&format!("hear process {process}"), why))?;
        match hello {
            Packet::Hello { from, answers: Some(answers) } if from == process => {
                accepted.push((process, receiver, answers));
            }
            _ => return Err(Error::Host(format!("process {process} does not greet"))),
        }
    }
    Ok(accepted)
}

/// Starts the thread that takes what comes, until nobody is left who could send.
fn listen(
    receivers: Vec<(usize, IpcReceiver<Packet>)>,
    watched: Vec<Watched>,
    inbox: Arc<dyn Inbox>,
) -> Result<()> {
    let mut set = IpcReceiverSet::new().map_err(|why| host("wait for channels", why))?;
    let mut open = BTreeMap::new();
    for (process, receiver) in receivers {
        let number = set.add(receiver).map_err(|why| host("wait for a channel", why))?;
        open.insert(number, process);
    }
    let (tell, told) = ipc::channel::<usize>().map_err(|why| host("make a channel", why))?;
    let ends = set.add(told).map_err(|why| host("wait for a channel", why))?;
    // Who could hear of it is gone with the process.
    ends::watch(watched, move |process| drop(tell.send(process)))
        .map_err(|why| host("start a thread", why))?;
    let mut listener = Listener { set, open, ends, ended: Vec::new(), inbox };
    let take = move || while listener.take() {};
    let started = thread::Builder::new().name("tpu-emu-hosts".to_owned()).spawn(take);
    started.map(drop).map_err(|why| host("start a thread", why))
}

/// Takes what comes.
struct Listener {
    set: IpcReceiverSet,
    /// The processes that may send, by the number of their channel.
    open: BTreeMap<u64, usize>,
    /// The number of the channel that tells of processes that have ended.
    ends: u64,
    /// Processes that have ended, and may have sent what was not read.
    ended: Vec<usize>,
    inbox: Arc<dyn Inbox>,
}

impl Listener {
    /// Takes what has come, waiting for it. Whether there may be more.
    fn take(&mut self) -> bool {
        let events = match self.ended.is_empty() {
            true => self.set.select().map_err(|why| why.to_string()),
            // What a process sent before its end lies in its channel: all is read when none is
            // left to read.
            false => match self.set.try_select() {
                Err(TrySelectError::Empty) => {
                    self.lose_the_ended();
                    Ok(Vec::new())
                }
                read => read.map_err(|why| why.to_string()),
            },
        };
        match events {
            Ok(events) => events.into_iter().for_each(|event| self.take_event(event)),
            Err(why) => {
                let why = format!("this process cannot hear it any more: {why}");
                let lost = std::mem::take(&mut self.open).into_values();
                lost.for_each(|process| self.inbox.lost(process, &why));
            }
        }
        !self.open.is_empty()
    }

    fn take_event(&mut self, event: IpcSelectionResult) {
        match event {
            IpcSelectionResult::MessageReceived(number, message) if number == self.ends => {
                self.ended.extend(message.to::<usize>());
            }
            IpcSelectionResult::MessageReceived(number, message) => {
                if let Some(&process) = self.open.get(&number) {
                    take_packet(&*self.inbox, process, message);
                }
            }
            IpcSelectionResult::ChannelClosed(number) => {
                if let Some(process) = self.open.remove(&number) {
                    self.inbox.lost(process, "its connection is closed");
                }
            }
        }
    }

    /// Gives processes up that have ended and whose channels are open: their children have them.
    fn lose_the_ended(&mut self) {
        let ended = std::mem::take(&mut self.ended);
        let of = |_: &u64, process: &mut usize| ended.contains(process);
        for (_, process) in self.open.extract_if(.., of) {
            self.inbox.lost(process, "it has ended");
        }
    }
}

fn take_packet(inbox: &dyn Inbox, process: usize, message: IpcMessage) {
    match message.to::<Packet>() {
        Ok(Packet::Message { head, lengths, few, many }) => {
            let all = Arc::new(Received { few, many });
            let mut start = 0_usize;
            let part = |length: usize| -> ArrayBytes {
                let end = start.saturating_add(length).min(all.bytes().len());
                let range = start.min(end)..end;
                start = end;
                Box::new(Part { all: Arc::clone(&all), range })
            };
            let arrays = lengths.into_iter().map(part).collect();
            inbox.received(process, head, arrays);
        }
        Ok(Packet::Hello { .. }) => tracing::warn!(process, "it greets again"),
        Err(why) => tracing::warn!(process, %why, "a message cannot be read"),
    }
}

/// The arrays of a message, one behind the other.
struct Received {
    few: Vec<u8>,
    many: Option<IpcSharedMemory>,
}

impl Received {
    fn bytes(&self) -> &[u8] {
        self.many.as_ref().map_or(&self.few, |many| &**many)
    }
}

/// One array of them.
struct Part {
    all: Arc<Received>,
    range: Range<usize>,
}

impl AsRef<[u8]> for Part {
    fn as_ref(&self) -> &[u8] {
        &self.all.bytes()[self.range.clone()]
    }
}

impl Transport for Channels {
    fn send(&self, to: usize, head: &[u8], arrays: &[Vec<u8>]) -> Result<()> {
        let none = || Error::bad(format!("process {to} is none of the slice"));
        let sender = self.0.get(&to).ok_or_else(none)?;
        let lengths: Vec<usize> = arrays.iter().map(Vec::len).collect();
        let all = arrays.concat();
        let (few, many) = match all.len() {
            0..SHARED_FROM => (all, None),
            _ => (Vec::new(), Some(IpcSharedMemory::from_bytes(&all))),
        };
        let packet = Packet::Message { head: head.to_vec(), lengths, few, many };
        sender.lock().send(packet).map_err(|why| {
            let message = format!("process {to} of the slice cannot be reached: {why}");
            Error::Verbatim { code: Code::Unavailable, message: message.into() }
        })
    }
}

fn host(what: &str, why: impl std::fmt::Display) -> Error {
    Error::Host(format!("cannot {what}: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rendezvous::tests::Shelf;
    use std::time::Duration;

    type Heard = (usize, Vec<u8>, Vec<Vec<u8>>);

    /// Hands on what comes, and an empty head for who is lost.
    struct Post(Mutex<mpsc::Sender<Heard>>);

    impl Inbox for Post {
        fn received(&self, from: usize, head: Vec<u8>, arrays: Vec<ArrayBytes>) {
            let arrays = arrays.iter().map(|one| (**one).as_ref().to_vec()).collect();
            self.0.lock().send((from, head, arrays)).unwrap();
        }

        fn lost(&self, process: usize, _: &str) {
            // The test may be over.
            let _ = self.0.lock().send((process, Vec::new(), Vec::new()));
        }
    }

    fn joined(store: &Shelf, me: usize) -> (Arc<dyn Transport>, mpsc::Receiver<Heard>) {
        let (give, take) = mpsc::channel();
        let member = Member { store, me, count: 3, patience: Duration::from_mins(1) };
        (join(&member, Arc::new(Post(Mutex::new(give)))).unwrap(), take)
    }

    #[test]
    fn messages_arrive_whole_and_in_order_and_the_end_of_a_process_is_heard() {
        let store = Shelf::default();
        let all: Vec<_> = thread::scope(|scope| {
            let store = &store;
            let joining: Vec<_> = (0..3).map(|me| scope.spawn(move || joined(store, me))).collect();
            joining.into_iter().map(|one| one.join().unwrap()).collect()
        });
        let large = vec![7; SHARED_FROM];
        let arrays = [vec![1, 2], Vec::new(), large.clone(), vec![3]];
        for (me, (transport, _)) in all.iter().enumerate() {
            for to in (0..3).filter(|&to| to != me) {
                transport.send(to, b"few", &arrays[..2]).unwrap();
                transport.send(to, b"many", &arrays).unwrap();
                transport.send(to, b"none", &[]).unwrap();
            }
            assert!(transport.send(me, b"self", &[]).is_err());
        }
        for (me, (_, heard)) in all.iter().enumerate() {
            let mut by_sender: BTreeMap<usize, Vec<Heard>> = BTreeMap::new();
            for _ in 0..6 {
                let one = heard.recv().unwrap();
                by_sender.entry(one.0).or_default().push(one);
            }
            assert_eq!(by_sender.len(), 2, "{me}");
            for (from, came) in by_sender {
                let wanted = [
                    (from, b"few".to_vec(), arrays[..2].to_vec()),
                    (from, b"many".to_vec(), arrays.to_vec()),
                    (from, b"none".to_vec(), Vec::new()),
                ];
                assert!(came == wanted, "{me} from {from}");
            }
        }
        let mut all = all.into_iter();
        let (first, _) = all.next().unwrap();
        drop(first);
        for (_, heard) in all {
            assert_eq!(heard.recv().unwrap(), (0, Vec::new(), Vec::new()));
        }
    }
}
