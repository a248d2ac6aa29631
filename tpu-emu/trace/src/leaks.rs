//! What was taken after a moment and still lives at a later one.
use crate::history::History;
use crate::holders::live;
use crate::moment::Moment;
use crate::tables::Trace;

/// Places of the allocations of all spaces that were made behind `from` and live at `to`, space by
/// space in the order of their addresses.
pub fn leaks(trace: &Trace, history: &History, from: Moment, to: Moment) -> Vec<u32> {
    let mut leaked = Vec::new();
    for space in &history.spaces {
        let since = from.changes(space);
        let Some(&first) = space.order.get(since) else { continue };
        let first = trace.events.sequence(first);
        let held = live(trace, space, to.changes(space));
        leaked.extend(held.into_iter().filter(|&place| trace.events.sequence(place) >= first));
    }
    leaked
}
