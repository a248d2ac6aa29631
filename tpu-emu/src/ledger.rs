//! Who took which bytes, and when: the records that live blocks carry, and a bounded history.
use crate::hbm::spec::ArraySpec;
use crate::origin::{ChangeKind, Clock, Frame, Labels, Origin, Past, StackSource, Stacks};
use crate::trace::{Change, Dispatched, Fault, FreeList, Names, Note, Session, Sink, SpaceInfo};
use parking_lot::Mutex;
use std::cell::Cell;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tpu_base::entry;
use tpu_base::units::Nanos;

mod recordings;

use recordings::Recordings;
pub(crate) use recordings::{Before, Recording};

/// The machine's memory of changes.
#[derive(Debug)]
pub struct Ledger {
    stacks: Stacks,
    labels: Labels,
    source: Arc<dyn StackSource>,
    clock: Arc<dyn Clock>,
    sink: Option<Box<dyn Sink>>,
    /// Whether there is a session.
    listening: AtomicBool,
    session: Mutex<Option<Arc<Session>>>,
    /// The most lines that `past` keeps.
    kept: usize,
    past: Mutex<VecDeque<Past>>,
    recordings: Recordings,
}

thread_local! {
    static FRAMES: Cell<Vec<Frame>> = const { Cell::new(Vec::new()) };
}

impl Ledger {
    /// An empty ledger that keeps `kept` past changes and passes every change to `sink`.
    pub fn new(
        source: Arc<dyn StackSource>,
        clock: Arc<dyn Clock>,
        sink: Option<Box<dyn Sink>>,
        kept: usize,
    ) -> Self {
        let (stacks, labels) = (Stacks::default(), Labels::default());
        Self {
            stacks,
            labels,
            source,
            clock,
            sink,
            listening: AtomicBool::new(false),
            session: Mutex::default(),
            kept,
            past: Mutex::default(),
            recordings: Recordings::default(),
        }
    }

    /// Where, when and by whom this is called.
    ///
    /// A frame of its own, which is the first that the source sees and is not recorded.
    #[inline(never)]
    pub fn origin(&self) -> Origin {
        self.captured(None, 0)
    }

    /// Who called the API function that ends now: the functions that say so, two above this one,
    /// are not recorded.
    #[inline(never)]
    pub fn origin_of_call(&self) -> Origin {
        self.captured(None, 2)
    }

    /// Where work comes from that was begun elsewhere: on another thread than the one that began
    /// it, the stack goes on where that one stood.
    #[inline(never)]
    pub(crate) fn origin_of(&self, begun: &Origin) -> Origin {
        self.captured(Some(begun), 0)
    }

    #[inline(always)]
    fn captured(&self, begun: Option<&Origin>, above: usize) -> Origin {
        // A capture inside of a capture finds the scratch taken and makes its own, and so does one
        // of a thread that ends: a client's static objects may outlive what the thread keeps.
        let mut frames = FRAMES.try_with(Cell::take).unwrap_or_default();
        frames.clear();
        self.source.capture(&mut frames);
        let (time, thread) = (self.clock.now(), self.source.thread());
        let mut entry = entry::current();
        if let Some(begun) = begun.filter(|begun| begun.thread != thread) {
            frames.extend(self.stacks.frames(begun.stack));
            entry = begun.entry;
        }
        let native = |frame: &&Frame| self.source.is_native(**frame);
        let own = frames.iter().take(1 + above).take_while(native).count();
        let stack = self.stacks.intern(frames.get(own..).unwrap_or_default());
        // A thread that ends has no use for it.
        let _ = FRAMES.try_with(|kept| kept.set(frames));
        Origin { entry, time, stack, thread }
    }

    /// Tells the sink of the machine, before its first change.
    pub(crate) fn begin(&self, topology: &str, spaces: &[SpaceInfo]) {
        if let Some(sink) = &self.sink {
            sink.start(topology, spaces);
        }
    }

    /// The time.
    pub fn now(&self) -> Nanos {
        self.clock.now()
    }

    /// Whether somebody listens to what is noted.
    pub(crate) fn is_heard(&self) -> bool {
        self.sink.is_some() || self.listening.load(Ordering::Relaxed)
    }

    /// Tells a session too, from now on, in place of the one before; or none any more.
    pub(crate) fn listen(&self, session: Option<Arc<Session>>) {
        let mut current = self.session.lock();
        self.listening.store(session.is_some(), Ordering::Relaxed);
        *current = session;
    }

    /// The session, if there is one.
    pub(crate) fn session(&self) -> Option<Arc<Session>> {
        match self.listening.load(Ordering::Relaxed) {
            true => self.session.lock().clone(),
            false => None,
        }
    }

    /// Tells all that listen.
    fn each(&self, tell: impl Fn(&dyn Sink)) {
        if let Some(sink) = &self.sink {
            tell(&**sink);
        }
        if let Some(session) = self.session() {
            tell(&*session);
        }
    }

