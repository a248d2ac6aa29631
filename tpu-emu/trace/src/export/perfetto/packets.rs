//! Packets of a Perfetto trace, whose texts are written once.
use super::messages::{
    Clock, ClockSnapshot, CounterDescriptor, DebugAnnotation, InternedData, InternedText,
    ProcessDescriptor, ThreadDescriptor, TracePacket, TrackDescriptor, TrackEvent,
};
use prost::Message as _;
use std::collections::HashMap;

/// What stands beside an event.
#[derive(Debug, Clone, Copy)]
pub(super) enum Detail<'a> {
    Number(u64),
    Address(u64),
    Text(&'a str),
}

/// A trace that grows at its end.
#[derive(Debug, Default)]
pub(super) struct Packets {
    bytes: Vec<u8>,
    tracks: u64,
    names: HashMap<Box<str>, u64>,
    keys: HashMap<&'static str, u64>,
    texts: HashMap<Box<str>, u64>,
}

const SLICE_BEGIN: i32 = 1;
const SLICE_END: i32 = 2;
const INSTANT: i32 = 3;
const COUNTER: i32 = 4;
/// `UNIT_SIZE_BYTES`.
const BYTES: i32 = 3;
/// Clocks that every reader knows: that of the events, and nanoseconds since 1970.
const BOOTTIME: u32 = 6;
const REALTIME: u32 = 1;

impl Packets {
    /// A trace whose time 0 is so many nanoseconds after 1970.
    pub(super) fn new(started: u64) -> Self {
        let mut packets = Self::default();
        let clocks = [(BOOTTIME, 0), (REALTIME, started)]
            .map(|(clock_id, timestamp)| Clock { clock_id, timestamp })
            .into();
        packets.push(TracePacket {
            clock_snapshot: Some(ClockSnapshot { clocks }),
            // The texts of this writer begin here.
            sequence_flags: 1,
            ..TracePacket::default()
        });
        packets
    }

    /// The bytes of all packets.
    pub(super) fn finish(self) -> Vec<u8> {
        self.bytes
    }

    fn push(&mut self, mut packet: TracePacket) {
        packet.trusted_packet_sequence_id = 1;
        packet.sequence_flags |= 2;
        // Field 1 of a trace is a packet.
        self.bytes.push(0x0a);
        self.bytes.extend(packet.encode_length_delimited_to_vec());
    }

    fn track(&mut self, track: TrackDescriptor) -> u64 {
        self.tracks += 1;
        let track = TrackDescriptor { uuid: self.tracks, ..track };
        self.push(TracePacket { track_descriptor: Some(track), ..TracePacket::default() });
        self.tracks
    }

    /// The track of a process, or of what stands like one.
    pub(super) fn process(&mut self, pid: i32, name: &str) -> u64 {
        let process = Some(ProcessDescriptor { pid, process_name: name.to_owned() });
        self.track(TrackDescriptor { process, ..TrackDescriptor::default() })
    }

    /// The track of a thread of a process.
    pub(super) fn thread(&mut self, pid: i32, tid: i64, name: String) -> u64 {
        let thread = Some(ThreadDescriptor { pid, tid, thread_name: name });
        self.track(TrackDescriptor { thread, ..TrackDescriptor::default() })
    }

    /// A track of a process with a name.
    pub(super) fn named(&mut self, parent_uuid: u64, name: &str) -> u64 {
        let name = name.to_owned();
        self.track(TrackDescriptor { parent_uuid, name, ..TrackDescriptor::default() })
    }

    /// The track of a number that changes, of bytes or in a unit that is told.
    pub(super) fn counter(&mut self, parent_uuid: u64, name: &str, unit: Option<&str>) -> u64 {
        let counter = match unit {
            None => CounterDescriptor { unit: BYTES, ..CounterDescriptor::default() },
            Some(unit) => CounterDescriptor { unit: 0, unit_name: unit.to_owned() },
        };
        self.track(TrackDescriptor {
            parent_uuid,
            name: name.to_owned(),
            counter: Some(counter),
            ..TrackDescriptor::default()
        })
    }

    fn event(&mut self, timestamp: u64, track_event: TrackEvent, interned: Option<InternedData>) {
        self.push(TracePacket {
            timestamp: Some(timestamp),
            track_event: Some(track_event),
            interned_data: interned,
            ..TracePacket::default()
        });
    }

    /// The value of a counter from a time on.
    pub(super) fn count(&mut self, time: u64, track_uuid: u64, value: u64) {
        let counter_value = Some(i64::try_from(value).unwrap_or(i64::MAX));
        let event =
            TrackEvent { kind: COUNTER, track_uuid, counter_value, ..TrackEvent::default() };
        self.event(time, event, None);
    }

    /// The value of a counter of fractions from a time on.
    pub(super) fn fraction(&mut self, time: u64, track_uuid: u64, value: f64) {
        let double_counter_value = Some(value);
        self.event(
            time,
            TrackEvent { kind: COUNTER, track_uuid, double_counter_value, ..TrackEvent::default() },
            None,
        );
    }

    /// Something that happened at a time.
    pub(super) fn instant(
        &mut self,
        time: u64,
        track: u64,
        name: &str,
        details: &[(&'static str, Detail<'_>)],
    ) {
        self.named_event(INSTANT, time, track, name, details);
    }

    /// Something that lasted. Those of a track stand within one another or apart.
    pub(super) fn begin(
        &mut self,
        time: u64,
        track: u64,
        name: &str,
        details: &[(&'static str, Detail<'_>)],
    ) {
        self.named_event(SLICE_BEGIN, time, track, name, details);
    }

    /// The end of what began last on a track and has not ended.
    pub(super) fn end(&mut self, time: u64, track_uuid: u64) {
        let event = TrackEvent { kind: SLICE_END, track_uuid, ..TrackEvent::default() };
        self.event(time, event, None);
    }

    fn named_event(
        &mut self,
        kind: i32,
        time: u64,
        track_uuid: u64,
        name: &str,
        details: &[(&'static str, Detail<'_>)],
    ) {
        let mut new = InternedData::default();
        let name_iid = number(&mut self.names, name, Box::from, &mut new.event_names);
        let keys = &mut new.debug_annotation_names;
        let mut debug_annotations = Vec::new();
        for &(key, detail) in details {
            let name_iid = number(&mut self.keys, key, |_| key, keys);
            let mut annotation = DebugAnnotation { name_iid, ..DebugAnnotation::default() };
            match detail {
                Detail::Number(number) => annotation.uint_value = Some(number),
                Detail::Address(address) => annotation.pointer_value = Some(address),
                Detail::Text(text) => {
                    let texts = &mut new.debug_annotation_string_values;
                    let iid = number(&mut self.texts, text, Box::from, texts);
                    annotation.string_value_iid = Some(iid);
                }
            }
            debug_annotations.push(annotation);
        }
        let event =
            TrackEvent { kind, track_uuid, name_iid, debug_annotations, ..TrackEvent::default() };
        self.event(time, event, (new != InternedData::default()).then_some(new));
    }
}

/// The number of a text, which is written where it is new.
fn number<'a, K: std::hash::Hash + Eq + std::borrow::Borrow<str>>(
    known: &mut HashMap<K, u64>,
    text: &'a str,
    own: impl FnOnce(&'a str) -> K,
    new: &mut Vec<InternedText>,
) -> u64 {
    if let Some(&iid) = known.get(text) {
        return iid;
    }
    let iid = known.len() as u64 + 1;
    known.insert(own(text), iid);
    new.push(InternedText { iid, text: text.to_owned() });
    iid
}
