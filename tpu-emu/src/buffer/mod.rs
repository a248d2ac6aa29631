//! Arrays on the device: their bytes, when they are ready, and how they go away.
use crate::hbm::spec::ArraySpec;
use crate::hbm::{End, Region};
use crate::memory::{Block, BlockBytes, Content as Known, Memories, Memory};
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tpu_base::error::{Error, Result};
use tpu_base::event::Event;
use tpu_base::units::Bytes;

mod copy;
mod get;
mod put;
mod raw;
mod staged;
mod transfer;

pub use get::{HostStrides, HostTarget};
pub use put::HostArray;
pub use transfer::TransferManager;

/// What is to be called when a view of foreign bytes is given up.
pub type OnDelete = Box<dyn FnOnce() + Send>;

/// Where a buffer's bytes are.
enum Content {
    /// Not known yet: an alias that waits to be fulfilled.
    Promised,
    /// Nowhere: no bytes.
    Empty,
    /// In a block of its own, or shared with others.
    Held(Arc<Block>),
    /// In a block that a client holds by address, or a part of one.
    Part(Arc<Block>, Region),
    /// In somebody else's block.
    View(Region, Option<OnDelete>),
    /// Nowhere: the buffer stands for an error.
    Failed,
    /// Nowhere any more.
    Deleted,
}

impl std::fmt::Debug for Content {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let name = match self {
            Self::Promised => "Promised",
            Self::Empty => "Empty",
            Self::Held(_) => "Held",
            Self::Part(..) => "Part",
            Self::View(..) => "View",
            Self::Failed => "Failed",
            Self::Deleted => "Deleted",
        };
        f.write_str(name)
    }
}

/// A buffer's bytes, held: they outlive its deletion.
#[derive(Debug, Clone)]
pub(crate) enum Hold {
    Empty,
    Block(Arc<Block>),
    Part(Arc<Block>, Region),
    View(Region),
    /// The bytes of a block that others own: they know until when they are in use.
    Used(Arc<BlockBytes>),
}

impl From<Option<Arc<Block>>> for Hold {
    fn from(block: Option<Arc<Block>>) -> Self {
        block.map_or(Self::Empty, Self::Block)
    }
}

impl From<Hold> for Content {
    fn from(hold: Hold) -> Self {
        match hold {
            Hold::Empty => Self::Empty,
            Hold::Block(block) => Self::Held(block),
            Hold::Part(block, region) => Self::Part(block, region),
            Hold::View(region) => Self::View(region, None),
            Hold::Used(place) => Self::View(place.region().clone(), None),
        }
    }
}

impl Hold {
    pub(crate) fn region(&self) -> Option<&Region> {
        match self {
            Self::Empty => None,
            Self::Block(block) => Some(block.region()),
            Self::Part(_, region) | Self::View(region) => Some(region),
            Self::Used(place) => Some(place.region()),
        }
    }

    /// The place of the block, if all of it is the array's.
    pub(crate) fn place(&self) -> Option<&BlockBytes> {
        match self {
            Self::Block(block) => Some(block.place()),
            Self::Used(place) => Some(place),
            _ => None,
        }
    }

    /// The same bytes, no longer owned: work that is certain to end uses them until `end`.
    pub(crate) fn used_until(self, end: &End) -> Self {
        self.left_to(|place| place.use_until(end))
    }

    /// The same bytes, no longer owned: work that begins when all that uses them now is over does so
    /// until `end`.
    pub(crate) fn used_last_until(self, end: &End) -> Self {
        self.left_to(|place| place.use_last_until(end))
    }

    /// The same bytes, no longer owned, once their block knows who uses them.
    fn left_to(self, tell: impl FnOnce(&BlockBytes)) -> Self {
        match self {
            Self::Block(block) => {
                tell(block.place());
                Self::Used(Arc::clone(block.place()))
            }
            Self::Part(block, region) => {
                tell(block.place());
                Self::View(region)
            }
            Self::Empty | Self::View(_) | Self::Used(_) => self,
        }
    }

