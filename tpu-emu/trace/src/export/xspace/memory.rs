//! Changes in memory as the events that XProf's memory profile is made of.
use super::Profiled;
use super::messages::{Value, XEvent};
use super::plane::{EncodedEvents, Finished, Plane};
use crate::event::ChangeKind;
use crate::export::gaps::Gaps;
use crate::export::signed;
use crate::history::{History, NO_CHANGE};
use crate::holders::user_frame;
use crate::tables::Trace;
use std::ops::Range;

/// The plane of the host, with a line for each memory space that was used.
pub(super) fn memory(
    trace: &Trace,
    history: &History,
    spans: &[Range<usize>],
    profiled: &Profiled,
) -> Finished {
    let mut plane = Plane::new(profiled.host);
    let spaces = trace.spaces.iter().zip(&history.spaces).zip(spans);
    for ((space, changes), span) in spaces.filter(|(_, span)| !span.is_empty()) {
        let mut gaps = Gaps::new(space.capacity);
        let mut peak = 0;
        let mut events = EncodedEvents::default();
        for at in 0..span.end {
            let event = trace.events.at(changes.order[at]);
            gaps.change(&event);
            peak = peak.max(changes.in_use[at]);
            if !span.contains(&at) {
                continue;
            }
            // A free says what its block was taken for.
            let taken = match changes.partner[at] {
                NO_CHANGE => event,
                partner if event.kind == ChangeKind::Free => {
                    trace.events.at(changes.order[partner as usize])
                }
                _ => event,
            };
            let spec = &trace.specs[taken.spec as usize];
            let label = &*trace.labels[taken.label as usize];
            let region = match label.split_once(' ') {
                Some(("temporaries", _)) => "temp",
                Some(("result", _)) => "output",
                _ => "persist/dynamic",
            };
            let line = match user_frame(&trace.stacks, taken.stack) {
                _ if !label.is_empty() => label.to_owned(),
                Some(part) => format!("{}:{} {}", part.file, part.line, part.function),
                None => "no Python frame".to_owned(),
            };
            let shape: Vec<String> = spec.shape.iter().map(u64::to_string).collect();
            let free = space.capacity.saturating_sub(changes.in_use[at]);
            let number = |number| Value::Int(signed(number));
            let stats = vec![
                plane.shared("allocator_name", &space.name()),
                plane.stat("bytes_reserved", number(0)),
                plane.stat("bytes_allocated", number(changes.in_use[at])),
                plane.stat("bytes_available", number(free)),
                plane.stat("fragmentation", Value::Double(gaps.fragmentation())),
                plane.stat("peak_bytes_in_use", number(peak)),
                plane.stat("requested_bytes", number(spec.logical)),
                plane.stat("allocation_bytes", number(event.size)),
                plane.stat("addr", Value::Uint(event.address)),
                plane.shared("tf_op", &line),
                plane.shared("region_type", region),
                plane.shared("data_type", &spec.dtype),
                plane.shared("shape", &format!("[{}]", shape.join(","))),
            ];
            let kind = match event.kind {
                ChangeKind::Allocate => "MemoryAllocation",
                _ => "MemoryDeallocation",
            };
            let metadata_id = plane.event(kind, |_| (String::new(), Vec::new()));
            let offset_ps = profiled.offset(changes.times[at]);
            events.push(&XEvent { metadata_id, offset_ps, duration_ps: 0, stats });
        }
        plane.line(&format!("{} memory", space.name()), profiled.begins(trace), events);
    }
    plane.finish(1)
}
