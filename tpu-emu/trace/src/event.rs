//! The changes in memory, as columns.

/// What happened to a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ChangeKind {
    /// It was taken.
    Allocate,
    /// It was given back.
    Free,
    /// There was no room for it; sequence and address mean nothing.
    Refused,
}

/// One change in memory. What it names are places in the tables of its trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event {
    /// What happened.
    pub kind: ChangeKind,
    /// Place of the memory space.
    pub space: u32,
    /// Position in the order of changes of the space, from 1.
    pub sequence: u64,
    /// First byte in the space.
    pub address: u64,
    /// Bytes taken.
    pub size: u64,
    /// Place of the array type.
    pub spec: u32,
    /// Place of the stack; 0 is the empty one.
    pub stack: u32,
    /// The operating system's number of the thread.
    pub thread: u32,
    /// Nanoseconds since the start of the machine.
    pub time: u64,
    /// Place of the name of the API function; 0 is the empty one.
    pub entry: u32,
    /// Place of the label; 0 is none.
    pub label: u32,
}

/// All changes of a trace, in the order in which they were written: a column a field.
#[derive(Debug, Clone, Default)]
pub struct Events {
    kinds: Vec<ChangeKind>,
    spaces: Vec<u32>,
    sequences: Vec<u64>,
    addresses: Vec<u64>,
    sizes: Vec<u64>,
    specs: Vec<u32>,
    stacks: Vec<u32>,
    threads: Vec<u32>,
    times: Vec<u64>,
    entries: Vec<u32>,
    labels: Vec<u32>,
}

impl Events {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.kinds.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.kinds.is_empty()
    }

    /// The event at a place.
    ///
    /// # Panics
    /// Where there is none.
    pub fn at(&self, place: u32) -> Event {
        let place = place as usize;
        Event {
            kind: self.kinds[place],
            space: self.spaces[place],
            sequence: self.sequences[place],
            address: self.addresses[place],
            size: self.sizes[place],
            spec: self.specs[place],
            stack: self.stacks[place],
            thread: self.threads[place],
            time: self.times[place],
            entry: self.entries[place],
            label: self.labels[place],
        }
    }

    /// What happened at a place.
    ///
    /// # Panics
    /// Where there is none, as the other functions that take a place.
    pub fn kind(&self, place: u32) -> ChangeKind {
        self.kinds[place as usize]
    }

    /// The position of the change at a place in the order of its space.
    pub fn sequence(&self, place: u32) -> u64 {
        self.sequences[place as usize]
    }

    /// Space and kind of each, in the order of their places.
    pub fn kinds(&self) -> impl Iterator<Item = (u32, ChangeKind)> + '_ {
        self.spaces.iter().copied().zip(self.kinds.iter().copied())
    }

    /// Each with its place.
    pub fn iter(&self) -> impl Iterator<Item = (u32, Event)> + '_ {
        (0..).zip(0..self.len()).map(|(place, _)| (place, self.at(place)))
    }

    /// Places of the memory spaces.
    pub fn spaces(&self) -> &[u32] {
        &self.spaces
    }

    /// Positions in the order of changes of their spaces.
    pub fn sequences(&self) -> &[u64] {
        &self.sequences
    }

    /// First bytes in their spaces.
    pub fn addresses(&self) -> &[u64] {
        &self.addresses
    }

    /// Bytes taken.
    pub fn sizes(&self) -> &[u64] {
        &self.sizes
    }

    /// Places of the array types.
    pub fn specs(&self) -> &[u32] {
        &self.specs
    }

    /// Places of the stacks.
    pub fn stacks(&self) -> &[u32] {
        &self.stacks
    }

    /// The operating system's numbers of the threads.
    pub fn threads(&self) -> &[u32] {
        &self.threads
    }

    /// Nanoseconds since the start of the machine.
    pub fn times(&self) -> &[u64] {
        &self.times
    }

    /// Places of the names of API functions.
    pub fn entries(&self) -> &[u32] {
        &self.entries
    }

    /// Places of the labels.
    pub fn labels(&self) -> &[u32] {
        &self.labels
    }

    pub(crate) fn push(&mut self, event: &Event) {
        self.kinds.push(event.kind);
        self.spaces.push(event.space);
        self.sequences.push(event.sequence);
        self.addresses.push(event.address);
        self.sizes.push(event.size);
        self.specs.push(event.spec);
        self.stacks.push(event.stack);
        self.threads.push(event.thread);
        self.times.push(event.time);
        self.entries.push(event.entry);
        self.labels.push(event.label);
    }
}