    /// Whether two arrays of so many bytes are equal. What was found out by comparing them is
    /// known from then on.
    ///
    /// # Errors
    /// `BadArgument` where one has fewer bytes.
    pub(crate) fn equals(&self, other: &Self, size: Bytes) -> Result<bool> {
        let places = self.place().zip(other.place());
        let known = places.is_some_and(|(one, other)| {
            one.content().is_some_and(|content| other.content() == Some(content))
        });
        let (Some(one), Some(two)) = (self.region(), other.region()) else { return Ok(true) };
        let equal = known || one.equals(two, size)?;
        if let Some((one, other)) = places.filter(|_| equal && !known) {
            let content = one.content().unwrap_or_else(Known::fresh);
            one.set_content(Some(content));
            other.set_content(Some(content));
        }
        Ok(equal)
    }
}

/// An array on a device.
#[derive(Debug)]
pub struct Buffer {
    memories: Arc<Memories>,
    spec: Arc<ArraySpec>,
    memory: Memory,
    content: Mutex<Content>,
    /// The bytes of a promise while those who wait for it are told: a deletion that came after
    /// they asked does not take them away.
    promise: Mutex<Option<Hold>>,
    /// The bytes, held by clients that use them behind our back.
    external: Mutex<Vec<Hold>>,
    ready: Event,
    deleted: AtomicBool,
}

impl Buffer {
    fn new(
        memories: &Arc<Memories>,
        spec: Arc<ArraySpec>,
        memory: Memory,
        content: Content,
        ready: Event,
    ) -> Self {
        Self {
            memories: Arc::clone(memories),
            spec,
            memory,
            content: Mutex::new(content),
            promise: Mutex::default(),
            external: Mutex::default(),
            ready,
            deleted: AtomicBool::new(false),
        }
    }

    pub(crate) fn with_block(
        memories: &Arc<Memories>,
        spec: Arc<ArraySpec>,
        memory: Memory,
        block: Option<Arc<Block>>,
        ready: Event,
    ) -> Self {
        let content = block.map_or(Content::Empty, Content::Held);
        Self::new(memories, spec, memory, content, ready)
    }

    /// A buffer that is ready over bytes of a block that a client holds by address.
    pub(crate) fn of_part(
        memories: &Arc<Memories>,
        spec: &Arc<ArraySpec>,
        memory: Memory,
        part: Option<(Arc<Block>, Region)>,
    ) -> Self {
        let content = part.map_or(Content::Empty, |(block, region)| Content::Part(block, region));
        Self::new(memories, Arc::clone(spec), memory, content, Event::ready())
    }

    /// Element type, shape, layout, sizes.
    pub fn spec(&self) -> &Arc<ArraySpec> {
        &self.spec
    }

    /// Where it lives.
    pub fn memory(&self) -> Memory {
        self.memory
    }

    /// Ends when the bytes are there, or with the reason why they never will be.
    pub fn ready_event(&self) -> &Event {
        &self.ready
    }

    /// As [`Self::ready_event`], for a client, which waits for it.
    pub fn awaited(&self) -> &Event {
        self.memories.client_waits();
        &self.ready
    }

    /// Whether it was deleted or donated.
    pub fn is_deleted(&self) -> bool {
        self.deleted.load(Ordering::Acquire)
    }

    /// Gives the bytes up; pending reads still see them. A second call changes nothing.
    pub fn delete(&self) {
        if self.deleted.swap(true, Ordering::AcqRel) {
            return;
        }
        // The stack is taken before the lock: a capture takes time, and may not be locked out.
        let origin = self.memories.ledger().origin();
        let content = {
            let mut content = self.content.lock();
            // A promise is still to be kept to those who asked before.
            if matches!(*content, Content::Promised) {
                return;
            }
            std::mem::replace(&mut *content, Content::Deleted)
        };
        match content {
            Content::Held(block) => block.given_up_by(origin),
            Content::View(_, Some(on_delete)) => on_delete(),
            _ => {}
        }
    }

    /// Holds the bytes.
    ///
    /// # Errors
    /// `BadArgument` for a deleted buffer, the buffer's own error for a failed one.
    pub(crate) fn hold(&self) -> Result<Hold> {
        match &*self.content.lock() {
            Content::Empty => Ok(Hold::Empty),
            Content::Held(block) => Ok(Hold::Block(Arc::clone(block))),
            Content::Part(block, region) => Ok(Hold::Part(Arc::clone(block), region.clone())),
            Content::View(region, _) => Ok(Hold::View(region.clone())),
            Content::Promised if self.is_deleted() => Err(deleted()),
            Content::Promised => Err(no_bytes_yet()),
            Content::Deleted => Err(deleted()),
            Content::Failed => Err(self.failure()),
        }
    }