    /// Tells the sink of a custom call.
    pub fn dispatched(&self, dispatched: &Dispatched) {
        self.each(|sink| sink.dispatched(dispatched, &self.names()));
    }

    /// Tells the sink of a call that was refused because of what its client gave.
    // A frame of its own: recorded stacks show it by name.
    #[inline(never)]
    pub fn fault(&self, message: &str) {
        if self.is_heard() {
            let origin = self.origin();
            self.each(|sink| sink.fault(&Fault { message, origin }, &self.names()));
        }
    }

    /// Tells the sink what is no change.
    pub(crate) fn tell(&self, note: &Note<'_>) {
        self.each(|sink| sink.note(note, &self.names()));
    }

    /// Adds a change to the history and tells the sink; `free` is what was free at a refusal.
    pub fn note(&self, past: Past, spec: &ArraySpec, free: Option<&FreeList>) {
        if past.kind == ChangeKind::Allocate {
            entry::moved(past.size);
        }
        if self.kept > 0 {
            let mut lines = self.past.lock();
            if lines.len() == self.kept {
                lines.pop_front();
            }
            lines.push_back(past);
        }
        self.recordings.note(&past);
        self.each(|sink| sink.change(&Change { past, spec, free }, &self.names()));
    }

    /// Tells the sink of a change in a core's memory, which the history does not keep.
    pub(crate) fn note_of_core(&self, past: Past, spec: &ArraySpec) {
        self.each(|sink| sink.change(&Change { past, spec, free: None }, &self.names()));
    }

    /// Begins to keep changes, and gives the number of the recording.
    pub(crate) fn begin_recording(&self) -> u64 {
        self.recordings.begin()
    }

    /// Adds what there was before a recording began.
    pub(crate) fn precede_recording(&self, number: u64, before: Vec<Before>) {
        self.recordings.precede(number, before);
    }

    /// What a recording has so far; `None` where there is none of that number.
    pub(crate) fn recording(&self, number: u64) -> Option<Recording> {
        self.recordings.so_far(number)
    }

    /// Ends a recording; `None` where there is none of that number.
    pub(crate) fn end_recording(&self, number: u64) -> Option<Recording> {
        self.recordings.end(number)
    }

    /// The history, oldest first.
    pub fn past(&self) -> Vec<Past> {
        self.past.lock().iter().copied().collect()
    }

    /// What blocks are for, in words.
    pub fn labels(&self) -> &Labels {
        &self.labels
    }

    /// The stacks seen, and who can name them.
    pub fn names(&self) -> Names<'_> {
        Names { stacks: &self.stacks, labels: &self.labels, source: &*self.source }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::runtime::Emulator;
    use std::sync::mpsc::{Sender, channel};
    use tpu_base::entry::{FunctionName, enter};

    /// Tells who was refused, and why.
    #[derive(Debug)]
    struct Refusals(Mutex<Sender<(FunctionName, String)>>);

    impl Sink for Refusals {
        fn start(&self, _: &str, _: &[SpaceInfo]) {}

        fn change(&self, _: &Change<'_>, _: &Names<'_>) {}

        fn dispatched(&self, _: &Dispatched, _: &Names<'_>) {}

        fn note(&self, _: &Note<'_>, _: &Names<'_>) {}

        fn fault(&self, fault: &Fault<'_>, _: &Names<'_>) {
            let refusal = (fault.origin.entry, fault.message.to_owned());
            self.0.lock().send(refusal).unwrap();
        }
    }

    #[test]
    fn a_thread_local_destructor_may_ask_for_an_origin() {
        struct OnExit(Sender<u64>);
        impl Drop for OnExit {
            fn drop(&mut self) {
                let machine = Emulator::new(Config::plain()).unwrap();
                self.0.send(machine.ledger().origin().time.0).unwrap();
            }
        }
        thread_local!(static LAST: Cell<Option<OnExit>> = const { Cell::new(None) });
        let (send, heard) = channel();
        let thread = std::thread::spawn(move || {
            LAST.set(Some(OnExit(send)));
            let machine = Emulator::new(Config::plain()).unwrap();
            machine.ledger().origin();
        });
        thread.join().unwrap();
        assert!(heard.recv().is_ok());
    }

    #[test]
    fn the_sink_hears_of_a_refused_call_and_in_which_function_it_was() {
        let (send, refusals) = channel();
        let Config { stacks, clock, .. } = Config::plain();
        let ledger = Ledger::new(stacks, clock, Some(Box::new(Refusals(Mutex::new(send)))), 0);
        let call = || {
            ledger.fault("twice");
            Ok(())
        };
        enter(&"TpuExecutor_Deallocate", call).unwrap();
        let (entry, message) = refusals.recv().unwrap();
        assert_eq!((*entry, message.as_str()), ("TpuExecutor_Deallocate", "twice"));
    }
}
