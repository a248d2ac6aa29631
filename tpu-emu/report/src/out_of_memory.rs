//! Allocations that found no room, and programs that need more than a device has.
use crate::places::Places;
use serde::Serialize;
use tpu_trace::{History, ProgramAutopsy, Trace, autopsy, refused_programs};

#[derive(Debug, Serialize)]
pub(crate) struct RefusalTable {
    space: u32,
    size: u64,
    spec: u32,
    stack: u32,
    label: u32,
    entry: u32,
    time: u64,
    at: Vec<u32>,
    holes: Option<HolesTable>,
    autopsy: Option<AutopsyTable>,
}

/// What replaying the blocks as they lay says of a refusal.
#[derive(Debug, Serialize)]
struct AutopsyTable {
    /// Whether it helps, and what is done, in words.
    advice: Vec<(bool, String)>,
    careful: Vec<String>,
}

/// How many refusals are replayed: each is a search of its own.
const REPLAYED: usize = 10;

#[derive(Debug, Serialize)]
pub(crate) struct HolesTable {
    asked: u64,
    in_use: u64,
    free: u64,
    largest: u64,
    count: u64,
}

/// A program that was refused when it was compiled.
#[derive(Debug, Serialize)]
pub(crate) struct RefusedProgramTable {
    #[serde(flatten)]
    autopsy: ProgramAutopsy,
    /// What was refused, in one line.
    words: String,
    stack: u32,
}

/// All programs that were refused when they were compiled.
pub(crate) fn not_compiled(trace: &Trace) -> Vec<RefusedProgramTable> {
    let both = refused_programs(trace).into_iter().zip(&trace.refused_programs);
    let table = both.map(|(autopsy, of)| {
        let words = autopsy.words();
        RefusedProgramTable { autopsy, words, stack: of.stack }
    });
    table.collect()
}

/// All allocations that found no room.
pub(crate) fn refusals(trace: &Trace, history: &History, places: &Places) -> Vec<RefusalTable> {
    let of = |(number, &place): (usize, &u32)| {
        let event = trace.events.at(place);
        RefusalTable {
            space: event.space,
            size: event.size,
            spec: event.spec,
            stack: event.stack,
            label: event.label,
            entry: event.entry,
            time: event.time,
            at: places.of_all(history, |space| space.refusals[number]),
            holes: trace.holes_of(place).map(|holes| HolesTable {
                asked: holes.asked,
                in_use: holes.in_use,
                free: holes.free,
                largest: holes.largest,
                count: holes.count,
            }),
            autopsy: (number < REPLAYED).then(|| autopsy(trace, history, number)).flatten().map(
                |found| AutopsyTable {
                    advice: found.advice.into_iter().map(|of| (of.helps, of.words)).collect(),
                    careful: found.careful,
                },
            ),
        }
    };
    history.refusals.iter().enumerate().map(of).collect()
}
