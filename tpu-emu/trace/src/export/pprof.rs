//! A profile for pprof and those that read its form.
use super::signed;
use crate::face::{Call, Face, calls};
use crate::tables::Trace;
use flate2::Compression;
use flate2::write::GzEncoder;
use prost::Message;
use std::collections::{BTreeMap, HashMap};
use std::io::{self, Write as _};

// The messages of profile.proto, as far as they are filled here.
#[derive(Message)]
struct Profile {
    #[prost(message, repeated, tag = "1")]
    sample_type: Vec<ValueType>,
    #[prost(message, repeated, tag = "2")]
    sample: Vec<Sample>,
    #[prost(message, repeated, tag = "4")]
    location: Vec<Location>,
    #[prost(message, repeated, tag = "5")]
    function: Vec<Function>,
    #[prost(string, repeated, tag = "6")]
    string_table: Vec<String>,
    #[prost(int64, tag = "9")]
    time_nanos: i64,
    #[prost(message, optional, tag = "11")]
    period_type: Option<ValueType>,
    #[prost(int64, tag = "12")]
    period: i64,
    #[prost(int64, tag = "14")]
    default_sample_type: i64,
}

#[derive(Message)]
struct ValueType {
    #[prost(int64, tag = "1")]
    kind: i64,
    #[prost(int64, tag = "2")]
    unit: i64,
}

#[derive(Message)]
struct Sample {
    #[prost(uint64, repeated, tag = "1")]
    location_id: Vec<u64>,
    #[prost(int64, repeated, tag = "2")]
    value: Vec<i64>,
    #[prost(message, repeated, tag = "3")]
    label: Vec<Label>,
}

#[derive(Message)]
struct Label {
    #[prost(int64, tag = "1")]
    key: i64,
    #[prost(int64, tag = "2")]
    text: i64,
}

#[derive(Message)]
struct Location {
    #[prost(uint64, tag = "1")]
    id: u64,
    #[prost(message, repeated, tag = "4")]
    line: Vec<Line>,
}

#[derive(Message)]
struct Line {
    #[prost(uint64, tag = "1")]
    function_id: u64,
    #[prost(int64, tag = "2")]
    line: i64,
}

#[derive(Message)]
struct Function {
    #[prost(uint64, tag = "1")]
    id: u64,
    #[prost(int64, tag = "2")]
    name: i64,
    #[prost(int64, tag = "3")]
    system_name: i64,
    #[prost(int64, tag = "4")]
    filename: i64,
}

/// Tables of a profile that grow as samples are added.
#[derive(Default)]
struct Tables {
    texts: HashMap<String, i64>,
    string_table: Vec<String>,
    functions: HashMap<(String, String), u64>,
    function: Vec<Function>,
    locations: HashMap<Call, u64>,
    location: Vec<Location>,
}

impl Tables {
    fn text(&mut self, text: &str) -> i64 {
        if let Some(&number) = self.texts.get(text) {
            return number;
        }
        let number = signed(self.string_table.len() as u64);
        self.texts.insert(text.to_owned(), number);
        self.string_table.push(text.to_owned());
        number
    }

    fn function(&mut self, call: &Call) -> u64 {
        let key = (call.name.clone(), call.file.clone());
        if let Some(&id) = self.functions.get(&key) {
            return id;
        }
        let id = self.function.len() as u64 + 1;
        let (name, filename) = (self.text(&call.name), self.text(&call.file));
        self.function.push(Function { id, name, system_name: name, filename });
        self.functions.insert(key, id);
        id
    }

    fn location(&mut self, call: &Call) -> u64 {
        if let Some(&id) = self.locations.get(call) {
            return id;
        }
        let line = Line { function_id: self.function(call), line: signed(call.line) };
        let id = self.location.len() as u64 + 1;
        self.location.push(Location { id, line: vec![line] });
        self.locations.insert(call.clone(), id);
        id
    }
}

/// A sample's locations and labels.
type Place = (Vec<u64>, Vec<(i64, i64)>);

/// Blocks as a gzipped profile: how many there are, their logical bytes and their bytes in memory.
/// Equal stacks of equal arrays in one space share a sample.
///
/// # Errors
/// Those of the compressor, for which memory gives no cause.
pub fn pprof(trace: &Trace, blocks: &[u32], face: Face) -> io::Result<Vec<u8>> {
    let mut tables = Tables::default();
    tables.text("");
    let types = [("allocations", "count"), ("logical", "bytes"), ("space", "bytes")];
    let sample_type: Vec<ValueType> = types
        .iter()
        .map(|(kind, unit)| ValueType { kind: tables.text(kind), unit: tables.text(unit) })
        .collect();
    let mut samples: BTreeMap<Place, [u64; 3]> = BTreeMap::new();
    for &place in blocks {
        let event = trace.events.at(place);
        let frames = calls(trace, &event, face);
        let locations = frames.iter().rev().map(|call| tables.location(call)).collect();
        let (spec, space) =
            (&trace.specs[event.spec as usize], &trace.spaces[event.space as usize]);
        let labels = [("array", spec.short_text()), ("device", space.name())]
            .map(|(key, text)| (tables.text(key), tables.text(&text)));
        let values = samples.entry((locations, labels.to_vec())).or_default();
        for (value, more) in values.iter_mut().zip([1, spec.logical, event.size]) {
            *value = value.saturating_add(more);
        }
    }
    let profile = Profile {
        sample: samples
            .into_iter()
            .map(|((location_id, labels), values)| Sample {
                location_id,
                value: values.map(signed).to_vec(),
                label: labels.into_iter().map(|(key, text)| Label { key, text }).collect(),
            })
            .collect(),
        default_sample_type: tables.text("space"),
        period_type: Some(ValueType { kind: tables.text("space"), unit: tables.text("bytes") }),
        period: 1,
        time_nanos: signed(trace.header.started),
        sample_type,
        location: tables.location,
        function: tables.function,
        string_table: tables.string_table,
    };
    let mut packed = GzEncoder::new(Vec::new(), Compression::default());
    packed.write_all(&profile.encode_to_vec())?;
    packed.finish()
}