    /// Holds the bytes of a buffer whose event is over.
    ///
    /// # Errors
    /// The event's, and those of [`Buffer::hold`].
    pub(crate) fn hold_ready(&self) -> Result<Hold> {
        match self.ready.outcome() {
            Some(Err(error)) => Err(error.clone()),
            _ => self.hold(),
        }
    }

    /// Whether its bytes are still to come from another buffer.
    pub(crate) fn is_promised(&self) -> bool {
        matches!(&*self.content.lock(), Content::Promised)
    }

    /// Leaves the block to who holds it already: this buffer counts as deleted and no
    /// longer owns it. Whether that was done; views and promises stay as they are.
    pub(crate) fn give_up(&self) -> bool {
        let mut content = self.content.lock();
        if !matches!(*content, Content::Held(_)) || !self.external.lock().is_empty() {
            return false;
        }
        self.deleted.store(true, Ordering::Release);
        *content = Content::Deleted;
        true
    }

    fn failure(&self) -> Error {
        let outcome = self.ready.outcome().and_then(|outcome| outcome.clone().err());
        outcome.unwrap_or_else(|| Error::WrongState("the buffer has failed".to_owned()))
    }

    /// Holds the bytes once they are there: `then` gets them now or on the thread that
    /// fulfils the buffer. Deleting the buffer after this call does not take them away.
    ///
    /// # Errors
    /// `BadArgument` for a deleted buffer.
    pub(crate) fn when_ready(
        self: &Arc<Self>,
        then: impl FnOnce(Result<Hold>) + Send + 'static,
    ) -> Result<()> {
        self.when_held(|hold| hold, then)
    }

    /// As [`Buffer::when_ready`]; `keep` says how the bytes are held until then, where they are
    /// known now.
    fn when_held(
        self: &Arc<Self>,
        keep: impl FnOnce(Hold) -> Hold,
        then: impl FnOnce(Result<Hold>) + Send + 'static,
    ) -> Result<()> {
        if self.is_deleted() {
            return Err(deleted());
        }
        let held = if self.is_promised() { None } else { Some(self.hold()) };
        match held {
            Some(Err(error)) if self.is_deleted() => Err(error),
            Some(held) => {
                let held = held.map(keep);
                self.ready.on_ready(move |outcome| then(outcome.clone().and(held)));
                Ok(())
            }
            None => {
                let buffer = Arc::clone(self);
                self.ready.on_ready(move |outcome| {
                    let promise = buffer.promise.lock().clone();
                    let held = promise.map_or_else(|| buffer.hold(), Ok);
                    then(outcome.clone().and(held));
                });
                Ok(())
            }
        }
    }

    /// The bytes' address in this process.
    ///
    /// # Errors
    /// As for reading; and `WrongState` before they are there.
    pub fn host_pointer(&self) -> Result<*mut u8> {
        let hold = self.hold()?;
        hold.place().into_iter().for_each(BlockBytes::expose);
        Ok(hold.region().map_or(std::ptr::null_mut(), Region::as_ptr))
    }

    /// Keeps the bytes alive through a deletion, until the matching decrease.
    ///
    /// # Errors
    /// `BadArgument` for a deleted buffer.
    pub fn increase_external_references(&self) -> Result<()> {
        let hold = self.hold()?;
        self.external.lock().push(hold);
        Ok(())
    }

    /// Ends one increase.
    ///
    /// # Errors
    /// `WrongState` where there is none to end.
    pub fn decrease_external_references(&self) -> Result<()> {
        let ended = self.external.lock().pop();
        ended.map(drop).ok_or_else(|| {
            let why = "the buffer has no external references to decrease";
            Error::WrongState(why.to_owned())
        })
    }

    /// The bytes' region; `None` for a buffer without bytes.
    ///
    /// # Errors
    /// As for reading.
    pub fn region(&self) -> Result<Option<Region>> {
        let hold = self.hold()?;
        hold.place().into_iter().for_each(BlockBytes::expose);
        Ok(hold.region().cloned())
    }
}

fn no_bytes_yet() -> Error {
    Error::WrongState("the buffer has no bytes yet".to_owned())
}

fn deleted() -> Error {
    Error::bad("Buffer has been deleted or donated.")
}
