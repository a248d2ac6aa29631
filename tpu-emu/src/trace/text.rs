//! Changes as lines for people.
use super::{Change, ChangeKind, Names};
use crate::origin::{FrameText, StackId};
use std::fmt::Write as _;

/// One change and its stack, innermost frame first.
///
/// `space` names the memory space, as `TPU_0 device`.
pub fn change_text(change: &Change<'_>, space: &str, names: &Names<'_>) -> String {
    let Change { past, spec } = change;
    let verb = match past.kind {
        ChangeKind::Allocate => "allocate",
        ChangeKind::Free => "free",
        ChangeKind::Refused => "out of memory",
    };
    let origin = past.record.origin;
    let mut text = format!(
        "[{:>12.6}] {verb} {space} {} {} ({} logical, {} in memory) {} thread {}\n",
        seconds(origin.time.0),
        past.address,
        spec.text(),
        spec.logical,
        past.size,
        if origin.entry.is_empty() { "-" } else { origin.entry },
        origin.thread,
    );
    if let Some(label) = names.labels.text(past.record.label) {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "    {label}");
    }
    text.push_str(&stack_text(origin.stack, names));
    text
}

/// The frames of a stack, a numbered line each, innermost first.
pub fn stack_text(stack: StackId, names: &Names<'_>) -> String {
    let mut text = String::new();
    for (number, frame) in names.stack(stack).iter().enumerate() {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "    #{number:<3} {}", frame_text(frame));
    }
    text
}

fn frame_text(frame: &FrameText) -> String {
    let kind = if frame.python { "py " } else { "c  " };
    let place = match (frame.file.is_empty(), frame.line) {
        (true, _) => format!(" [{}]", frame.module.rsplit('/').next().unwrap_or_default()),
        (false, 0) => format!(" at {}", frame.file),
        (false, line) => format!(" at {}:{line}", frame.file),
    };
    format!("{kind}{}{place}", frame.function)
}

fn seconds(nanos: u64) -> f64 {
    std::time::Duration::from_nanos(nanos).as_secs_f64()
}
