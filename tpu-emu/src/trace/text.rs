//! Changes as lines for people.
use super::{Change, Dispatched, Fault, Names, Note, Operand};
use crate::origin::{ChangeKind, FrameText, StackId};
use std::fmt::Write as _;
use tpu_base::tensor::Shape;
use tpu_ops::custom_call::Backend;

/// One change and its stack, innermost frame first.
///
/// `space` names the memory space, as `TPU_0 device`.
pub fn change_text(change: &Change<'_>, space: &str, names: &Names<'_>) -> String {
    let Change { past, spec, .. } = change;
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

/// One stage of a custom call and its stack, innermost frame first.
///
/// `device` names the device, as `TPU_0`.
pub fn dispatched_text(call: &Dispatched, device: &str, names: &Names<'_>) -> String {
    let (site, origin) = (&call.site, call.origin);
    let seconds = seconds(origin.time.0);
    let (stage, target) = (call.stage.name(), &site.target);
    // Writing to a String cannot fail.
    let mut text = format!("[{seconds:>12.6}] custom call {stage} {target} on {device}");
    if call.run > 0 {
        let _ = write!(text, ", run {}", call.run);
    }
    let micros = std::time::Duration::from_nanos(call.duration.0).as_secs_f64() * 1e6;
    let _ = writeln!(text, ", {micros:.3} µs, thread {}", origin.thread);
    let line = site.line.as_deref().unwrap_or("an unknown line");
    let _ = writeln!(text, "    {target} of {} at {line}", call.program);
    for (what, shapes, places) in
        [("operand", &site.operands, &call.operands), ("result", &site.results, &call.results)]
    {
        for (at, shape) in shapes.iter().enumerate() {
            let _ = writeln!(text, "    {what} {at}: {}", array_text(shape, places.get(at)));
        }
    }
    match &site.backend {
        Backend::Attributes(attributes) => {
            for (name, value) in &attributes.0 {
                let _ = writeln!(text, "    attribute {name} = {}", value.to_mlir());
            }
        }
        Backend::Opaque(opaque) => {
            let _ = writeln!(text, "    opaque \"{}\"", opaque.escape_ascii());
        }
    }
    for (address, size) in &call.scratch {
        let _ = writeln!(text, "    scratch {size} at {address}");
    }
    if let Some(error) = &call.error {
        let _ = writeln!(text, "    failed: {error}");
    }
    text.push_str(&stack_text(origin.stack, names));
    text
}

/// One call that was refused and its stack, innermost frame first.
pub fn fault_text(fault: &Fault<'_>, names: &Names<'_>) -> String {
    let Fault { message, origin } = fault;
    let entry = if origin.entry.is_empty() { "-" } else { origin.entry };
    let mut text =
        format!("[{:>12.6}] refused {entry} thread {}\n", seconds(origin.time.0), origin.thread);
    for line in message.lines() {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "    {line}");
    }
    text.push_str(&stack_text(origin.stack, names));
    text
}

/// What is told besides changes, custom calls and faults, where that is a moment: a mark or the
/// end of a client, or a program that was refused. Programs, launches and
/// memories of cores have no text.
pub fn note_text(note: &Note<'_>, names: &Names<'_>) -> Option<String> {
    let (what, origin) = match note {
        Note::Mark(mark) => (format!("mark {}", mark.name), mark.origin),
        Note::ClientEnd(end) => (format!("end of client: {}", end.why), end.origin),
        Note::RefusedProgram(of) => {
            let available = of.available;
            (format!("program refused: it needs more than {available} of HBM"), of.origin)
        }
        Note::Program(_) | Note::Launch(_) | Note::Space(_) => return None,
    };
    let time = seconds(origin.time.0);
    let stack = stack_text(origin.stack, names);
    Some(format!("[{time:>12.6}] {what} thread {}\n{stack}", origin.thread))
}

fn array_text(shape: &Shape, place: Option<&Operand>) -> String {
    match place.and_then(|place| place.address.map(|address| (address, place.bytes))) {
        Some((address, bytes)) => format!("{shape}, {bytes} at {address}"),
        None => shape.to_string(),
    }
}

/// The frames of a stack, a numbered line each, innermost first.
fn stack_text(stack: StackId, names: &Names<'_>) -> String {
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
