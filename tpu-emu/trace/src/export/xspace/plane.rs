//! A plane that grows: what has a name is written once.
use super::messages::{
    EVENTS, LINES, PLANES, Value, XEvent, XEventMetadata, XLine, XPlane, XStat, XStatMetadata,
};
use crate::export::signed;
use prost::Message as _;
use prost::encoding::{WireType, encode_key, encode_varint, message};
use std::collections::HashMap;

/// Events of a line, as the line has them.
#[derive(Default)]
pub(super) struct EncodedEvents(Vec<u8>);

impl EncodedEvents {
    pub(super) fn push(&mut self, event: &XEvent) {
        message::encode(EVENTS, event, &mut self.0);
    }
}

/// A line, and its events behind it.
struct Line {
    line: Vec<u8>,
    events: EncodedEvents,
}

impl Line {
    fn bytes(&self) -> usize {
        self.line.len() + self.events.0.len()
    }
}

/// A plane that has all of its lines.
pub(super) struct Finished {
    plane: Vec<u8>,
    lines: Vec<Line>,
}

impl Finished {
    /// Writes it as a space has it, and forgets each line as it is written.
    pub(super) fn write(self, out: &mut Vec<u8>) {
        let heads = self.lines.iter().map(|line| {
            let mut head = Vec::new();
            begin(LINES, line.bytes(), &mut head);
            head
        });
        let heads: Vec<Vec<u8>> = heads.collect();
        let of_lines = self.lines.iter().zip(&heads).map(|(line, head)| head.len() + line.bytes());
        begin(PLANES, self.plane.len() + of_lines.sum::<usize>(), out);
        out.extend(self.plane);
        for (head, Line { line, events }) in heads.into_iter().zip(self.lines) {
            // A vector that grows by itself may take twice what it needs.
            out.reserve_exact(head.len() + line.len() + events.0.len());
            [head, line, events.0].into_iter().for_each(|part| out.extend_from_slice(&part));
        }
    }
}

/// Begins a message of so many bytes in a field.
fn begin(field: u32, bytes: usize, out: &mut Vec<u8>) {
    encode_key(field, WireType::LengthDelimited, out);
    encode_varint(bytes as u64, out);
}

/// A plane and the numbers of its names.
pub(super) struct Plane {
    plane: XPlane,
    lines: Vec<Line>,
    events: HashMap<String, i64>,
    stats: HashMap<String, i64>,
}

impl Plane {
    /// A plane without lines.
    pub(super) fn new(name: &str) -> Self {
        let plane = XPlane { name: name.to_owned(), ..XPlane::default() };
        Self { plane, lines: Vec::new(), events: HashMap::new(), stats: HashMap::new() }
    }

    /// The message, with a number among the planes.
    pub(super) fn finish(mut self, id: i64) -> Finished {
        self.plane.id = id;
        Finished { plane: self.plane.encode_to_vec(), lines: self.lines }
    }

    /// The number of a kind of stat, or of a text that stats share.
    fn name(&mut self, name: &str) -> i64 {
        if let Some(&id) = self.stats.get(name) {
            return id;
        }
        let id = signed(self.stats.len() as u64 + 1);
        self.stats.insert(name.to_owned(), id);
        self.plane.stat_metadata.insert(id, XStatMetadata { id, name: name.to_owned() });
        id
    }

    /// A stat.
    pub(super) fn stat(&mut self, name: &str, value: Value) -> XStat {
        XStat { metadata_id: self.name(name), value: Some(value) }
    }

    /// A stat whose text many have.
    pub(super) fn shared(&mut self, name: &str, text: &str) -> XStat {
        let text = self.name(text).unsigned_abs();
        self.stat(name, Value::Shared(text))
    }

    /// Adds a stat of the plane itself.
    pub(super) fn add(&mut self, name: &str, value: Value) {
        let stat = self.stat(name, value);
        self.plane.stats.push(stat);
    }

    /// The number of the events of a name; `about` makes the stats of a new one.
    pub(super) fn event(
        &mut self,
        name: &str,
        about: impl FnOnce(&mut Self) -> (String, Vec<XStat>),
    ) -> i64 {
        if let Some(&id) = self.events.get(name) {
            return id;
        }
        let id = signed(self.events.len() as u64 + 1);
        let name = name.to_owned();
        self.events.insert(name.clone(), id);
        let (display_name, stats) = about(self);
        self.plane.event_metadata.insert(id, XEventMetadata { id, name, display_name, stats });
        id
    }

    /// Adds a line of events whose times count from `timestamp_ns`.
    pub(super) fn line(&mut self, name: &str, timestamp_ns: i64, events: EncodedEvents) {
        let id = signed(self.lines.len() as u64 + 1);
        let line = XLine { id, name: name.to_owned(), timestamp_ns }.encode_to_vec();
        self.lines.push(Line { line, events });
    }
}
