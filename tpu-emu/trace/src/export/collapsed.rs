//! A line a stack, as flame graph programs read it.
use crate::face::{Face, calls};
use crate::tables::Trace;
use std::collections::BTreeMap;

/// Blocks as lines of calls, outermost first and with `;` between them, a space, and their bytes in
/// memory. Equal stacks share a line.
pub fn collapsed(trace: &Trace, blocks: &[u32], face: Face) -> String {
    let mut lines: BTreeMap<String, u64> = BTreeMap::new();
    for &place in blocks {
        let event = trace.events.at(place);
        let frames = calls(trace, &event, face);
        let names: Vec<String> = frames.iter().map(|call| plain(&call.text())).collect();
        *lines.entry(names.join(";")).or_default() += event.size;
    }
    lines.into_iter().map(|(stack, bytes)| format!("{stack} {bytes}\n")).collect()
}

/// A name without what ends a name or a line.
fn plain(name: &str) -> String {
    let plain = |char: char| match char {
        ';' => ':',
        char if char.is_control() => ' ',
        char => char,
    };
    name.chars().map(plain).collect()
}
