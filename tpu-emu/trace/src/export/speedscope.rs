//! JSON for speedscope.
use crate::face::{Call, Face, calls};
use crate::tables::Trace;
use serde::Serialize;
use std::collections::HashMap;

#[derive(Debug, Serialize)]
struct File<'a> {
    #[serde(rename = "$schema")]
    schema: &'static str,
    shared: Shared,
    profiles: Vec<Profile>,
    name: &'a str,
    exporter: &'static str,
    #[serde(rename = "activeProfileIndex")]
    active: usize,
}

#[derive(Debug, Default, Serialize)]
struct Shared {
    frames: Vec<Frame>,
}

#[derive(Debug, Serialize)]
struct Frame {
    name: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    file: String,
    #[serde(skip_serializing_if = "is_unknown")]
    line: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
fn is_unknown(line: &u64) -> bool {
    *line == 0
}

#[derive(Debug, Serialize)]
struct Profile {
    #[serde(rename = "type")]
    kind: &'static str,
    name: String,
    unit: &'static str,
    #[serde(rename = "startValue")]
    start: u64,
    #[serde(rename = "endValue")]
    end: u64,
    samples: Vec<Vec<usize>>,
    weights: Vec<u64>,
}

/// Named sets of blocks as a profile each, weighed by their bytes in memory.
///
/// # Errors
/// Those of `serde_json`, for which nothing here gives cause.
pub fn speedscope(
    trace: &Trace,
    sets: &[(String, Vec<u32>)],
    face: Face,
    name: &str,
) -> serde_json::Result<String> {
    let mut shared = Shared::default();
    let mut known: HashMap<Call, usize> = HashMap::new();
    let mut number = |call: Call| {
        *known.entry(call).or_insert_with_key(|call| {
            let Call { name, file, line } = call.clone();
            shared.frames.push(Frame { name, file, line });
            shared.frames.len() - 1
        })
    };
    let mut profiles = Vec::new();
    for (name, blocks) in sets {
        let mut weights: HashMap<Vec<usize>, u64> = HashMap::new();
        for &place in blocks {
            let event = trace.events.at(place);
            let sample = calls(trace, &event, face).into_iter().map(&mut number).collect();
            *weights.entry(sample).or_default() += event.size;
        }
        let mut weights: Vec<(Vec<usize>, u64)> = weights.into_iter().collect();
        weights.sort();
        let (samples, weights): (Vec<_>, Vec<_>) = weights.into_iter().unzip();
        profiles.push(Profile {
            kind: "sampled",
            name: name.clone(),
            unit: "bytes",
            start: 0,
            end: weights.iter().sum(),
            samples,
            weights,
        });
    }
    serde_json::to_string(&File {
        schema: "https://www.speedscope.app/file-format-schema.json",
        shared,
        profiles,
        name,
        exporter: concat!("tpu-emu ", env!("CARGO_PKG_VERSION")),
        active: 0,
    })
}
