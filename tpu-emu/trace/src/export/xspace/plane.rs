//! A plane that grows: what has a name is written once.
use super::messages::{Value, XEvent, XEventMetadata, XLine, XPlane, XStat, XStatMetadata};
use crate::export::signed;
use std::collections::HashMap;

/// A plane and the numbers of its names.
pub(super) struct Plane {
    plane: XPlane,
    events: HashMap<String, i64>,
    stats: HashMap<String, i64>,
}

impl Plane {
    /// A plane without lines.
    pub(super) fn new(name: &str) -> Self {
        let plane = XPlane { name: name.to_owned(), ..XPlane::default() };
        Self { plane, events: HashMap::new(), stats: HashMap::new() }
    }

    /// The message, with a number among the planes.
    pub(super) fn finish(mut self, id: i64) -> XPlane {
        self.plane.id = id;
        self.plane
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
    pub(super) fn line(&mut self, name: &str, timestamp_ns: i64, events: Vec<XEvent>) {
        let id = signed(self.plane.lines.len() as u64 + 1);
        self.plane.lines.push(XLine { id, name: name.to_owned(), timestamp_ns, events });
    }
}
